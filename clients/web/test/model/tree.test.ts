import assert from "node:assert/strict";
import { test } from "node:test";
import { treeRows } from "../../src/model/tree";

const rows = (names: readonly string[], closed: readonly string[] = [], viewed: readonly string[] = []) =>
  treeRows(
    names.map((file) => ({ file })),
    new Set(closed),
    ({ file }) => viewed.includes(file),
  ).map((row) => {
    const sign = row.kind === "file" ? "" : `${row.isOpen ? "-" : "+"} ${row.viewed}/${row.files} `;
    return `${"  ".repeat(row.depth)}${sign}${row.name}`;
  });

test("folders stand above their files, and a chain of folders is one row", () => {
  assert.deepEqual(rows(["a-b/x", "a/b/c/1", "a/b/c/2", "a/b/d/3", "top"]), [
    "- 0/1 a-b",
    "  x",
    "- 0/3 a/b",
    "  - 0/2 c",
    "    1",
    "    2",
    "  - 0/1 d",
    "    3",
    "top",
  ]);
});

test("a closed folder hides what is in it and still counts it", () => {
  assert.deepEqual(rows(["a/b/1", "a/b/2", "a/3"], ["a/b/"], ["a/b/2", "a/3"]), ["- 2/3 a", "  + 1/2 b", "  3"]);
});

test("names that change what is drawn around them are written out", () => {
  assert.deepEqual(rows(["a\u202e/b\n"]), ["- 0/1 a⟨U+202E⟩", "  b⟨U+000A⟩"]);
});

test("thousands of files in deep folders take a moment", () => {
  const names = Array.from({ length: 7000 }, (_, at) => `src/${at % 10}/${at % 80}/x/${at}.ts`).sort();
  const begin = performance.now();
  assert.ok(rows(names).length > 7000);
  assert.ok(performance.now() - begin < 5000);
});
