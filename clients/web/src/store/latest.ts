/** Of several requests for the same thing, only the latest counts. */
export class Latest {
  #number = 0;

  /**
   * Begins a request.
   *
   * @returns A function that reports whether this is still the latest.
   */
  begin(): () => boolean {
    this.#number += 1;
    const number = this.#number;
    return () => number === this.#number;
  }
}
