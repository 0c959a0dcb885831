import assert from "node:assert/strict";
import { test } from "node:test";
import { matchesIn } from "../../src/model/matches";
import { cutParts, firstLine, splitName, visible } from "../../src/model/names";
import { MOST_DRAWN, segmentsOf } from "../../src/model/segments";
import { differingWords } from "../../src/model/words";
import { age, counted, gitName, operationName } from "../../src/model/wording";

test("segments have the whole text, in order, with the colour and the difference of each piece", () => {
  const segments = segmentsOf(
    "let a = 1;",
    [
      { from: 0, to: 3, style: "k" },
      { from: 8, to: 9, style: "n" },
    ],
    [{ from: 2, to: 9 }],
  );
  assert.deepEqual(
    segments.map(({ text, style, differs }) => [text, style, differs]),
    [
      ["le", "k", false],
      ["t", "k", true],
      [" a = ", "", true],
      ["1", "n", true],
      [";", "", false],
    ],
  );
  assert.deepEqual(segmentsOf("", [], []), []);
});

test("of a very long line, the beginning is drawn", () => {
  const [only] = segmentsOf("x".repeat(1_000_000), [], [{ from: 0, to: 1_000_000 }]);
  assert.equal(only?.text.length, MOST_DRAWN);
});

test("words that differ are found in both lines", () => {
  const [before, now] = ["return amount * 0.94", "return amount * 0.95"];
  const { before: removed, after } = differingWords(before, now);
  assert.deepEqual(
    removed.map(({ from, to }) => before.slice(from, to)),
    ["94"],
  );
  assert.deepEqual(
    after.map(({ from, to }) => now.slice(from, to)),
    ["95"],
  );
});

test("lines that have too little in common have no words that differ", () => {
  assert.deepEqual(differingWords("import os", "def euro(amount):"), { before: [], after: [] });
  assert.deepEqual(differingWords("same", "same"), { before: [], after: [] });
});

test("very long lines are not compared", () => {
  const line = "word ".repeat(2000);
  assert.deepEqual(differingWords(line, `${line}more`), { before: [], after: [] });
});

test("what would be unseen is written out", () => {
  assert.equal(visible("a\u202eb\u0007\u001b[31m\r"), "a⟨U+202E⟩b⟨U+0007⟩⟨U+001B⟩[31m␍");
  assert.equal(visible("\tplain ünï 😀"), "\tplain ünï 😀");
});

test("a name is cut after its last slash", () => {
  assert.deepEqual(splitName("a/b/c.txt"), ["a/b/", "c.txt"]);
  assert.deepEqual(splitName("c.txt"), ["", "c.txt"]);
  assert.deepEqual(splitName("a\nb/c\u202e"), ["a⟨U+000A⟩b/", "c⟨U+202E⟩"]);
});

test("a name that is cut keeps its end, and no character is cut in two", () => {
  assert.deepEqual(cutParts("short-name.ts"), ["", "short-name.ts"]);
  assert.deepEqual(cutParts("address-factory-18.test.ts"), ["address-factor", "y-18.test.ts"]);
  const [head, tail] = cutParts(`${"x".repeat(20)}😀${"y".repeat(11)}`);
  assert.deepEqual([head, tail], ["x".repeat(20), `😀${"y".repeat(11)}`]);
});

test("the first line with anything on it stands for a text", () => {
  assert.equal(firstLine("\n  \n  Do   it\nnow"), "Do it");
  assert.equal(firstLine(" \n "), undefined);
  assert.equal(firstLine(undefined), undefined);
});

test("a search text is no pattern", () => {
  const found = (text: string, needle: string) => matchesIn(text, needle).map(({ from, to }) => text.slice(from, to));
  assert.deepEqual(found("a.b A.B axb", "a.b"), ["a.b", "A.B"]);
  assert.deepEqual(found("f(x) [y] {z} $ ^ | \\ ? * +", "] {z} $ ^ | \\ ? * +"), ["] {z} $ ^ | \\ ? * +"]);
  assert.deepEqual(found("anything", ""), []);
  assert.deepEqual(found("a-b", "a-b"), ["a-b"]);
});

test("ages are short, and never of the future", () => {
  const now = Date.parse("2026-11-23T12:00:00Z");
  const ages = [
    "2026-11-23T12:00:30Z",
    "2026-11-23T11:59:30Z",
    "2026-11-23T11:55:00Z",
    "2026-11-23T09:00:00Z",
    "2026-11-21T12:00:00Z",
    "2026-10-01T12:00:00Z",
  ];
  assert.deepEqual(
    ages.map((at) => age(at, now)),
    ["now", "now", "5m", "3h", "2d", "Oct 1"],
  );
});

test("numbers have their nouns", () => {
  assert.deepEqual(
    [counted(1, "file"), counted(0, "file"), counted(1000, "file")],
    ["1 file", "0 files", "1,000 files"],
  );
});

test("what was done to git has a line, and shows what would be unseen", () => {
  const git = { refs: [{ ref: "refs/heads/a\u202eb", before: "c".repeat(40) }] };
  assert.equal(gitName(git), "git: branch a⟨U+202E⟩b deleted");
  const entry = { kind: "user", at: "2026-11-23T12:00:00Z", before: "t", after: "t", files: [], git } as const;
  assert.equal(operationName({ ...entry, files: [] }), "You changed git");
});
