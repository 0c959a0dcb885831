import assert from "node:assert/strict";
import { test } from "node:test";
import type { Hunk } from "@snapd/client";
import { changedLines, hunksAt, isShownBy, linesSelected, firstChangedLine, pendingPart } from "../../src/model/hunks";

function hunk(index: number, header: string, lines: readonly string[] = []): Hunk {
  return { index, header, lines: [...lines] };
}

const HUNKS = [
  hunk(0, "@@ -1,4 +1,5 @@"),
  hunk(1, "@@ -5,7 +6,6 @@ def f():"),
  hunk(2, "@@ -40 +39,0 @@"),
  hunk(3, "@@ -60,0 +59,2 @@"),
];

function at(side: "before" | "after", ...ranges: (readonly [number, number])[]): number[] {
  return hunksAt(
    HUNKS,
    side,
    ranges.map(([first, last]) => ({ first, last })),
  ).map(({ index }) => index);
}

test("a line belongs to the hunk whose range has it, on either side", () => {
  assert.deepEqual(at("before", [4, 4]), [0]);
  assert.deepEqual(at("after", [5, 5]), [0]);
  assert.deepEqual(at("before", [5, 5]), [1]);
  assert.deepEqual(at("after", [6, 6]), [1]);
  assert.deepEqual(at("before", [11, 11]), [1]);
  assert.deepEqual(at("before", [12, 12]), []);
  assert.deepEqual(at("after", [11, 11]), [1]);
  assert.deepEqual(at("after", [12, 12]), []);
});

test("a header without a count has one line", () => {
  assert.deepEqual(at("before", [39, 39]), []);
  assert.deepEqual(at("before", [40, 40]), [2]);
  assert.deepEqual(at("before", [41, 41]), []);
});

test("a range without lines lies between two", () => {
  for (const line of [39, 40]) assert.deepEqual(at("after", [line, line]), [2]);
  for (const line of [38, 41]) assert.deepEqual(at("after", [line, line]), []);
  for (const line of [60, 61]) assert.deepEqual(at("before", [line, line]), [3]);
  assert.deepEqual(at("before", [62, 62]), []);
});

test("an empty side has its only line", () => {
  const added = [hunk(0, "@@ -0,0 +1,9 @@")];
  assert.deepEqual(hunksAt(added, "before", [{ first: 1, last: 1 }]), added);
  assert.deepEqual(hunksAt([hunk(0, "@@ -1,9 +0,0 @@")], "after", [{ first: 1, last: 1 }]).length, 1);
});

test("several selections choose each hunk once, in order", () => {
  assert.deepEqual(at("before", [40, 40], [2, 6], [3, 3]), [0, 1, 2]);
  assert.deepEqual(at("before", [1, 100]), [0, 1, 2, 3]);
  assert.deepEqual(at("before", [20, 30]), []);
  assert.deepEqual(at("before"), []);
});

test("a selection that ends before the first character of a line does not take that line", () => {
  const lines = (start: number, end: number, character: number) =>
    linesSelected({ start: { line: start }, end: { line: end, character } });
  assert.deepEqual(lines(3, 5, 0), { first: 4, last: 5 });
  assert.deepEqual(lines(3, 5, 1), { first: 4, last: 6 });
  assert.deepEqual(lines(3, 3, 0), { first: 4, last: 4 });
});

test("what is no header is refused", () => {
  assert.throws(() => hunksAt([hunk(0, "@@ nonsense @@")], "after", [{ first: 1, last: 1 }]), /no header/);
});

const SHOWN = [hunk(0, "@@ -1,3 +1,3 @@", [" one", "-two", "+zwei", " three"])];

test("a document shows the hunks where its lines are those that they tell of", () => {
  assert.ok(isShownBy(["one", "two", "three"], SHOWN, "before"));
  assert.ok(isShownBy(["one", "zwei", "three", "four"], SHOWN, "after"));
  assert.ok(!isShownBy(["one", "zwei", "three"], SHOWN, "before"));
  assert.ok(!isShownBy(["zero", "one", "two", "three"], SHOWN, "before"));
  assert.ok(!isShownBy(["one", "two"], SHOWN, "before"));
});

test("line ends, the byte order mark and a missing newline at the end make no difference", () => {
  const hunks = [hunk(0, "@@ -1,2 +1 @@", ["-\uFEFFone\r", "-two\r", "+one", "\\ No newline at end of file"])];
  assert.ok(isShownBy(["one", "two"], hunks, "before"));
  assert.ok(isShownBy(["one"], hunks, "after"));
});

test("a lone carriage return, which ends a line in editors alone, is noticed", () => {
  const hunks = [hunk(0, "@@ -1,2 +1,2 @@", [" a\rb", "-c", "+d"])];
  assert.ok(!isShownBy(["a", "b", "d"], hunks, "after"));
});

test("a side without lines is shown by any document", () => {
  const added = [hunk(0, "@@ -0,0 +1 @@", ["+one"])];
  assert.ok(isShownBy([""], added, "before"));
});

test("the first changed lines of a hunk", () => {
  assert.deepEqual(changedLines(hunk(0, "", [" a", "-b", "+c", " d", "+e"]), 2), ["-b", "+c"]);
});

const OWNED = { oldStart: 1, oldLines: 1, newStart: 1, newLines: 1, owners: [{ sessionId: "one", stepId: "s1" }] };

test("a hunk of a step is found among what is pending, by its lines and its step", () => {
  const hunk = { index: 0, header: "@@ -1,3 +1,3 @@", lines: [" a", "-b", "+B", " c"] };
  const alone = { ...OWNED, index: 4, header: "", lines: [" a", "-b", "+B", " c"] };
  assert.deepEqual(pendingPart(hunk, [alone], "s1"), { index: 4, isAlone: true });
  assert.equal(pendingPart(hunk, [alone], "s2"), undefined);
  const more = { ...alone, index: 5, lines: [" a", "-b", "+B", " c", "+d"] };
  assert.deepEqual(pendingPart(hunk, [more], "s1"), { index: 5, isAlone: false });
  const other = { ...alone, lines: [" a", "-b", "+changed since", " c"] };
  assert.equal(pendingPart(hunk, [other], "s1"), undefined);
});

test("a hunk begins at its first changed line, on either side and within the document", () => {
  const changed = { index: 0, header: "@@ -4,5 +6,5 @@", lines: [" a", " b", "-c", "+C", " d", " e"] };
  assert.deepEqual(
    (["before", "after"] as const).map((side) => firstChangedLine(changed, side, 100)),
    [5, 7],
  );
  const removed = { index: 0, header: "@@ -3 +2,0 @@", lines: ["-c"] };
  assert.deepEqual(
    (["before", "after"] as const).map((side) => firstChangedLine(removed, side, 2)),
    [1, 1],
  );
});
