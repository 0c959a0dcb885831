import assert from "node:assert/strict";
import { test } from "node:test";
import type { Entry, Message, Step } from "@snapd/client";
import { type Row, rowsOfAll, rowsOfSession } from "../../src/model/outline";

const at = "2026-01-01T00:00:00.000Z";

function step(stepId: string, rest: Partial<Step> = {}): Entry {
  const whole: Step = { stepId, sessionId: "s", index: 0, startedAt: at, from: "a", state: "applied", ...rest };
  return { kind: "step", at, before: "a", files: [], step: whole };
}

function message(messageId: string, text?: string): Entry {
  return {
    kind: "message",
    at,
    before: "a",
    files: [],
    sessionId: "s",
    messageId,
    ...(text === undefined ? {} : { text }),
  };
}

const user: Entry = { kind: "user", at, before: "a", after: "b", files: [] };
const known = (...ids: string[]): Map<string, Message> =>
  new Map(
    ids.map((messageId) => [
      messageId,
      {
        sessionId: "s",
        messageId,
        at,
        steps: 1,
        files: 0,
        additions: 0,
        deletions: 0,
        state: "applied",
        text: `known ${messageId}`,
      },
    ]),
  );

const drawn = (rows: readonly Row[]) =>
  rows.map((row) =>
    row.kind === "turn"
      ? `> ${row.text ?? "?"}`
      : `${"  ".repeat(row.depth)}${row.entry.step?.stepId ?? row.entry.kind}`,
  );

test("in a session, a prompt stands above what came of it", () => {
  const entries = [
    step("3", { messageId: "n" }),
    message("n", "second"),
    step("2", { messageId: "m" }),
    step("1", { messageId: "m" }),
    message("m", "first"),
  ];
  assert.deepEqual(drawn(rowsOfSession("s", entries, new Map())), ["> second", "3", "> first", "2", "1"]);
});

test("what the user does within a turn stays in its place", () => {
  const entries = [
    step("2", { messageId: "m" }),
    user,
    step("1", { messageId: "m" }),
    message("m", "first"),
    user,
    step("0"),
  ];
  assert.deepEqual(drawn(rowsOfSession("s", entries, new Map())), ["> first", "2", "user", "1", "user", "0"]);
});

test("a prompt without steps has a row, and one that is not loaded yet is named by what is known", () => {
  assert.deepEqual(drawn(rowsOfSession("s", [message("m", "no steps")], new Map())), ["> no steps"]);
  assert.deepEqual(drawn(rowsOfSession("s", [step("1", { messageId: "m" })], known("m"))), ["> known m", "1"]);
  assert.deepEqual(drawn(rowsOfSession("s", [step("1", { messageId: "m" })], new Map())), ["> ?", "1"]);
});

test("turns that take turns have rows with names of their own", () => {
  const entries = [step("3", { messageId: "m" }), step("2", { messageId: "n" }), step("1", { messageId: "m" })];
  const rows = rowsOfSession("s", entries, new Map());
  assert.equal(new Set(rows.map(({ key }) => key)).size, rows.length);
});

test("parts stand below their steps, and not endlessly deep", () => {
  const entries = [
    step("5", { parentStepId: "4" }),
    step("4", { parentStepId: "3" }),
    step("3", { parentStepId: "2" }),
    step("2", { parentStepId: "1" }),
    step("1"),
    step("loop", { parentStepId: "loop" }),
  ];
  assert.deepEqual(
    rowsOfAll(entries).map((row) => row.kind === "entry" && row.depth),
    [3, 3, 2, 1, 0, 3],
  );
});

test("among all sessions, prompts stand where they were sent", () => {
  assert.deepEqual(drawn(rowsOfAll([step("2", { messageId: "m" }), user, message("m", "first")])), [
    "2",
    "user",
    "> first",
  ]);
});
