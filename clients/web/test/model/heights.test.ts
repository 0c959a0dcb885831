import assert from "node:assert/strict";
import { test } from "node:test";
import { Heights } from "../../src/model/heights";

/** Where things lie, added up anew for each question. */
class Plain {
  constructor(readonly heights: number[]) {}
  top(index: number): number {
    return this.heights.slice(0, index).reduce((sum, height) => sum + height, 0);
  }
  indexAt(y: number): number {
    let at = 0;
    while (at < this.heights.length - 1 && this.top(at + 1) <= y) at += 1;
    return at;
  }
}

/** Numbers that look random and are the same in each run. */
function* numbers(): Generator<number, never> {
  for (let state = 12345; ;) {
    state = (state * 1103515245 + 12345) % 2 ** 31;
    yield state;
  }
}

test("tops, totals and places agree with plain sums, whatever is measured in between", () => {
  const random = numbers();
  const next = (below: number) => random.next().value % below;
  for (let round = 0; round < 40; round += 1) {
    const given = Array.from({ length: 1 + next(60) }, () => 1 + next(50));
    const heights = new Heights(given);
    const plain = new Plain(given);
    for (let step = 0; step < 30; step += 1) {
      const index = next(given.length);
      const height = 1 + next(80);
      if (next(2) === 0) {
        assert.equal(heights.set(index, height), height - (plain.heights[index] ?? 0));
        plain.heights[index] = height;
      }
      assert.equal(heights.top(index), plain.top(index));
      assert.equal(heights.total, plain.top(given.length));
      const y = next(heights.total + 40) - 20;
      assert.equal(heights.indexAt(y), plain.indexAt(y));
    }
  }
});

test("what is drawn covers what is seen", () => {
  const heights = new Heights(Array.from({ length: 10_000 }, () => 48));
  assert.deepEqual(heights.between(0, 480), [0, 11]);
  assert.deepEqual(heights.between(48 * 5000, 48 * 5000 + 10), [5000, 5001]);
  assert.deepEqual(heights.between(1e9, 2e9), [9999, 10_000]);
  assert.deepEqual(heights.between(-100, -50), [0, 1]);
});

test("a list of nothing has nothing to draw", () => {
  const heights = new Heights([]);
  assert.deepEqual([heights.total, heights.count, heights.between(0, 100)], [0, 0, [0, 0]]);
});
