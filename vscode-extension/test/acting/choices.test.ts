import assert from "node:assert/strict";
import { test } from "node:test";
import type { Entry, Session } from "@snapd/client";
import { listed } from "../../src/acting/names";
import { redoable } from "../../src/acting/redoable";
import { documentsAtRisk } from "../../src/acting/unsaved";
import { FOLDER, outcome, unsavedDocument } from "./fakes";

test("a document is at risk where its file would be written, or only its text keeps it from that", () => {
  const names = ["restored", "merged", "deleted", "unchanged", "conflict", "kept", "failed", "skipped"] as const;
  const files = names.map((name) => outcome(name, name, "changedSince"));
  const documents = [...names, "held", "elsewhere"].map(unsavedDocument);
  const found = documentsAtRisk(FOLDER, [...files, outcome("held", "conflict", "unsavedInEditor")], documents);
  assert.deepEqual(
    found.map(({ name }) => name),
    ["restored", "merged", "deleted", "held"],
  );
});

test("a document is known by any of its paths, and by odd names", () => {
  const linked = { ...unsavedDocument("link"), paths: ["/other/link", "/work/web/src/ä b%20.py"] };
  assert.deepEqual(documentsAtRisk(FOLDER, [outcome("src/ä b%20.py", "merged")], [linked]), [linked]);
  assert.deepEqual(documentsAtRisk(FOLDER, [outcome("b%20.py", "merged")], [linked]), []);
  const spaced = { ...unsavedDocument("x"), paths: ["/a b/x"] };
  assert.deepEqual(documentsAtRisk("file:///a%20b", [outcome("x", "deleted")], [spaced]), [spaced]);
});

function session(sessionId: string, count: number): Session {
  const startedAt = "2026-11-21T09:00:00.000Z";
  return { sessionId, name: sessionId, startedAt, stepCount: 3, undoable: 1, redoable: count };
}

function undo(sessionId: string, at: string, kind: Entry["kind"] = "undo"): Entry {
  return { kind, at, sessionId, steps: ["x"], before: "", files: [] };
}

test("the session with the newest undo is redone first; those with nothing to redo are none", () => {
  const history = [
    undo("nothing", "2026-11-21T10:09:00.000Z"),
    undo("late", "2026-11-21T10:08:00.000Z", "redo"),
    undo("early", "2026-11-21T10:05:00.000Z"),
    undo("late", "2026-11-21T10:06:00.000Z", "revert"),
    undo("late", "2026-11-21T10:01:00.000Z"),
  ];
  const found = redoable([session("early", 1), session("late", 2), session("nothing", 0), session("old", 1)], history);
  assert.deepEqual(
    found.map((each) => [each.session.sessionId, each.undone?.at.slice(14, 16)]),
    [
      ["late", "06"],
      ["early", "05"],
      ["old", undefined],
    ],
  );
});

test("names in sentences", () => {
  assert.equal(listed([]), "");
  assert.equal(listed(["a"]), "a");
  assert.equal(listed(["a", "b"]), "a and b");
  assert.equal(listed(["a", "b", "c", "d"]), "a, b, c and d");
  assert.equal(listed(["a", "b", "c", "d", "e"]), "a, b, c and 2 more");
});
