import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Entry, Session } from "@snapd/client";
import type { FolderModel } from "../../src/model/folder";
import { withKnown } from "../../src/model/history";
import { fileItem } from "../../src/views/arrange";
import { type Item, contextValue } from "../../src/views/items";
import { LiveTree } from "../../src/views/liveTree";
import { present } from "../../src/views/presentation";
import { type StepsNode, isOpenable, stepsTree } from "../../src/views/stepsTree";
import { timelineTree } from "../../src/views/timeline";
import {
  below,
  change,
  message,
  openStep,
  operation,
  randomness,
  session,
  step,
  stepEntry,
  time,
  userEntry,
} from "../model/making";
import { folder } from "./fakeModel";
import { Mirror } from "./mirror";

const NOW = Date.parse(time(600));

/** The view, but for VS Code. */
class View {
  readonly tree = new LiveTree<StepsNode>();
  readonly mirror: Mirror<Item>;
  now = NOW;

  constructor() {
    this.mirror = new Mirror<Item>({
      below: (item) => this.#below(item),
      row: (item) => JSON.stringify([present(item, this.now), contextValue(item)]),
    });
  }

  #below(item: Item | undefined): readonly Item[] {
    if (item === undefined) return this.tree.top;
    if (item.kind === "file") return [];
    const nodes = this.tree.below(item);
    if (item.kind === "folder" || item.kind === "session" || item.kind === "turn") return nodes;
    assert.equal(isOpenable(item), nodes.length + item.entry.files.length > 0);
    return [...nodes, ...item.entry.files.map((file) => fileItem(item, file))];
  }

  /** @returns the labels of what was refreshed. */
  show(folders: readonly FolderModel[], only?: string): readonly string[] | "all" {
    const found = this.tree.update(stepsTree(folders, only, this.now));
    this.mirror.refresh(found);
    return found?.map((item) => present(item, this.now).label) ?? "all";
  }
}

/** What a view shows that is opened just now. */
function anew(folders: readonly FolderModel[], only: string | undefined, now: number): readonly string[] {
  const view = new View();
  view.now = now;
  view.show(folders, only);
  // an empty tree differs in nothing from none
  view.mirror.refresh(undefined);
  return view.mirror.picture;
}

function made(stepId: string, at: number, more: object = {}): Entry {
  return stepEntry(step(stepId, at, { tool: stepId, ...more }));
}

describe("the view of steps", () => {
  const sessions = [session("s", { stepCount: 2 })];
  const entries = [made("two", 20), made("one", 10)];

  it("refreshes nothing where nothing was changed", () => {
    const view = new View();
    view.show([folder(sessions, entries)]);
    const { asked } = view.mirror;
    assert.deepEqual(view.show([folder([...sessions], [...entries])]), []);
    assert.equal(view.mirror.asked, asked);
  });

  it("refreshes the step that was undone, with its files, and no other", () => {
    const view = new View();
    view.show([folder(sessions, entries)]);
    assert.deepEqual(view.show([folder(sessions, [...entries.slice(0, 1), made("one", 10, { state: "undone" })])]), [
      "one",
    ]);
    assert.match(view.mirror.picture.join("\n"), /snapd-item:\/a\.txt\?Mu/, "its file is dimmed too");
  });

  it("refreshes a step that ends, where its session says nothing new", () => {
    const view = new View();
    const open = stepEntry(openStep("two", 20, { tool: "two" }));
    view.show([folder(sessions, [open, ...entries.slice(1)])]);
    assert.deepEqual(view.show([folder(sessions, entries)]), ["two"]);
  });

  it("refreshes a step that has other files, as many and as long", () => {
    const view = new View();
    view.show([folder(sessions, entries)]);
    const other = made("one", 10, { files: [change("b.txt")] });
    assert.deepEqual(view.show([folder(sessions, [...entries.slice(0, 1), other])]), ["one"]);
    assert.match(view.mirror.picture.join("\n"), /snapd-item:\/b\.txt/);
  });

  it("refreshes a session that gets a step, and no other session", () => {
    const view = new View();
    const both = [session("t", { title: "The other" }), ...sessions];
    const other = made("other", 590, { sessionId: "t" });
    view.show([folder(both, [other, ...entries])]);
    const more = [made("three", 580), ...entries];
    assert.deepEqual(view.show([folder(both, [other, ...more])]), ["Session s"]);
  });

  it("refreshes its session where a turn becomes the latest, and only the turn where it gets a step", () => {
    const view = new View();
    const inTurn = (messageId: string, stepId: string, at: number) => made(stepId, at, { messageId });
    const first = [inTurn("p", "two", 20), message("p", 5, "First")];
    view.show([folder(sessions, first)]);
    assert.deepEqual(view.show([folder(sessions, [inTurn("p", "three", 30), ...first])]), ["First"]);
    const asked = [message("q", 40, "Second"), ...first];
    assert.deepEqual(view.show([folder(sessions, asked)]), ["Session s"]);
    const begun = [inTurn("q", "four", 50), ...asked];
    assert.deepEqual(view.show([folder(sessions, begun)]), ["Session s"]);
    const undone = made("two", 20, { messageId: "p", state: "undone" });
    const turned = begun.map((entry) => (entry.step?.stepId === "two" ? undone : entry));
    assert.deepEqual(view.show([folder(sessions, turned)]), ["First"]);
  });

  it("refreshes what tells how long ago it was once that is another word", () => {
    const view = new View();
    view.show([folder(sessions, entries)]);
    view.now += 1000;
    assert.deepEqual(view.show([folder(sessions, entries)]), []);
    view.now += 60_000;
    assert.deepEqual(view.show([folder(sessions, entries)]), ["Session s"], "all below it with it");
  });

  it("shows what happens, whatever happens", () => {
    for (let seed = 1; seed <= 40; seed += 1) {
      const random = randomness(seed);
      const view = new View();
      const worlds = [new World(random, "one"), new World(random, "two")];
      let only: string | undefined;
      for (let round = 0; round < 80; round += 1) {
        worlds[below(random, 2)]?.go();
        if (below(random, 15) === 0) only = only === undefined ? "s1" : undefined;
        if (below(random, 5) === 0) view.now += 30_000;
        const folders = worlds.slice(0, seed % 3 === 0 ? 2 : 1).map((world) => world.folder);
        view.show(folders, only);
        assert.deepEqual(view.mirror.picture, anew(folders, only, view.now), `seed ${seed}, round ${round}`);
      }
    }
  });
});

describe("the timeline of a file", () => {
  it("refreshes what was changed", () => {
    const tree = new LiveTree();
    const show = (entries: readonly Entry[], file = "a.txt") =>
      tree.update(timelineTree(folder([session("s")], entries), file, NOW))?.map(({ id }) => id.split(" ")[1]);
    const [two, one] = [made("two", 20), made("one", 10)];
    assert.equal(show([two, one]), undefined);
    assert.deepEqual(show([two, one]), []);
    assert.deepEqual(show([two, made("one", 10, { state: "undone" })]), ["step:one"]);
    assert.equal(show([made("three", 30), two, one]), undefined);
    assert.equal(show([two, one], "b.txt"), undefined);
    assert.deepEqual(show([two, one], "b.txt"), []);
  });
});

/** A folder in which agents and a user are at work. */
class World {
  readonly #random: () => number;
  readonly #name: string;
  #clock = 0;
  #entries: readonly Entry[] = [];
  #problem: Error | undefined;

  constructor(random: () => number, name: string) {
    this.#random = random;
    this.#name = name;
  }

  get folder(): FolderModel {
    const own = { id: this.#name, uri: `file:///${this.#name}`, name: this.#name, problem: this.#problem };
    return folder(this.#sessions, this.#problem === undefined ? this.#entries : [], own);
  }

  get #sessions(): readonly Session[] {
    return ["s0", "s1", "s2"].map((sessionId) => {
      const own = this.#entries.filter((entry) => entry.step?.sessionId === sessionId);
      return session(sessionId, { title: sessionId, stepCount: own.length, startedAt: time(0) });
    });
  }

  /** Something happens. */
  go(): void {
    this.#clock += 5;
    this.#problem = below(this.#random, 20) === 0 ? new Error("refused") : undefined;
    const next = this.#next();
    // as the model has it after it has read all anew
    this.#entries = withKnown(structuredClone(next), this.#entries);
  }

  #next(): readonly Entry[] {
    const [at, entries] = [this.#clock, this.#entries];
    const known = entries.flatMap((entry) => entry.step ?? []);
    const chosen = known[below(this.#random, Math.max(known.length, 1))];
    const files = [change("a.txt"), change("b.png", { binary: true }), change("c", { status: "added" })];
    const some = files.filter(() => below(this.#random, 2) === 0);
    const replaced = (entry: Entry) => entries.map((each) => (each.step === chosen ? entry : each));
    const turns = () => ({ sessionId: `s${below(this.#random, 3)}`, messageId: `m${below(this.#random, 4)}` });
    switch (below(this.#random, 9)) {
      case 0:
        return [userEntry(at, some), ...entries];
      case 1:
        return [operation("undo", at, chosen === undefined ? {} : { steps: [chosen.stepId] }), ...entries];
      case 2:
      case 3: {
        const parent = below(this.#random, 3) === 0 ? chosen?.stepId : undefined;
        const { sessionId, messageId } = turns();
        const more = {
          sessionId,
          ...(below(this.#random, 3) > 0 && { messageId }),
          tool: `t${at}`,
          ...(parent !== undefined && { parentStepId: parent }),
        };
        const id = `${this.#name}-${at}`;
        const fresh = below(this.#random, 2) === 0 ? openStep(id, at, more) : step(id, at, { ...more, files: some });
        return [stepEntry(fresh), ...entries];
      }
      case 8: {
        const { sessionId, messageId } = turns();
        return [message(messageId, at, below(this.#random, 3) > 0 ? `do ${at}` : undefined, sessionId), ...entries];
      }
      case 4:
        return entries.slice(0, below(this.#random, 10) === 0 ? 5 : undefined);
      default: {
        if (chosen === undefined) return entries;
        const { parentStepId, sessionId, messageId, tool } = chosen;
        const start = (Date.parse(chosen.startedAt) - Date.parse(time(0))) / 1000;
        const state = chosen.state === "applied" ? "undone" : "applied";
        const more = {
          sessionId,
          ...(messageId !== undefined && { messageId }),
          state,
          files: chosen.files ?? some,
          ...(tool !== undefined && { tool }),
        } as const;
        const whole = parentStepId === undefined ? more : { ...more, parentStepId };
        return replaced(stepEntry(step(chosen.stepId, start, whole)));
      }
    }
  }
}
