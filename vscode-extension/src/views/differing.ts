// Which nodes of a tree have to be shown anew.

/** What has a name that is its own in the whole tree, and stays. */
export interface Node {
  readonly id: string;
}

/** A node of a tree, as it is shown. */
export interface Shown<T extends Node> {
  readonly item: T;
  /** All that its row is made of, and the rows below it that are no nodes of their own. */
  readonly look: readonly unknown[];
  readonly below: readonly Shown<T>[];
}

/**
 * The fewest nodes that have to be shown anew, each with all that is below it.
 *
 * @returns nodes of `after`; "all" where the top of the tree has other nodes, or another order.
 */
export function differing<T extends Node>(
  before: readonly Shown<T>[],
  after: readonly Shown<T>[],
): readonly Shown<T>[] | "all" {
  if (!sameNodes(before, after)) return "all";
  return after.flatMap((node, place) => {
    const old = before[place];
    if (old === undefined || !sameLook(old.look, node.look)) return [node];
    const below = differing(old.below, node.below);
    return below === "all" ? [node] : below;
  });
}

function sameNodes(before: readonly Shown<Node>[], after: readonly Shown<Node>[]): boolean {
  return before.length === after.length && before.every(({ item }, place) => item.id === after[place]?.item.id);
}

function sameLook(before: readonly unknown[], after: readonly unknown[]): boolean {
  return before.length === after.length && before.every((part, place) => Object.is(part, after[place]));
}
