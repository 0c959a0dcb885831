import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { SCHEME, type Place, documentUri, placeOf } from "../../src/documents/uris";
import { below, hash, randomness } from "../model/making";

/** What VS Code makes of a URI that it has parsed and writes again: each part is decoded, and encoded anew. */
function throughVsCode(uri: string): string {
  const [, scheme, path, query] = /^([^:]+):([^?#]*)\?([^#]*)$/.exec(uri) ?? [];
  assert.ok(scheme !== undefined && path !== undefined && query !== undefined, uri);
  const again = (text: string) => encodeURIComponent(decodeURIComponent(text)).replaceAll("%2F", "/");
  return `${scheme}:${again(path)}?${again(query)}`;
}

const PIECES = [
  "a",
  "B",
  ".txt",
  "#",
  "%",
  "?",
  " ",
  "%41",
  "%2F",
  "&",
  "=",
  "+",
  "ä",
  "日本",
  "😀",
  "\\",
  '"',
  "'",
  "/x",
  "\u2028",
];

describe("documentUri", () => {
  it("keeps every place, whichever way it goes through VS Code", () => {
    const random = randomness(7);
    for (let round = 0; round < 2000; round += 1) {
      const pick = () => PIECES[below(random, PIECES.length)] ?? "";
      const file = `f${Array.from({ length: 1 + below(random, 8) }, pick).join("")}`;
      const place: Place = {
        folder: `file:///work/${encodeURIComponent(pick())}`,
        hash: below(random, 4) === 0 ? "" : hash(round),
        file,
        ...(below(random, 2) === 0 ? { stepId: pick() } : {}),
        ...(below(random, 2) === 0 ? { side: "before" as const } : {}),
        ...(below(random, 4) === 0 ? { own: `session ${pick()}` } : {}),
        ...(below(random, 4) === 0 ? { messageId: pick(), print: pick() } : {}),
      };
      const uri = documentUri(place);
      assert.deepEqual(placeOf(uri), place);
      assert.deepEqual(placeOf(throughVsCode(uri)), place);
      assert.deepEqual(placeOf(decodeURIComponent(uri.slice(uri.indexOf("?"))).replace(/^/, "snapd:/x")), place);
    }
  });

  it("is shown by the name of the file alone", () => {
    const manifest = JSON.parse(readFileSync("package.json", "utf8")) as {
      contributes: { resourceLabelFormatters: { scheme: string; formatting: { label: string } }[] };
    };
    const [formatter, ...others] = manifest.contributes.resourceLabelFormatters;
    assert.ok(formatter !== undefined && others.length === 0);
    assert.equal(formatter.scheme, SCHEME);
    for (const file of ["src/a b#.py", 'x"\\ä?%41&+😀.txt', "file:///work/caf%E9.txt"]) {
      // as an editor does: the query, decoded once, is JSON, and a name in the label stands for a part of it
      const query = decodeURIComponent(
        documentUri({ folder: "file:///work", hash: hash(1), file }).replace(/^[^?]*\?/, ""),
      );
      assert.match(query, /^\{.*\}$/s);
      const parts = JSON.parse(query) as Record<string, string>;
      const shown: string = formatter.formatting.label.replace(
        /\$\{query\.(.+?)\}/g,
        (_, part: string) => parts[part] ?? "",
      );
      assert.equal(shown, file);
    }
  });

  it("ends in the name of the file, for language and icon", () => {
    const place = { folder: "file:///work", hash: hash(255), file: "src/a b#.py" };
    const path = new URL(documentUri(place)).pathname;
    assert.equal(decodeURIComponent(path), "/work/src/a b#.py");
    const odd = { ...place, file: "file:///work/src/%FF.py" };
    assert.equal(decodeURIComponent(new URL(documentUri(odd)).pathname), "/work/src/\ufffd.py");
    assert.deepEqual(placeOf(documentUri(odd)), odd);
  });

  it("has one path for all sides of a file", () => {
    const path = (seed: number) => {
      const place = { folder: "file:///work/a%20b/", hash: seed === 0 ? "" : hash(seed), file: "src/ä.py" };
      return new URL(documentUri(place)).pathname;
    };
    const onDisk = new URL("file:///work/a%20b/src/ä.py").pathname;
    assert.deepEqual([path(0), path(1), path(2)], [onDisk, onDisk, onDisk]);
  });

  it("is told from other URIs", () => {
    const good = documentUri({ folder: "file:///work", hash: hash(1), file: "a" });
    for (const bad of [
      "file:///work/a",
      "snapd:/a",
      "snapd:/a?x",
      "snapd:/a?%",
      "snapd:/a?null",
      "snapd:/a?{}",
      good.replace("snapd:", "other:"),
      good.replace(hash(1), hash(1).slice(1)),
      good.replace("%22file%22%3A%22a%22", "%22file%22%3A7"),
    ]) {
      assert.equal(placeOf(bad), undefined, bad);
    }
  });
});
