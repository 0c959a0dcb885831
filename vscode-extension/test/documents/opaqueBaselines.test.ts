// Baselines that are no text, as a daemon of the test's own has them.

import assert from "node:assert/strict";
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import type { SnapdClient } from "@snapd/client";
import { opaqueBaseline } from "../../src/documents/opaqueBaselines";
import { FolderModel } from "../../src/model/folder";
import { RealDaemon } from "../model/realDaemon";

/** Bytes that are no text, others for each number. */
function binary(number: number): Buffer {
  return Buffer.from([0, 255, number]);
}

/** A folder in which an agent has a session. */
class Room {
  private constructor(
    readonly root: string,
    readonly client: SnapdClient,
    readonly folder: FolderModel,
    readonly sessionId: string,
  ) {}

  static async open(daemon: RealDaemon, name: string, files: Readonly<Record<string, Buffer>>): Promise<Room> {
    const root = await daemon.folder(name);
    for (const [file, bytes] of Object.entries(files)) writeFileSync(path.join(root, file), bytes);
    const client = await daemon.connect(root);
    const folder = new FolderModel(client, pathToFileURL(root).href, name);
    const { sessionId } = await folder.request("session/start", { agent: "claude" });
    return new Room(root, client, folder, sessionId);
  }

  at(file: string): string {
    return path.join(this.root, file);
  }

  async step(change: () => void): Promise<void> {
    const { stepId } = await this.folder.request("step/begin", { sessionId: this.sessionId });
    change();
    await this.folder.request("step/end", { stepId });
  }

  async baseline(file: string): Promise<Buffer | undefined> {
    const bytes = await opaqueBaseline(this.folder, file);
    return bytes === undefined ? undefined : Buffer.from(bytes);
  }
}

describe("a baseline that is no text", () => {
  let daemon: RealDaemon;
  before(async () => {
    daemon = await RealDaemon.start();
  });
  after(() => daemon.dispose());

  it("is what the file was before the first of several steps", async () => {
    const room = await Room.open(daemon, "changed", { "a.png": binary(1) });
    await room.step(() => {
      writeFileSync(room.at("a.png"), binary(2));
    });
    await room.step(() => {
      writeFileSync(room.at("a.png"), binary(3));
    });
    assert.deepEqual(await room.baseline("a.png"), binary(1));
  });

  it("is what was kept, also while the step goes on that had changed it before", async () => {
    const room = await Room.open(daemon, "kept", { "a.png": binary(1) });
    const { stepId } = await room.folder.request("step/begin", { sessionId: room.sessionId });
    writeFileSync(room.at("a.png"), binary(2));
    await room.folder.request("review/keep", { all: true });
    writeFileSync(room.at("a.png"), binary(3));
    assert.deepEqual(await room.baseline("a.png"), binary(2));
    await room.folder.request("step/end", { stepId });
    assert.deepEqual(await room.baseline("a.png"), binary(2));
  });

  it("is what the user made of the file before the step", async () => {
    const room = await Room.open(daemon, "users", { "a.png": binary(1) });
    await room.step(() => {
      writeFileSync(room.at("other.txt"), "other\n");
    });
    writeFileSync(room.at("a.png"), binary(2));
    await room.step(() => {
      writeFileSync(room.at("a.png"), binary(3));
    });
    writeFileSync(room.at("a.png"), binary(4));
    assert.deepEqual(await room.baseline("a.png"), binary(2));
  });

  it("is found under the old name of a file that was moved and changed", async () => {
    const large = Buffer.concat([binary(1), Buffer.alloc(5000, 7)]);
    const room = await Room.open(daemon, "moved", { "old.png": large });
    await room.step(() => {
      mkdirSync(room.at("sub"));
      renameSync(room.at("old.png"), room.at("sub/new.png"));
      writeFileSync(room.at("sub/new.png"), Buffer.concat([large, binary(2)]));
    });
    const [file] = await room.folder.review.all();
    assert.deepEqual([file?.file, file?.renamedFrom], ["sub/new.png", "old.png"]);
    assert.deepEqual(await room.baseline("sub/new.png"), large);
  });

  it("is what the file is where only its name or its mode is another", async () => {
    const room = await Room.open(daemon, "only-moved", { "old.png": binary(1), run: binary(2) });
    await room.step(() => {
      renameSync(room.at("old.png"), room.at("new.png"));
      chmodSync(room.at("run"), 0o755);
    });
    assert.deepEqual(await room.baseline("new.png"), binary(1));
    assert.equal(await room.baseline("run"), undefined);
  });

  it("is there for a file that was deleted, for a long text, and for a link", async () => {
    const long = Buffer.from("a line\n".repeat(1_600_000));
    const room = await Room.open(daemon, "others", { "gone.png": binary(1), "long.txt": long });
    symlinkSync("one", room.at("link"));
    await room.step(() => {
      rmSync(room.at("gone.png"));
      writeFileSync(room.at("long.txt"), Buffer.concat([long, Buffer.from("more\n")]));
      rmSync(room.at("link"));
      symlinkSync("two", room.at("link"));
    });
    assert.deepEqual(await room.baseline("gone.png"), binary(1));
    assert.ok((await room.baseline("long.txt"))?.equals(long));
    assert.deepEqual(await room.baseline("link"), Buffer.from("one"));
  });
});
