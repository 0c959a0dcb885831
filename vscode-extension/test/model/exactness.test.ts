// The model against what the daemon tells anew, after random histories.

import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { pathToFileURL } from "node:url";
import { type Entry, type SnapdClient, SnapdError } from "@snapd/client";
import { FolderModel } from "../../src/model/folder";
import { below, randomness } from "./making";
import { RealDaemon } from "./realDaemon";

const SESSIONS = ["one", "two"];
const FILES = ["a.txt", "b.txt", "c.txt", "d.bin"];

async function history(client: SnapdClient, workspaceUri: string): Promise<readonly Entry[]> {
  const { entries } = await client.request("session/history", { workspaceUri, limit: 500 });
  return entries;
}

/** What the daemon says of the turns of a session, and what the model makes of the history. */
async function turnsAgree(model: FolderModel, client: SnapdClient): Promise<void> {
  for (const { sessionId } of model.sessions) {
    const { messages } = await client.request("session/messages", { workspaceUri: model.uri, sessionId });
    const ids = new Set(model.turns.filter((turn) => turn.sessionId === sessionId).map((turn) => turn.messageId));
    assert.deepEqual(ids, new Set(messages.map(({ messageId }) => messageId)));
    for (const { messageId, text, at, steps, state } of messages) {
      const turn = model.turn({ sessionId, messageId });
      assert.ok(turn);
      const known = turn.state === "open" || turn.state === "empty" ? "applied" : turn.state;
      assert.deepEqual(
        [turn.text, turn.at, turn.steps.length, turn.state === "open" ? state : known],
        [text, at, steps, state],
      );
    }
  }
}

/** Waits until the model shows what the daemon tells; fails with the difference where that does not come. */
async function shows(model: FolderModel, client: SnapdClient): Promise<void> {
  const entries = await history(client, model.uri);
  const { sessions } = await client.request("session/list", { workspaceUri: model.uri });
  const byName = () => [...model.sessions].sort((one, two) => (one.sessionId < two.sessionId ? -1 : 1));
  const expected = [...sessions].sort((one, two) => (one.sessionId < two.sessionId ? -1 : 1));
  const isRight = () => isDeepStrictEqual(model.entries, entries) && isDeepStrictEqual(byName(), expected);
  await new Promise<void>((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      subscription.dispose();
      resolve();
    };
    const timer = setTimeout(finish, 60_000);
    const subscription = model.onDidChange(() => {
      if (isRight()) finish();
    });
    if (isRight()) finish();
  });
  assert.deepEqual(model.entries, entries);
  assert.deepEqual(byName(), expected);
}

/** Plays two agents and a user in a folder. */
class Players {
  readonly #random: () => number;
  readonly #client: SnapdClient;
  readonly #folder: string;
  readonly #uri: string;
  readonly #open: string[] = [];
  readonly #all: string[] = [];
  #count = 0;

  constructor(seed: number, client: SnapdClient, folder: string) {
    this.#random = randomness(seed);
    this.#client = client;
    this.#folder = folder;
    this.#uri = pathToFileURL(folder).href;
  }

  async start(): Promise<void> {
    for (const sessionId of SESSIONS) await this.#client.request("session/start", { ...this.#where, sessionId });
  }

  async act(): Promise<void> {
    const [client, where] = [this.#client, this.#where];
    const sessionId = this.#pick(SESSIONS) ?? "one";
    switch (below(this.#random, 10)) {
      case 0:
      case 1: {
        const parent = below(this.#random, 3) === 0 ? this.#pick(this.#all) : undefined;
        const part = parent === undefined ? {} : { parentStepId: parent };
        const { stepId } = await client.request("step/begin", { ...where, sessionId, tool: "edit", ...part });
        this.#open.push(stepId);
        this.#all.push(stepId);
        break;
      }
      case 2:
      case 3: {
        const stepId = this.#open.splice(below(this.#random, this.#open.length), 1)[0];
        const claims = below(this.#random, 2) === 0 ? { files: [this.#pick(FILES) ?? ""] } : {};
        if (stepId !== undefined) await client.request("step/end", { ...where, stepId, ...claims });
        break;
      }
      case 4:
        await client.request("snapshot/track", where);
        break;
      case 8: {
        const messageId = `m${below(this.#random, 4)}`;
        await client.request("session/message", { ...where, sessionId, messageId, text: `do ${this.#count}` });
        break;
      }
      case 5:
        await this.#tried(client.request("session/undo", { ...where, sessionId, count: 1 + below(this.#random, 2) }));
        break;
      case 6:
        await this.#tried(client.request("session/redo", { ...where, sessionId }));
        break;
      case 7: {
        const stepId = this.#pick(this.#all);
        if (stepId === undefined) break;
        const { sessions } = await client.request("session/list", where);
        for (const each of sessions) {
          const { steps } = await client.request("session/steps", { ...where, sessionId: each.sessionId });
          const step = steps.find((one) => one.stepId === stepId);
          if (step?.state === "applied") {
            await this.#tried(client.request("session/undo", { ...where, sessionId: each.sessionId, stepId }));
          }
        }
        break;
      }
      default:
    }
    await this.#write();
  }

  async #write(): Promise<void> {
    const file = path.join(this.#folder, this.#pick(FILES) ?? "");
    this.#count += 1;
    if (below(this.#random, 5) === 0) await rm(file, { force: true });
    else await writeFile(file, `${"line\n".repeat(below(this.#random, 5))}${this.#count}\n`);
  }

  /** There may be nothing to undo or to redo. */
  async #tried(request: Promise<unknown>): Promise<void> {
    try {
      await request;
    } catch (error) {
      if (!(error instanceof SnapdError) || !["nothingToUndo", "nothingToRedo"].includes(error.kind ?? "")) throw error;
    }
  }

  #pick<T>(list: readonly T[]): T | undefined {
    return list[below(this.#random, list.length)];
  }

  get #where(): { workspaceUri: string } {
    return { workspaceUri: this.#uri };
  }
}

describe("FolderModel with the real daemon", () => {
  let daemon: RealDaemon;
  before(async () => {
    daemon = await RealDaemon.start();
  });
  after(() => daemon.dispose());

  for (const seed of [1, 2, 3, 4]) {
    it(`shows what session/history tells anew, seed ${seed}`, async () => {
      const folder = await daemon.folder(`random${seed}`);
      const [watching, acting, asking] = await Promise.all([1, 2, 3].map(() => daemon.connect(folder)));
      assert.ok(watching !== undefined && acting !== undefined && asking !== undefined);
      const model = new FolderModel(watching, pathToFileURL(folder).href, "random");
      const players = new Players(seed, acting, folder);
      await players.start();
      for (let round = 0; round < 6; round += 1) {
        for (let each = 0; each < 12; each += 1) await players.act();
        await shows(model, asking);
        await turnsAgree(model, asking);
      }
      assert.ok(model.turns.some(({ steps }) => steps.length > 1));
      assert.ok(model.entries.some(({ step }) => step?.state === "undone"));
      model.dispose();
    });
  }

  it("shows what happened while the daemon was killed and started again", async () => {
    const folder = await daemon.folder("killed");
    const watching = await daemon.connect(folder);
    const model = new FolderModel(watching, pathToFileURL(folder).href, "killed");
    const first = new Players(9, await daemon.connect(folder), folder);
    await first.start();
    for (let each = 0; each < 10; each += 1) await first.act();
    await daemon.kill();
    await daemon.serve();
    const acting = await daemon.connect(folder);
    const second = new Players(10, acting, folder);
    await second.start();
    for (let each = 0; each < 10; each += 1) await second.act();
    await shows(model, acting);
    assert.equal(model.problem, undefined);
    model.dispose();
  });

  it("tells why a folder is refused", async () => {
    const refused = path.join(daemon.root, "home");
    const client = await daemon.connect(refused);
    const model = new FolderModel(client, pathToFileURL(refused).href, "home");
    await model.refresh();
    assert.ok(model.problem instanceof SnapdError);
    assert.equal(model.problem.kind, "workspaceRefused");
    assert.deepEqual(model.entries, []);
    model.dispose();
  });
});
