import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Shown, differing } from "../../src/views/differing";
import { LiveTree } from "../../src/views/liveTree";
import { below, randomness } from "../model/making";
import { Mirror } from "./mirror";

interface Thing {
  readonly id: string;
  readonly text: string;
}

type Plan = readonly { readonly id: string; readonly text: string; readonly below: Plan }[];

function shown(plan: Plan): readonly Shown<Thing>[] {
  return plan.map(({ id, text, below: under }) => ({ item: { id, text }, look: [text], below: shown(under) }));
}

function pictured(plan: Plan, indent = ""): string[] {
  return plan.flatMap(({ text, below: under }) => [`${indent}${text}`, ...pictured(under, `${indent}  `)]);
}

const leaf = (id: string, text = id): Plan[number] => ({ id, text, below: [] });
const names = (found: readonly Shown<Thing>[] | "all") => (found === "all" ? found : found.map(({ item }) => item.id));
const between = (before: Plan, after: Plan) => names(differing(shown(before), shown(after)));

describe("differing", () => {
  const steps = [leaf("s2"), leaf("s1")];
  const tree: Plan = [
    { id: "a", text: "a", below: steps },
    { id: "b", text: "b", below: [leaf("t1")] },
  ];

  it("is nothing where nothing differs", () => {
    assert.deepEqual(between(tree, structuredClone(tree)), []);
    assert.deepEqual(between([], []), []);
  });

  it("is the node that looks different, and none above or beside it", () => {
    assert.deepEqual(between(tree, [{ ...leaf("a"), below: [leaf("s2"), leaf("s1", "undone")] }, ...tree.slice(1)]), [
      "s1",
    ]);
  });

  it("is the node below which one came, went or moved", () => {
    for (const under of [[leaf("s3"), ...steps], steps.slice(1), steps.toReversed(), []]) {
      assert.deepEqual(between(tree, [{ ...leaf("a"), below: under }, ...tree.slice(1)]), ["a"]);
    }
  });

  it("holds no node below another of them", () => {
    assert.deepEqual(between(tree, [{ ...leaf("a", "A"), below: [leaf("s2", "x"), leaf("s1", "y")] }, leaf("b")]), [
      "a",
      "b",
    ]);
  });

  it("is everything where one came, went or moved at the top", () => {
    for (const after of [[leaf("c"), ...tree], tree.slice(1), tree.toReversed(), []]) {
      assert.equal(between(tree, after), "all");
    }
  });

  it("compares objects by what they are, not by what they say", () => {
    const [one, other] = [{ files: [] }, { files: [] }];
    const node = (part: unknown): Shown<Thing>[] => [{ item: { id: "a", text: "" }, look: ["a", part], below: [] }];
    assert.deepEqual(names(differing(node(one), node(one))), []);
    assert.deepEqual(names(differing(node(one), node(other))), ["a"]);
  });
});

/** A tree in which something was changed: mostly little, here and there much. */
function changed(plan: Plan, random: () => number, fresh: () => string): Plan {
  const kept = plan.filter(() => below(random, 25) > 0);
  const ordered = below(random, 25) === 0 ? kept.toReversed() : kept;
  const under = ordered.map((node) => ({
    id: node.id,
    text: below(random, 12) === 0 ? `${node.id}:${below(random, 3)}` : node.text,
    below: below(random, 3) === 0 ? changed(node.below, random, fresh) : node.below,
  }));
  const added = below(random, 8) === 0 ? [{ ...leaf(fresh()), below: random() < 0.5 ? [leaf(fresh())] : [] }] : [];
  return [...added, ...under];
}

describe("LiveTree", () => {
  it("tells a view all that it needs to show what is there, and no more", () => {
    let [refreshes, quiet, whole] = [0, 0, 0];
    for (let seed = 1; seed <= 60; seed += 1) {
      const random = randomness(seed);
      let count = 0;
      const fresh = () => `n${count++}`;
      const tree = new LiveTree<Thing>();
      const mirror = new Mirror<Thing>({
        below: (item) => (item === undefined ? tree.top : tree.below(item)),
        row: ({ text }) => text,
      });
      let plan: Plan = Array.from({ length: 4 }, () => ({ ...leaf(fresh()), below: [leaf(fresh()), leaf(fresh())] }));
      mirror.refresh(tree.update(shown(plan)));
      for (let round = 0; round < 60; round += 1) {
        const before = mirror.picture;
        plan = changed(plan, random, fresh);
        const found = tree.update(shown(plan));
        if (found !== undefined) {
          // each on its own makes a difference: without any one of them the view would be wrong
          for (const item of found) {
            const was = mirror.picture;
            mirror.refresh([item]);
            assert.notDeepEqual(mirror.picture, was, "a refresh of what looks as before");
          }
          refreshes += found.length;
        } else {
          whole += 1;
          mirror.refresh(undefined);
        }
        assert.deepEqual(mirror.picture, pictured(plan), `seed ${seed}, round ${round}`);
        if (found?.length === 0) {
          quiet += 1;
          assert.deepEqual(before, pictured(plan));
        }
      }
    }
    // all three kinds were met often enough to mean something
    for (const met of [refreshes, quiet, whole]) assert.ok(met > 100, String([refreshes, quiet, whole]));
  });

  it("keeps the objects that were handed out, and brings them up to date", () => {
    const tree = new LiveTree<Thing>();
    tree.update(shown([{ ...leaf("a"), below: [leaf("x")] }]));
    const [first] = tree.top;
    assert.ok(first !== undefined);
    const [inner] = tree.below(first);
    assert.deepEqual(tree.update(shown([{ ...leaf("a"), below: [leaf("x", "other")] }])), [inner]);
    assert.equal(tree.top[0], first);
    assert.equal(tree.below(first)[0], inner);
    assert.equal(inner?.text, "other");
  });

  it("knows nothing below what is gone", () => {
    const tree = new LiveTree<Thing>();
    tree.update(shown([{ ...leaf("a"), below: [leaf("x")] }]));
    const [first] = tree.top;
    assert.ok(first !== undefined);
    assert.equal(tree.update([]), undefined);
    assert.deepEqual(tree.below(first), []);
  });
});
