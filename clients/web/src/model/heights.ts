/** Where the items of a long list lie, some of them measured and the others estimated. */
export class Heights {
  readonly #heights: number[];
  /** Where each item begins, valid up to `#valid`; one more than there are items. */
  readonly #tops: Float64Array;
  #valid = 0;

  /** @param heights Of each item, in pixels. */
  constructor(heights: readonly number[]) {
    this.#heights = [...heights];
    this.#tops = new Float64Array(heights.length + 1);
  }

  get count(): number {
    return this.#heights.length;
  }

  /** The height of all of them, in pixels. */
  get total(): number {
    return this.top(this.count);
  }

  /** Where an item begins, in pixels from the top of the list; for `count`, where the list ends. */
  top(index: number): number {
    for (; this.#valid < index; this.#valid += 1) {
      this.#tops[this.#valid + 1] = (this.#tops[this.#valid] ?? 0) + (this.#heights[this.#valid] ?? 0);
    }
    return this.#tops[index] ?? 0;
  }

  height(index: number): number {
    return this.#heights[index] ?? 0;
  }

  /**
   * Notes how high an item really is.
   *
   * @returns By how many pixels it is higher than was thought.
   */
  set(index: number, height: number): number {
    const difference = height - this.height(index);
    if (difference !== 0 && index < this.count) {
      this.#heights[index] = height;
      this.#valid = Math.min(this.#valid, index);
    }
    return difference;
  }

  /** The item at a place: the first for what lies above the list, the last for what lies below. */
  indexAt(y: number): number {
    let low = 0;
    let high = this.count - 1;
    this.top(this.count);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.top(middle) <= y) low = middle;
      else high = middle - 1;
    }
    return Math.max(0, low);
  }

  /**
   * The items that are to be drawn.
   *
   * @param from Where what is seen begins, in pixels from the top of the list.
   * @param to Where it ends.
   * @returns The first, and the one after the last.
   */
  between(from: number, to: number): readonly [number, number] {
    if (this.count === 0) return [0, 0];
    return [this.indexAt(from), this.indexAt(Math.max(from, to)) + 1];
  }
}
