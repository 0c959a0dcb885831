import assert from "node:assert/strict";
import { test } from "node:test";
import { languageOf, tokensOf } from "../../src/syntax/syntax";

/** The parts of each line that have a colour. */
async function coloured(file: string, text: string): Promise<string[][]> {
  const parser = await languageOf(file);
  assert.ok(parser !== undefined);
  const lines = text.split("\n");
  const tokens = await tokensOf(parser, text);
  assert.equal(tokens.length, lines.length);
  return tokens.map((line, at) => line.map(({ from, to, style }) => `${style}:${lines[at]?.slice(from, to) ?? ""}`));
}

test("Python has colours", async () => {
  const [first] = await coloured("a.py", "def f():\n    return 'x'");
  assert.ok(first?.includes("tok-keyword:def"));
});

test("what spans lines has a part in each", async () => {
  const lines = await coloured("a.ts", "a /* one\ntwo\n\nthree */ b");
  assert.deepEqual(
    lines.map((line) => line.filter((one) => one.startsWith("tok-comment"))),
    [["tok-comment:/* one"], ["tok-comment:two"], [], ["tok-comment:three */"]],
  );
});

for (const end of [
  "c",
  "css",
  "go",
  "html",
  "java",
  "js",
  "json",
  "jsx",
  "md",
  "php",
  "py",
  "rs",
  "svg",
  "ts",
  "tsx",
  "yaml",
]) {
  test(`a grammar is there for .${end}, and takes what is none of its own`, async () => {
    const parser = await languageOf(`file.${end}`);
    assert.ok(parser !== undefined);
    await tokensOf(parser, "\u0000{{{ <<< ''' \"\"\" /* `${ \n\n <a b=\n");
  });
}

for (const name of ["none", "a.unknown", "a.constructor", "a.__proto__", ".py/", ""]) {
  test(`there is no grammar for ${JSON.stringify(name)}`, async () => {
    assert.equal(await languageOf(name), undefined);
  });
}
