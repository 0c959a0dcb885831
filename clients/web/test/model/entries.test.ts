import assert from "node:assert/strict";
import { test } from "node:test";
import type { Entry, Step } from "@snapd/client";
import { keyOf, withLatest, withOlder, withStep } from "../../src/model/entries";

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();

function step(name: string, second: number, rest: Partial<Step> = {}): Step {
  const ids = { stepId: name, sessionId: "s", index: second };
  return {
    ...ids,
    startedAt: at(second),
    from: "a",
    state: "applied",
    to: "b",
    endedAt: at(second),
    files: [],
    ...rest,
  };
}

function entry(name: string, second: number, rest: Partial<Step> = {}): Entry {
  return { kind: "step", at: at(second), before: "a", after: "b", files: [], step: step(name, second, rest) };
}

function user(second: number): Entry {
  return { kind: "user", at: at(second), before: "a", after: "b", files: [] };
}

const names = (entries: readonly Entry[] | undefined) => entries?.map((one) => one.step?.stepId ?? one.kind);

test("entries have names of their own", () => {
  const message: Entry = { kind: "message", at: at(1), sessionId: "s", messageId: "m", before: "a", files: [] };
  const keys = [entry("1", 1), entry("2", 1), user(1), user(2), { ...user(1), kind: "undo" as const }, message].map(
    keyOf,
  );
  assert.equal(new Set(keys).size, keys.length);
});

test("what is new stands in front of what is known", () => {
  const known = [entry("3", 3), entry("2", 2), entry("1", 1)];
  assert.deepEqual(names(withLatest(known, [entry("5", 5), entry("4", 4), entry("3", 3)], false)), [
    "5",
    "4",
    "3",
    "2",
    "1",
  ]);
});

test("what is known is as the latest page says", () => {
  const known = [entry("2", 2), user(1), entry("0", 0)];
  const undone = entry("2", 2, { state: "undone" });
  const met = withLatest(known, [{ ...user(3), kind: "undo" }, undone, user(1)], false);
  assert.deepEqual(names(met), ["undo", "2", "user", "0"]);
  assert.equal(met?.[1]?.step?.state, "undone");
});

test("an entry that is gone from the top is gone", () => {
  assert.deepEqual(names(withLatest([user(3), entry("2", 2), entry("1", 1)], [entry("2", 2)], false)), ["2", "1"]);
});

test("pages that do not meet are not put together", () => {
  assert.equal(withLatest([entry("1", 1)], [entry("5", 5), entry("4", 4)], false), undefined);
});

test("a page that is all there is replaces what was known", () => {
  assert.deepEqual(names(withLatest([entry("1", 1)], [], true)), []);
});

test("an older page that overlaps is added once", () => {
  const known = [entry("4", 4), entry("3", 3), entry("2", 2)];
  assert.deepEqual(names(withOlder(known, [entry("3", 3), entry("2", 2), entry("1", 1)])), ["4", "3", "2", "1"]);
});

test("a step that is known takes its new state in its place", () => {
  const next = withStep([entry("3", 3), entry("2", 2), user(1)], step("2", 2, { state: "undone" }));
  assert.deepEqual(names(next), ["3", "2", "user"]);
  assert.equal(next[1]?.step?.state, "undone");
});

test("a step that is new stands where its time puts it", () => {
  const known = [entry("5", 5), user(3), entry("1", 1)];
  assert.deepEqual(names(withStep(known, step("4", 4))), ["5", "4", "user", "1"]);
  assert.deepEqual(names(withStep(known, step("6", 6))), ["6", "5", "user", "1"]);
  assert.deepEqual(names(withStep(known, step("0", 0))), ["5", "user", "1", "0"]);
  assert.deepEqual(names(withStep([], step("0", 0))), ["0"]);
});

test("a step that ends shows its files", () => {
  const begin: Step = { stepId: "1", sessionId: "s", index: 1, startedAt: at(1), from: "a", state: "open" };
  const [begun] = withStep([], begin);
  assert.deepEqual([begun?.after, begun?.files], [undefined, []]);
  const file = { file: "a", status: "added", additions: 1, deletions: 0, binary: false } as const;
  const [ended] = withStep(begun === undefined ? [] : [begun], step("1", 1, { files: [file] }));
  assert.deepEqual([ended?.after, ended?.files, ended?.step?.files], ["b", [file], [file]]);
});

test("a moved file stays one when news of its step name both ends", () => {
  const moved = { file: "b", renamedFrom: "a", status: "modified", additions: 0, deletions: 0, binary: false } as const;
  const known: Entry = { ...entry("1", 1, { files: [moved] }), files: [moved] };
  const ends = ["a", "b"].map((file) => ({
    file,
    status: "added" as const,
    additions: 0,
    deletions: 0,
    binary: false,
  }));
  const [next] = withStep([known], step("1", 1, { state: "undone", files: ends }));
  assert.deepEqual([next?.files, next?.step?.files, next?.step?.state], [[moved], [moved], "undone"]);
});
