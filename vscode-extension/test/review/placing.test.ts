import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { PendingHunk, ReviewFileResult } from "@snapd/client";
import { type PlacedHunk, hunkAt, hunkBeside, placeHunks } from "../../src/review/placing";
import { below, change, randomness } from "../model/making";

/** Hunks as `git diff -U1` has them, from what each line is: kept " ", came "+", went "-". */
function reviewOf(lines: readonly string[]): ReviewFileResult {
  const hunks: PendingHunk[] = [];
  let [old, now] = [0, 0];
  const places = lines.map((line) => {
    const place = { line, old, now };
    if (!line.startsWith("+")) old += 1;
    if (!line.startsWith("-")) now += 1;
    return place;
  });
  for (let at = 0; at < lines.length; at += 1) {
    if (lines[at]?.startsWith(" ") === true) continue;
    const start = Math.max(at - 1, 0);
    let end = at;
    while (lines[end]?.startsWith(" ") === false || lines[end + 1]?.startsWith(" ") === false) end += 1;
    const within = places.slice(start, end + 1);
    const [newLines, oldLines] = ["-", "+"].map((sign) => within.filter(({ line }) => !line.startsWith(sign)).length);
    assert.ok(within[0] !== undefined && newLines !== undefined && oldLines !== undefined);
    hunks.push({
      index: hunks.length,
      header: "",
      lines: within.map(({ line }) => line),
      oldStart: within[0].old + (oldLines > 0 ? 1 : 0),
      oldLines,
      newStart: within[0].now + (newLines > 0 ? 1 : 0),
      newLines,
      owners: [],
    });
    at = end;
  }
  const side = (sign: string) => lines.filter((line) => !line.startsWith(sign)).map((line) => `${line.slice(1)}\n`);
  return { ...change("a.txt"), id: "1", owners: [], hunks, before: side("+").join(""), after: side("-").join("") };
}

function shown(review: ReviewFileResult, document = review.after): readonly (readonly unknown[])[] {
  return placeHunks(review, document.split("\n")).map(({ hunk, first, last, changes }) => [
    hunk.index,
    first,
    last,
    ...changes.map(({ line, added, removed }) => `${line}+${added}-${removed.join("|")}`),
  ]);
}

const REVIEW = reviewOf([" a", "-b", "+B", "+BB", " c", " d", " e", "-f", " g", " h", " i", "+J"]);

describe("pending hunks in a document", () => {
  it("are where their lines came and went", () => {
    assert.deepEqual(shown(REVIEW), [
      [0, 1, 2, "1+2-b"],
      [1, 6, 6, "6+0-f"],
      [2, 9, 9, "9+1-"],
    ]);
  });

  it("move with what is typed above them, and stay above it", () => {
    assert.deepEqual(shown(REVIEW, REVIEW.after.replace("d\n", "d\ntyped\ntyped\n")), [
      [0, 1, 2, "1+2-b"],
      [1, 8, 8, "8+0-f"],
      [2, 11, 11, "11+1-"],
    ]);
    assert.deepEqual(
      shown(REVIEW, REVIEW.after.replace("a\n", "")).map(([index, first]) => [index, first]),
      [
        [0, 0],
        [1, 5],
        [2, 8],
      ],
    );
  });

  it("are nowhere while somebody types over them", () => {
    const typed = REVIEW.after.replace("BB\n", "BBx\n");
    assert.deepEqual(
      shown(REVIEW, typed).map(([index]) => index),
      [1, 2],
    );
    assert.deepEqual(shown(REVIEW, "something else"), []);
  });

  it("are there whatever line ends and byte order mark the file has", () => {
    const windows = { ...REVIEW, after: `\uFEFF${REVIEW.after.replaceAll("\n", "\r\n")}` };
    assert.deepEqual(shown(windows, REVIEW.after), shown(REVIEW));
  });

  it("stay within a document from which everything went", () => {
    const empty = reviewOf(["-a", "-b"]);
    assert.deepEqual(shown({ ...empty, after: "" }, ""), [[0, 0, 0, "0+0-a|b"]]);
  });

  it("at the end of a file without a newline are not beyond it", () => {
    const review = reviewOf([" a", "-b"]);
    const [hunk] = placeHunks({ ...review, after: "a" }, ["a"]);
    assert.deepEqual([hunk?.first, hunk?.last], [0, 0]);
  });

  it("hold just the lines that came, wherever somebody types", () => {
    const random = randomness(3);
    for (let round = 0; round < 500; round += 1) {
      const lines = Array.from({ length: 1 + below(random, 30) }, (_, at) => `${" +- "[below(random, 4)] ?? " "}${at}`);
      const review = reviewOf(lines);
      const document = review.after.split("\n");
      const at = below(random, document.length);
      document.splice(at, below(random, 2), ...Array.from({ length: below(random, 3) }, () => `typed ${round}`));
      for (const { hunk, changes } of placeHunks(review, document)) {
        const came = changes.flatMap(({ line, added }) => document.slice(line, line + added));
        const expected = hunk.lines.filter((line) => line.startsWith("+")).map((line) => line.slice(1));
        assert.deepEqual(came, expected, JSON.stringify({ lines, document }));
      }
    }
  });

  it("are found by the line of the cursor, and one after the other", () => {
    const hunks: readonly PlacedHunk[] = placeHunks(REVIEW, REVIEW.after.split("\n"));
    const index = (found: PlacedHunk | undefined) => found?.hunk.index;
    assert.deepEqual(
      [0, 1, 2, 3, 6].map((line) => index(hunkAt(hunks, line))),
      [undefined, 0, 0, undefined, 1],
    );
    assert.deepEqual(
      [0, 1, 6, 9].map((line) => index(hunkBeside(hunks, line, "next"))),
      [0, 1, 2, 0],
    );
    assert.deepEqual(
      [0, 1, 6, 9].map((line) => index(hunkBeside(hunks, line, "previous"))),
      [2, 2, 0, 1],
    );
    assert.equal(hunkBeside([], 0, "next"), undefined);
  });
});
