import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { aligned, movedRange } from "../../src/model/alignment";

const of = (text: string): readonly string[] => text.split("");

describe("aligned", () => {
  it("finds the lines of one text in another", () => {
    assert.deepEqual(aligned(of("abc"), of("abc")), [0, 1, 2]);
    assert.deepEqual(aligned(of("abc"), of("xabyc")), [1, 2, 4]);
    assert.deepEqual(aligned(of("abcde"), of("ace")), [0, undefined, 1, undefined, 2]);
    assert.deepEqual(aligned(of("abc"), []), [undefined, undefined, undefined]);
    assert.deepEqual(aligned([], of("abc")), []);
  });

  it("finds lines between changes, which begin and end neither text", () => {
    assert.deepEqual(aligned(of("1ab2cd3"), of("4ab5cd6")), [undefined, 1, 2, undefined, 4, 5, undefined]);
  });

  it("matches the same lines only, each once and in order, in random texts", () => {
    let seed = 7;
    const random = (below: number): number => {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      return seed % below;
    };
    for (let run = 0; run < 300; run += 1) {
      const [one, other] = [1, 2].map(() => Array.from({ length: random(14) }, () => String(random(9))));
      const places = aligned(one ?? [], other ?? []);
      const pairs = places.flatMap((place, line) => (place === undefined ? [] : [[line, place] as const]));
      for (const [line, place] of pairs) assert.equal(one?.[line], other?.[place]);
      const sorted = pairs.map(([, place]) => place);
      assert.deepEqual(
        sorted,
        [...new Set(sorted)].sort((a, b) => a - b),
      );
    }
  });
});

describe("movedRange", () => {
  it("goes from the first to the last line that is there", () => {
    assert.deepEqual(movedRange([4, undefined, 6, 9], 0, 2), { first: 4, last: 6 });
    assert.deepEqual(movedRange([4, undefined, 6, 9], 1, 3), { first: 6, last: 9 });
    assert.equal(movedRange([4, undefined, 6, 9], 1, 1), undefined);
  });
});
