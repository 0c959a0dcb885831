import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Origin, SavedLines } from "../../src/blame/savedLines";
import { below, randomness } from "../model/making";
import { FakeDocument, type Place } from "./fakeDocument";

const TEXT = "a\nb\nc\nd";
const TYPED = { isTyped: true };

function named(origin: Origin): number | string | undefined {
  return typeof origin === "object" ? (origin.isTyped ? "typed" : "read") : origin;
}

function opened(text = TEXT) {
  const document = new FakeDocument(text);
  const saved = SavedLines.of(document);
  const origins = (): readonly (number | string | undefined)[] =>
    document.lines.map((_, line) => named(saved.at(line)));
  const type = (start: Place, end: Place, typed: string): ReturnType<typeof origins> => {
    saved.change([document.replace(start, end, typed)], document, TYPED);
    return origins();
  };
  return { document, saved, origins, type };
}

describe("the saved lines of a document", () => {
  it("are all there before anything is typed", () => {
    assert.deepEqual(opened().origins(), [0, 1, 2, 3]);
  });

  it("are typed where a character comes, and saved again once it is gone", () => {
    const { type } = opened();
    assert.deepEqual(type([1, 1], [1, 1], "x"), [0, "typed", 2, 3]);
    assert.deepEqual(type([1, 1], [1, 2], ""), [0, 1, 2, 3]);
  });

  it("stay where only a line end came before them, after them or within another line", () => {
    assert.deepEqual(opened().type([1, 0], [1, 0], "\n"), [0, "typed", 1, 2, 3]);
    assert.deepEqual(opened().type([1, 1], [1, 1], "\n"), [0, 1, "typed", 2, 3]);
    assert.deepEqual(opened("a\nbb\nc").type([1, 1], [1, 1], "\n"), [0, "typed", "typed", 2]);
  });

  it("are told apart from equal lines that somebody typed", () => {
    const { type } = opened("\n\n\n");
    assert.deepEqual(type([1, 0], [1, 0], "x\n"), [0, "typed", 1, 2, 3]);
    assert.deepEqual(type([1, 0], [1, 1], ""), [0, "typed", 1, 2, 3]);
  });

  it("move up where lines went, and come back with them", () => {
    const { type } = opened();
    assert.deepEqual(type([1, 0], [3, 0], ""), [0, 3]);
    assert.deepEqual(type([0, 1], [0, 1], "\nb\nc"), [0, 1, 2, 3]);
  });

  it("follow several changes at once, the last of the text first", () => {
    const { document, saved, origins } = opened();
    const last = document.replace([3, 0], [3, 0], "x\n");
    const first = document.replace([0, 1], [1, 0], "");
    saved.change([last, first], document, TYPED);
    assert.deepEqual(document.lines, ["ab", "c", "x", "d"]);
    assert.deepEqual(origins(), ["typed", 2, "typed", 3]);
  });

  it("are others where they came from the disk", () => {
    const { document, saved, origins } = opened();
    saved.change([document.replace([1, 0], [1, 1], "B")], document, { isTyped: false });
    assert.deepEqual(origins(), [0, "read", 2, 3]);
  });

  it("are known from both ends of a document that was changed before", () => {
    const document = new FakeDocument("a\nx\nc\ny\nd");
    const saved = new SavedLines(["a", "b", "c", "d"], document);
    assert.deepEqual(
      document.lines.map((_, line) => saved.at(line)),
      [0, undefined, undefined, undefined, 3],
    );
  });

  it("are found by the text alone where the report does not fit the document", () => {
    const { document, saved, origins } = opened();
    document.text = "a\nc\nd";
    saved.change([{ range: { start: { line: 0 }, end: { line: 0 } }, text: "a" }], document, TYPED);
    assert.deepEqual(origins(), [0, 2, 3]);
  });

  it("are those of a model that types lines with their names in them", () => {
    const random = randomness(18);
    for (let round = 0; round < 300; round += 1) {
      const names = Array.from({ length: 1 + below(random, 12) }, (_, line) => `line ${line}`);
      const { document, saved, origins } = opened(names.join("\n"));
      for (let change = 0; change < 8; change += 1) {
        const { lines } = document;
        const start = below(random, lines.length);
        const end = Math.min(start + below(random, 3), lines.length - 1);
        // whole lines, so that no saved line is left in part
        const typed = Array.from({ length: 1 + below(random, 3) }, (_, at) => `typed ${change} ${at}`).join("\n");
        saved.change([document.replace([start, 0], [end, lines[end]?.length ?? 0], typed)], document, TYPED);
        const named = document.lines.map((line) => {
          const found = names.indexOf(line);
          return found < 0 ? "typed" : found;
        });
        assert.deepEqual(origins(), named);
      }
    }
  });
});
