// A tree that stays usable while it changes.

import { type Node, type Shown, differing } from "./differing";

/**
 * Keeps one object for each node for as long as the node is there, and brings what it says up to date.
 *
 * VS Code knows the nodes by these objects: a refresh of another object is none, and a command gets the object that was
 * handed out first.
 */
export class LiveTree<T extends Node> {
  #top: readonly Shown<T>[] = [];
  #nodes = new Map<string, Shown<T>>();

  /** What stands at the top. */
  get top(): readonly T[] {
    return this.#top.map(({ item }) => item);
  }

  /** What stands below a node. */
  below({ id }: T): readonly T[] {
    return (this.#nodes.get(id)?.below ?? []).map(({ item }) => item);
  }

  /**
   * Takes the current tree.
   *
   * @returns what has to be refreshed; undefined stands for everything.
   */
  update(top: readonly Shown<T>[]): readonly T[] | undefined {
    const nodes = new Map<string, Shown<T>>();
    const adopt = ({ item, look, below }: Shown<T>): Shown<T> => {
      const known = this.#nodes.get(item.id)?.item;
      const node = {
        item: known === undefined ? item : Object.assign(known, item),
        look,
        below: below.map(adopt),
      };
      nodes.set(item.id, node);
      return node;
    };
    const adopted = top.map(adopt);
    const changed = differing(this.#top, adopted);
    this.#top = adopted;
    this.#nodes = nodes;
    return changed === "all" ? undefined : changed.map(({ item }) => item);
  }
}
