/** Of several requests for the same thing, the one that was asked last counts. */
export class Latest {
  #number = 0;

  /**
   * Begins a request.
   *
   * @returns Says whether no later one has begun.
   */
  begin(): () => boolean {
    this.#number += 1;
    const number = this.#number;
    return () => number === this.#number;
  }
}
