import assert from "node:assert/strict";
import { test } from "node:test";
import type { OutcomeKind } from "@snapd/client";
import { outcomeText, report, severity, written, plannedChangesText, plannedText } from "../../src/acting/outcomes";
import { outcome } from "./fakes";

const done = "Undid step 3 “Edit app.py”";

const SENTENCES: readonly (readonly [string, readonly ReturnType<typeof outcome>[]])[] = [
  ["no file had to be changed.", []],
  ["no file had to be changed.", [outcome("a", "unchanged")]],
  ["1 file restored.", [outcome("a", "restored")]],
  ["1 file merged.", [outcome("a", "merged")]],
  ["1 file deleted.", [outcome("a", "deleted")]],
  ["2 files restored, 1 merged.", [outcome("a", "restored"), outcome("b", "merged"), outcome("c", "restored")]],
  [
    "2 files merged, 3 deleted.",
    ["merged", "merged", "deleted", "deleted", "deleted"].map((kind) => outcome("a", kind as OutcomeKind)),
  ],
  [
    "no file was changed. 1 file is in conflict and was left alone (a: changed since).",
    [outcome("a", "conflict", "changedSince")],
  ],
  [
    "1 file restored. 2 files are in conflict and were left alone.",
    [outcome("a", "conflict", "changedSince"), outcome("b", "restored"), outcome("c", "conflict", "shared")],
  ],
  ["no file had to be changed. 1 file was kept (a: ignored).", [outcome("a", "kept", "ignored")]],
  ["no file had to be changed. 2 files were kept.", [outcome("a", "kept", "ignored"), outcome("b", "kept", "ignored")]],
  [
    "1 file deleted. 1 file was skipped (a: the folder has other files).",
    [outcome("a", "skipped", "directoryNotEmpty"), outcome("b", "deleted")],
  ],
  [
    "1 file merged. 1 file could not be written (a: permission denied). 2 files were skipped.",
    [
      outcome("a", "failed", "EACCES"),
      outcome("b", "skipped", "inTheWay"),
      outcome("c", "skipped", "inTheWay"),
      outcome("d", "merged"),
    ],
  ],
  ["no file had to be changed. 1 file could not be written (a).", [outcome("a", "failed")]],
];

for (const [sentence, files] of SENTENCES) {
  test(`a report of ${files.map((file) => file.outcome).join(", ") || "no file"}`, () => {
    assert.equal(report(done, files), `${done}: ${sentence}`);
  });
}

test("what failed or was skipped is an error, a conflict needs a look, all else is as asked", () => {
  const fine = [outcome("a", "restored"), outcome("b", "kept", "ignored"), outcome("c", "unchanged")];
  assert.equal(severity(fine), "info");
  assert.equal(severity([...fine, outcome("d", "conflict")]), "warning");
  assert.equal(severity([...fine, outcome("d", "conflict"), outcome("e", "skipped")]), "error");
  assert.equal(severity([outcome("e", "failed"), ...fine]), "error");
});

test("only restored, merged and deleted files were written", () => {
  const kinds: OutcomeKind[] = ["restored", "deleted", "merged", "unchanged", "conflict", "kept", "skipped", "failed"];
  const files = kinds.map((kind) => outcome(kind, kind));
  assert.deepEqual(
    written(files).map(({ file }) => file),
    ["restored", "deleted", "merged"],
  );
});

test("a reason that this version does not know is told as it is", () => {
  assert.equal(outcomeText(outcome("a", "kept", "fullMoon")), "kept: fullMoon");
});

test("what is only planned is told as such", () => {
  const files = [outcome("a", "restored"), outcome("b", "deleted"), outcome("c", "deleted"), outcome("d", "kept")];
  assert.equal(plannedChangesText(files), "1 file to restore, 2 to delete");
  assert.equal(plannedChangesText([outcome("a", "conflict", "changedSince")]), "no file to change");
  assert.equal(plannedText(outcome("a", "merged")), "merge");
  assert.equal(plannedText(outcome("a", "skipped", "tooLarge")), "skip: too large");
  assert.equal(plannedText(outcome("a", "conflict", "changedSince")), "conflict: changed since");
});
