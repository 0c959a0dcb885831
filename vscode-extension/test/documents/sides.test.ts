// What a diff shows, with the real daemon: the oracle is what the test itself wrote.

import assert from "node:assert/strict";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { type Entry, SnapdError } from "@snapd/client";
import { Contents } from "../../src/documents/contents";
import { type Sides, sidesOf, turnSides } from "../../src/documents/sides";
import { documentUri, placeOf } from "../../src/documents/uris";
import { FolderModel } from "../../src/model/folder";
import { RealDaemon } from "../model/realDaemon";

const IMAGE = Buffer.from(Array.from({ length: 300 }, (_, at) => at % 256));

describe("sidesOf with the real daemon", () => {
  let daemon: RealDaemon;
  before(async () => {
    daemon = await RealDaemon.start();
  });
  after(() => daemon.dispose());

  async function host(name: string) {
    const folder = await daemon.folder(name);
    const client = await daemon.connect(folder);
    const model = new FolderModel(client, pathToFileURL(folder).href, name);
    const contents = new Contents(() => Promise.resolve(model));
    /** What both sides of each file are, through the URIs of their documents. */
    const texts = async (sides: readonly Sides[]) => {
      const text = async (place: Sides["before"]) => {
        if (place === undefined) return undefined;
        const parsed = placeOf(documentUri(place));
        assert.deepEqual(parsed, place);
        return Buffer.from(await contents.read(place)).toString("latin1");
      };
      const rows = await Promise.all(
        sides.map(async ({ file, before: left, after: right }) => [file.file, [await text(left), await text(right)]]),
      );
      return Object.fromEntries(rows) as Record<string, [string | undefined, string | undefined]>;
    };
    for (const sessionId of ["one", "two"]) await client.request("session/start", { sessionId });
    return {
      folder,
      client,
      model,
      write: async (file: string | Buffer, text: string | Buffer) => {
        if (typeof file === "string") await mkdir(path.dirname(path.join(folder, file)), { recursive: true });
        const whole =
          typeof file === "string" ? path.join(folder, file) : Buffer.concat([Buffer.from(`${folder}/`), file]);
        await writeFile(whole, text);
      },
      begin: async (sessionId: string, more: object = {}) =>
        (await client.request("step/begin", { sessionId, ...more })).stepId,
      entry: async (stepId: string): Promise<Entry> => {
        await model.refresh();
        const found = model.entries.find(({ step }) => step?.stepId === stepId);
        assert.ok(found);
        return found;
      },
      texts,
      shown: async (entry: Entry) => texts(await sidesOf(model, entry, await model.changedFiles(entry))),
    };
  }

  it("shows a step's files as they were before and after it", async () => {
    const { folder, client, write, begin, entry, shown, model } = await host("plain");
    const names = ["a#b?.txt", "100%.txt", "%41 ä/日本.txt", "gone.txt", "old.txt", "x.png"];
    for (const name of names) await write(name, name === "x.png" ? IMAGE : `${"same\n".repeat(20)}before\n`);
    await write("gone.txt", "gone\n");
    const stepId = await begin("one");
    for (const name of names.slice(0, 3)) await write(name, "after\n");
    await rm(path.join(folder, "gone.txt"));
    await rename(path.join(folder, "old.txt"), path.join(folder, "moved.txt"));
    await write("moved.txt", `${"same\n".repeat(20)}moved\n`);
    await write("x.png", IMAGE.subarray(7));
    await write("new.txt", "new\n");
    await write(Buffer.from([0x66, 0xff, 0x2e, 0x63]), "odd\n");
    await client.request("step/end", { stepId });
    await write("new.txt", "later\n");
    const old = `${"same\n".repeat(20)}before\n`;
    assert.deepEqual(await shown(await entry(stepId)), {
      "a#b?.txt": [old, "after\n"],
      "100%.txt": [old, "after\n"],
      "%41 ä/日本.txt": [old, "after\n"],
      "gone.txt": ["gone\n", undefined],
      "moved.txt": [old, `${"same\n".repeat(20)}moved\n`],
      "x.png": [IMAGE.toString("latin1"), IMAGE.subarray(7).toString("latin1")],
      "new.txt": [undefined, "new\n"],
      "f\ufffd.c": [undefined, "odd\n"],
    });
    await client.request("session/undo", { sessionId: "one" });
    const undone = await entry(stepId);
    // what was written since is in conflict, and stays
    assert.equal(undone.step?.state, "partly");
    assert.deepEqual((await shown(undone))["100%.txt"], [old, "after\n"]);
    const user = model.entries.find(({ kind }) => kind === "user");
    assert.ok(user);
    assert.deepEqual(await shown(user), { "new.txt": ["new\n", "later\n"] });
    model.dispose();
  });

  it("shows a step's own text where another step was open beside it", async () => {
    const { client, write, begin, entry, shown, model } = await host("beside");
    const text = (first: string, last: string) => `${first}\nb\nc\nd\ne\nf\ng\nh\n${last}\n`;
    await write("f.txt", text("a", "i"));
    const one = await begin("one");
    await write("f.txt", text("A", "i"));
    const two = await begin("two");
    await write("f.txt", text("A", "I"));
    await client.request("step/end", { stepId: two, files: ["f.txt"] });
    await client.request("step/end", { stepId: one });
    assert.deepEqual(await shown(await entry(one)), { "f.txt": [text("a", "i"), text("A", "i")] });
    assert.deepEqual(await shown(await entry(two)), { "f.txt": [text("A", "i"), text("A", "I")] });
    model.dispose();
  });

  it("shows nothing of a file that came and went within a step", async () => {
    const { folder, client, write, begin, entry, shown, model } = await host("parts");
    const whole = await begin("one");
    const part = await begin("two", { parentStepId: whole });
    await write("passing.txt", "here\n");
    await write("staying.txt", "here\n");
    await client.request("step/end", { stepId: part });
    await rm(path.join(folder, "passing.txt"));
    await client.request("step/end", { stepId: whole });
    assert.deepEqual(await shown(await entry(whole)), { "staying.txt": [undefined, "here\n"] });
    assert.deepEqual(await shown(await entry(part)), {
      "passing.txt": [undefined, "here\n"],
      "staying.txt": [undefined, "here\n"],
    });
    model.dispose();
  });

  it("shows what a turn changed in all, without what others did meanwhile", async () => {
    const { folder, client, model, write, begin, texts } = await host("turn");
    const text = (first: string, last: string) => `${first}\nb\nc\nd\ne\nf\ng\nh\n${last}\n`;
    const old = `${"same\n".repeat(20)}before\n`;
    for (const [file, content] of Object.entries({ "f.txt": text("a", "i"), "old.txt": old, "x.png": IMAGE })) {
      await write(file, content);
    }
    await client.request("session/message", { sessionId: "one", messageId: "p", text: "Do it" });
    const step = async (files: Readonly<Record<string, string | Buffer>>) => {
      const stepId = await begin("one");
      for (const [file, content] of Object.entries(files)) await write(file, content);
      await client.request("step/end", { stepId });
      return stepId;
    };
    await step({ "f.txt": text("A", "i"), "new.txt": "one\n", "x.png": IMAGE.subarray(7) });
    await write("f.txt", text("A", "mine"));
    await client.request("snapshot/track", {});
    const last = await begin("one");
    await write("new.txt", "two\n");
    await write("x.png", IMAGE.subarray(9));
    await rename(path.join(folder, "old.txt"), path.join(folder, "moved.txt"));
    await client.request("step/end", { stepId: last });
    const shown = async () => {
      await model.refresh();
      const turn = model.turn({ sessionId: "one", messageId: "p" });
      assert.ok(turn);
      return texts(await turnSides(model, turn));
    };
    const all = {
      "f.txt": [text("a", "i"), text("A", "i")],
      "moved.txt": [old, old],
      "new.txt": [undefined, "two\n"],
      "x.png": [IMAGE, IMAGE.subarray(9)].map((bytes) => bytes.toString("latin1")),
    };
    assert.deepEqual(await shown(), all);
    await client.request("session/undo", { sessionId: "one", stepId: last });
    assert.deepEqual(await shown(), {
      "f.txt": all["f.txt"],
      "new.txt": [undefined, "one\n"],
      "x.png": [IMAGE, IMAGE.subarray(7)].map((bytes) => bytes.toString("latin1")),
    });
    await client.request("session/undo", { sessionId: "one", messageId: "p" });
    // as of a step, the snapshots have to do: what the user wrote meanwhile is in them
    assert.deepEqual(await shown(), { ...all, "f.txt": [text("a", "i"), text("A", "mine")] });
    model.dispose();
  });

  it("says why a document cannot be shown", async () => {
    const { model } = await host("expired");
    const contents = new Contents(() => Promise.resolve(model));
    await assert.rejects(contents.read({ folder: model.uri, hash: "1".repeat(40), file: "a" }), (error) => {
      assert.ok(error instanceof SnapdError);
      assert.equal(error.kind, "unknownSnapshot");
      return true;
    });
    model.dispose();
  });
});
