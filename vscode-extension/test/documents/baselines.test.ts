import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { type PendingFile, type ReviewFileResult, SnapdError } from "@snapd/client";
import { FakeConnection } from "../model/fakeConnection";
import { step, stepEntry } from "../model/making";
import { Baselines, baselinePlace } from "../../src/documents/baselines";
import type { FolderModel } from "../../src/model/folder";
import { documentUri, nameNow, placeOf } from "../../src/documents/uris";

const FOLDER = "file:///work/app";

type Pending = Parameters<typeof baselinePlace>[1];

/** A folder in which a file may have pending changes. */
class Folder {
  found: Partial<ReviewFileResult> | undefined;
  readonly #listeners = new Set<() => void>();

  readonly connection = new FakeConnection();
  readonly request: FolderModel["request"] = (method, params) => this.connection.request(method, params as never);

  constructor(readonly uri = FOLDER) {}

  readonly review = {
    isComplete: true,
    file: () => Promise.resolve(this.found as ReviewFileResult | undefined),
    files: [] as PendingFile[],
    onDidChange: (listener: () => void) => {
      this.#listeners.add(listener);
      return { dispose: () => this.#listeners.delete(listener) };
    },
  };

  /** The daemon tells that this is pending. */
  becomes(found: Partial<ReviewFileResult> | undefined): void {
    this.found = found;
    this.review.files = found === undefined ? [] : [found as unknown as PendingFile];
    for (const listener of this.#listeners) listener();
  }
  get listeners(): number {
    return this.#listeners.size;
  }
}

function opened(folder: Folder) {
  const baselines = new Baselines(() => Promise.resolve(folder));
  const changed: (string | undefined)[] = [];
  baselines.onDidChange((uris) => changed.push(...uris.map((uri) => placeOf(uri)?.file)));
  const read = async (file: Pending = { file: "a.txt" }) => {
    const { bytes, version } = await baselines.read(baselinePlace(folder.uri, file));
    return { text: Buffer.from(bytes).toString("latin1"), version };
  };
  return { baselines, changed: changed, read };
}

describe("Baselines", () => {
  it("are named by a URI of their own", () => {
    const place = baselinePlace(FOLDER, { file: "ä/b.txt" });
    assert.deepEqual(placeOf(documentUri(place)), place);
  });

  it("of moved files have the old name, and know the new one", () => {
    const place = baselinePlace(FOLDER, { file: "b/new.txt", renamedFrom: "a/old.txt" });
    assert.deepEqual([place.file, nameNow(place)], ["a/old.txt", "b/new.txt"]);
    assert.match(documentUri(place), /\/work\/app\/a\/old\.txt\?/);
    assert.deepEqual(placeOf(documentUri(place)), place);
  });

  it("are what pending changes are compared with, byte for byte", async () => {
    const folder = new Folder();
    const { read } = opened(folder);
    folder.becomes({ file: "a.txt", id: "1", before: "\u00ff\n", after: "x", encoding: "latin-1" });
    assert.equal((await read()).text, "\u00ff\n");
  });

  it("tell when they may be others, and have a larger version only where they are", async () => {
    const folder = new Folder();
    const { read, changed: changed } = opened(folder);
    folder.becomes({ file: "a.txt", id: "1", before: "one\n" });
    const first = await read();
    folder.becomes({ file: "a.txt", id: "1", before: "one\n" });
    assert.deepEqual(changed, []);
    folder.becomes({ file: "a.txt", id: "2", before: "one\n" });
    assert.deepEqual(changed, ["a.txt"]);
    assert.deepEqual(await read(), first);
    folder.becomes({ file: "a.txt", id: "3", before: "two\n" });
    const second = await read();
    assert.equal(second.text, "two\n");
    assert.ok(second.version > first.version);
  });

  it("are the file itself once nothing is pending in it", async (context) => {
    const root = mkdtempSync(path.join(os.tmpdir(), "baselines-"));
    context.after(() => {
      rmSync(root, { recursive: true });
    });
    const folder = new Folder(pathToFileURL(root).href);
    const { read, changed: changed } = opened(folder);
    folder.becomes({ file: "a.txt", id: "1", before: "one\n" });
    await read();
    writeFileSync(path.join(root, "a.txt"), "now\n");
    folder.becomes(undefined);
    assert.equal((await read()).text, "now\n");
    writeFileSync(path.join(root, "a.txt"), "later\n");
    folder.becomes(undefined);
    assert.deepEqual(changed, ["a.txt", "a.txt"]);
    assert.equal((await read()).text, "later\n");
    assert.equal((await read({ file: "gone.txt" })).text, "");
  });

  it("of what is no text are looked for once, as long as nothing else is pending", async () => {
    const folder = new Folder();
    const { read } = opened(folder);
    const content = Buffer.from([0, 255, 1]).toString("base64");
    const diff = "index 1234567..046f393 100644\n";
    folder.connection.answers.set("review/revert", () => ({ details: { diff } }));
    folder.connection.answers.set("session/history", () => ({ entries: [stepEntry(step("a", 1))] }));
    folder.connection.answers.set("snapshot/fileAt", () => ({ encoding: "base64", content }));
    for (const more of [{ binary: true }, { tooLarge: true as const }, { newMode: "120000" }]) {
      folder.becomes({ file: "a.txt", id: JSON.stringify(more), before: "", ...more });
      assert.equal((await read()).text, "\0\u00ff\u0001");
      await read();
    }
    assert.equal(folder.connection.count("snapshot/fileAt"), 3);
  });

  it("that no snapshot has any more are refused", async () => {
    const folder = new Folder();
    const { read } = opened(folder);
    folder.becomes({ file: "a.png", id: "1", before: "", binary: true });
    folder.connection.answers.set("review/revert", () => ({ details: { diff: "index 1234567..c9e9ae1 100644\n" } }));
    folder.connection.answers.set("session/history", () => ({ entries: [stepEntry(step("a", 1))] }));
    folder.connection.answers.set("snapshot/list", () => ({ snapshots: [] }));
    folder.connection.answers.set("snapshot/fileAt", () => {
      throw new SnapdError("it has expired", 1001, { kind: "unknownSnapshot" });
    });
    await assert.rejects(read({ file: "a.png" }), /No snapshot has a\.png as it was before/);
  });

  it("listen no more once they are disposed", async () => {
    const folder = new Folder();
    const { baselines, read } = opened(folder);
    folder.becomes({ file: "a.txt", id: "1", before: "one\n" });
    await read();
    assert.equal(folder.listeners, 1);
    baselines.dispose();
    assert.equal(folder.listeners, 0);
  });
});
