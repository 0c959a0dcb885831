import assert from "node:assert/strict";
import { test } from "node:test";
import type { Comment } from "@snapd/client";
import { linesOf, type DiffHunk } from "../../src/model/diff";
import { hunksBetween } from "../../src/model/patch";
import { type DiffRow, type Layout, rowsOf } from "../../src/model/rows";
import { linesToComment, type Thread, withThreads } from "../../src/model/threads";

const BEFORE = Array.from({ length: 30 }, (_, at) => `line ${at + 1}\n`).join("");
const AFTER = BEFORE.replace("line 10\n", "LINE 10\nmore\n").replace("line 20\n", "");
const HUNKS = hunksBetween(BEFORE, AFTER);

function thread(start: number, count = 1, more: Partial<Comment> = {}): Thread {
  const comment: Comment = {
    commentId: `${start}`,
    file: "a.txt",
    start,
    count,
    lines: "",
    text: "no",
    at: "2026-11-29T10:00:00.000Z",
    author: "user",
    state: "open",
    replies: [],
    ...more,
  };
  return { comment };
}

function drawn(threads: readonly Thread[], layout: Layout): string[] {
  const texts = { before: linesOf(BEFORE), after: linesOf(AFTER) };
  const rows = withThreads(rowsOf(HUNKS, layout, texts, new Map()), threads);
  const textOf = (row: DiffRow): string => {
    if (row.kind === "gap") return "…";
    if (row.kind === "line") return row.line.text;
    if (row.kind === "pair") return row.right?.text ?? "";
    return row.threads
      .map((one) => `#${"comment" in one.thread ? one.thread.comment.start : "draft"}${one.isAtLine ? "" : "?"}`)
      .join();
  };
  return rows.map(textOf);
}

test("a comment stands below its last line", () => {
  for (const layout of ["unified", "split"] as const) {
    const rows = drawn([thread(10, 2), thread(10), { draft: { start: 11, count: 1, lines: [], text: "" } }], layout);
    assert.deepEqual(rows.slice(rows.indexOf("LINE 10"), rows.indexOf("LINE 10") + 5), [
      "LINE 10",
      "#10",
      "more",
      "#10,#draft",
      "line 11",
    ]);
  }
});

test("a comment whose lines are not shown comes after what is before them, and shows them", () => {
  const rows = drawn([thread(2), thread(15), thread(30), thread(11, 1, { outdated: true })], "unified");
  assert.equal(rows[0], "#2?");
  assert.deepEqual(rows.slice(rows.indexOf("#15?") - 1, rows.indexOf("#15?") + 2), ["line 13", "#15?", "…"]);
  assert.equal(rows[rows.indexOf("more") + 1], "#11?");
  assert.equal(rows[rows.indexOf("#30?") + 1], "…");
});

test("without comments, the rows stay as they are", () => {
  const rows = rowsOf(HUNKS, "unified", undefined, new Map());
  assert.equal(withThreads(rows, []), rows);
});

test("a comment on a change is about the lines that came, or the one above those that went", () => {
  assert.deepEqual(HUNKS.map(linesToComment), [
    { start: 10, count: 2 },
    { start: 20, count: 1 },
  ]);
  const [gone] = hunksBetween("a\n", "");
  assert.deepEqual(linesToComment(gone as DiffHunk), { start: 1, count: 1 });
});
