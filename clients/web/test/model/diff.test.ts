import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { countLines, type DiffHunk, linesOf, readHunk, textsFrom } from "../../src/model/diff";
import { hunksBetween, hunksOfPatch, patchLines } from "../../src/model/patch";
import { type DiffRow, rowsOf, type GapLines } from "../../src/model/rows";

const folder = mkdtempSync(path.join(tmpdir(), "snapd-page-"));
after(() => rmSync(folder, { recursive: true }));

/** What git itself says of two texts. */
function git(before: string, now: string): string {
  const [one, other] = [path.join(folder, "before"), path.join(folder, "after")];
  writeFileSync(one, before);
  writeFileSync(other, now);
  try {
    return execFileSync("git", ["diff", "--no-index", "--no-color", one, other], { encoding: "utf8" });
  } catch (error) {
    // git ends with 1 where there is a difference
    return (error as { stdout: string }).stdout;
  }
}

/** Numbers that look random and are the same in each run. */
function* numbers(): Generator<number, never> {
  for (let state = 4711; ;) {
    state = (state * 1103515245 + 12345) % 2 ** 31;
    yield state >> 8;
  }
}

function* pairs(): Generator<readonly [string, string]> {
  const random = numbers();
  const next = (below: number) => random.next().value % below;
  for (let round = 0; round < 60; round += 1) {
    const lines = Array.from({ length: next(40) }, () => `line ${next(6)}`);
    const changed = [...lines];
    for (let change = 0; change < 1 + next(5); change += 1) {
      const place = next(changed.length + 1);
      if (next(2) === 0) changed.splice(place, next(3));
      else changed.splice(place, 0, `new ${next(9)}`, "--- a/looks like a head", "@@ -1 +1 @@");
    }
    const end = () => (next(3) === 0 ? "" : "\n");
    yield [lines.join("\n") + end(), changed.join("\n") + end()];
  }
}

const NOTHING = new Map<number, GapLines>();

function shownLines(rows: readonly DiffRow[]): string[] {
  return rows.flatMap((row) => {
    if (row.kind === "gap" || row.kind === "threads") return [];
    if (row.kind === "line") return [row.line.text];
    return [`${row.left?.text ?? ""}|${row.right?.text ?? ""}`];
  });
}

test("hunks of git's patches give both texts back", () => {
  for (const [before, now] of pairs()) {
    const hunks = hunksOfPatch(git(before, now));
    const texts = textsFrom(linesOf(now), hunks);
    assert.deepEqual(texts, { before: linesOf(before), after: linesOf(now) });
  }
});

test("hunks that are worked out here count as many lines as git's, and give both texts back", () => {
  for (const [before, now] of pairs()) {
    const hunks = hunksBetween(before, now);
    assert.deepEqual(textsFrom(linesOf(now), hunks)?.before, linesOf(before));
    const { additions, deletions } = countLines(hunks);
    assert.equal(
      additions - deletions,
      countLines(hunksOfPatch(git(before, now))).additions - countLines(hunksOfPatch(git(before, now))).deletions,
    );
  }
});

test("a text that others changed as well does not fit the hunks", () => {
  const [before, now] = ["a\nb\nc\nd\ne\n", "a\nb\nX\nd\ne\n"];
  const hunks = hunksOfPatch(git(before, now));
  assert.equal(textsFrom(linesOf("a\nb\nY\nd\ne\n"), hunks), undefined);
  assert.equal(textsFrom(linesOf("0\na\nb\nX\nd\ne\n"), hunks), undefined);
  assert.equal(textsFrom([], hunks), undefined);
});

test("every line of both texts is in the rows once all gaps are unfolded, in both layouts", () => {
  for (const [before, now] of pairs()) {
    const hunks = hunksOfPatch(git(before, now));
    const texts = textsFrom(linesOf(now), hunks);
    const all = new Map(Array.from({ length: hunks.length + 1 }, (_, gap) => [gap, { top: 1000, bottom: 0 }]));
    if (hunks.length === 0) continue;
    const unified = rowsOf(hunks, "unified", texts, all).flatMap((row) => (row.kind === "line" ? [row.line] : []));
    assert.deepEqual(
      unified.filter((line) => line.kind !== "removed").map(({ text }) => text),
      linesOf(now),
    );
    assert.deepEqual(
      unified.filter((line) => line.kind !== "added").map(({ text }) => text),
      linesOf(before),
    );
    assert.deepEqual(
      unified.flatMap((line) => line.new ?? []),
      linesOf(now).map((_, at) => at + 1),
    );
    assert.deepEqual(
      unified.flatMap((line) => line.old ?? []),
      linesOf(before).map((_, at) => at + 1),
    );
    const split = rowsOf(hunks, "split", texts, all).flatMap((row) => (row.kind === "pair" ? [row] : []));
    assert.deepEqual(
      split.flatMap(({ left }) => left?.text ?? []),
      linesOf(before),
    );
    assert.deepEqual(
      split.flatMap(({ right }) => right?.text ?? []),
      linesOf(now),
    );
  }
});

test("gaps say how many lines they hide, and show those that are asked for", () => {
  const before = Array.from({ length: 60 }, (_, at) => `${at + 1}`);
  const hunks = hunksBetween(before.join("\n") + "\n", before.with(29, "X").join("\n") + "\n");
  const texts = textsFrom(before.with(29, "X"), hunks);
  const hidden = (unfolded: ReadonlyMap<number, GapLines>) =>
    rowsOf(hunks, "unified", texts, unfolded).flatMap((row) => (row.kind === "gap" ? [row.hidden] : []));
  assert.deepEqual(hidden(NOTHING), [26, 27]);
  assert.deepEqual(
    hidden(
      new Map([
        [0, { top: 0, bottom: 20 }],
        [1, { top: 20, bottom: 0 }],
      ]),
    ),
    [6, 7],
  );
  const rows = rowsOf(hunks, "unified", texts, new Map([[0, { top: 0, bottom: 2 }]]));
  assert.deepEqual(shownLines(rows).slice(0, 3), ["25", "26", "27"]);
  // without the texts, nobody knows how many follow
  const without = rowsOf(hunks, "unified", undefined, new Map([[0, { top: 5, bottom: 5 }]]));
  assert.deepEqual(
    without.flatMap((row) => (row.kind === "gap" ? [row.hidden] : [])),
    [26, undefined],
  );
});

test("a hunk with which something can be done has a row for that, even at the top", () => {
  const hunks = hunksBetween("a\n", "b\n");
  const gaps = (isActing: boolean) =>
    rowsOf(hunks, "unified", { before: ["a"], after: ["b"] }, NOTHING, isActing).filter(({ kind }) => kind === "gap")
      .length;
  assert.deepEqual([gaps(false), gaps(true)], [0, 1]);
});

test("the lines of a patch are told apart by the counts of its hunks alone", () => {
  const kinds = [...patchLines(git("-- a\n@@ -1 +1 @@\nx\n", "-- a\n++ b\nx\n"))].map(
    ({ kind, text }) => `${kind} ${text}`,
  );
  assert.deepEqual(kinds.slice(-4), ["same  -- a", "removed -@@ -1 +1 @@", "added +++ b", "same  x"]);
});

test("a header that is none is refused", () => {
  assert.throws(() => readHunk({ index: 0, header: "@@ what @@", lines: [] }), /hunk with the header/);
});

test("texts without anything in common are one hunk, and soon", () => {
  const text = (word: string) => Array.from({ length: 30_000 }, (_, at) => `${word} ${at * 7919}`).join("\n") + "\n";
  const [before, now] = [text("old"), text("new")];
  const start = performance.now();
  const hunks: readonly DiffHunk[] = hunksBetween(before, now);
  assert.ok(performance.now() - start < 20_000);
  assert.deepEqual(countLines(hunks), { additions: 30_000, deletions: 30_000 });
  assert.deepEqual(textsFrom(linesOf(now), hunks)?.before, linesOf(before));
});
