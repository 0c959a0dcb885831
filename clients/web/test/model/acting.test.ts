import assert from "node:assert/strict";
import { test } from "node:test";
import type { FileOutcome, OutcomeKind } from "@snapd/client";
import { BINDINGS, Keys } from "../../src/model/keys";
import { contestedIn, isSettled, plannedSummary, reasonText, summary, whoChanged } from "../../src/model/outcome";

const files = (...kinds: OutcomeKind[]): FileOutcome[] => kinds.map((outcome, at) => ({ file: `${at}`, outcome }));

test("what was done and what is going to be done is summed up", () => {
  assert.equal(
    summary(files("restored", "restored", "merged", "conflict")),
    "2 files restored, 1 merged, 1 in conflict",
  );
  assert.equal(plannedSummary(files("deleted", "failed")), "1 file will be deleted, 1 failed");
  assert.equal(summary(files("unchanged", "unchanged")), "no file changes");
  assert.equal(plannedSummary([]), "no file changes");
});

test("a reason that is not known is told as it is, and does no harm", () => {
  assert.equal(reasonText("deletedSince"), "Deleted since.");
  assert.equal(reasonText("new\u202e"), "new⟨U+202E⟩");
});

test("who changed a file has a name", () => {
  assert.equal(whoChanged({ author: "user" }), "you");
  assert.equal(whoChanged({ author: "unknown" }), "someone");
  assert.equal(whoChanged({ author: "step", agent: "claude" }), "a step of Claude Code");
  assert.equal(whoChanged({ author: "operation", kind: "undo" }), "an undo");
});

test("a plan that changes nothing and leaves nothing to decide asks nothing", () => {
  assert.equal(isSettled([]), true);
  assert.equal(isSettled(files("unchanged", "unchanged")), true);
  assert.equal(isSettled(files("unchanged", "conflict")), false);
  assert.equal(isSettled(files("restored")), false);
  assert.equal(isSettled([{ file: "a", outcome: "unchanged", reason: "already" }]), false);
});

test("a file that a person decided about stays to be decided about", () => {
  const by = [{ author: "user" as const }];
  const before = { files: files("conflict", "conflict"), details: { contested: [{ file: "0", name: "s", by }] } };
  const first = contestedIn(before, [], {});
  assert.deepEqual(
    first.map(({ file, by }) => [file, by.length]),
    [
      ["0", 1],
      ["1", 0],
    ],
  );
  const after = { files: files("restored", "conflict"), details: { contested: [] } };
  const names = (decisions: object) => contestedIn(after, first, { ...decisions }).map(({ file }) => file);
  assert.deepEqual(names({ "0": "overwrite" }), ["0", "1"]);
  assert.deepEqual(names({}), ["1"]);
});

test("one key, or two after each other in time", () => {
  const keys = new Keys();
  assert.equal(keys.press("j", 0), "next");
  assert.equal(keys.press("]", 0), "more");
  assert.equal(keys.press("c", 100), "nextHunk");
  assert.equal(keys.press("c", 200), "comment");
  assert.equal(keys.press("[", 300), "more");
  assert.equal(keys.press("c", 9000), "comment");
  assert.equal(keys.press("]", 9000), "more");
  assert.equal(keys.press("j", 9001), "next");
  assert.equal(keys.press("Escape", 9002), "leave");
});

test("no binding hides another one", () => {
  const names = BINDINGS.map(({ keys }) => keys.join(" "));
  assert.equal(new Set(names).size, names.length);
  const firsts = new Set(BINDINGS.filter(({ keys }) => keys.length === 2).map(({ keys }) => keys[0]));
  assert.deepEqual(
    BINDINGS.filter(({ keys }) => keys.length === 1 && firsts.has(keys[0])),
    [],
  );
});
