// The client passes the scenarios that every client passes, against the real daemon.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { type Method, type Params, type SnapdClient, SnapdError } from "../src/index.js";
import { CASES, type DocumentAction, filled, type Json, type Kept, misfit, SCENARIOS } from "./support/conformance.js";
import { type Folder, Place } from "./support/place.js";
import { Recorder } from "./support/recorder.js";
import { until } from "./support/until.js";

/** What the daemon answers, as a scenario describes it. */
async function ask(client: SnapdClient, method: string, params: Json): Promise<Json> {
  try {
    return { result: (await client.request(method as Method, params as unknown as Params<Method>)) as unknown as Json };
  } catch (error) {
    if (!(error instanceof SnapdError)) throw error;
    return { error: JSON.parse(JSON.stringify({ code: error.code, kind: error.kind, data: error.data })) as Json };
  }
}

/** The texts of open documents. */
class Editor {
  readonly #texts = new Map<string, string>();
  #version = 0;

  constructor(
    readonly client: SnapdClient,
    readonly folder: Folder,
  ) {}

  async act({ document, file, text }: DocumentAction): Promise<void> {
    const uri = this.folder.fileUri(file);
    const { documents } = this.client;
    this.#version += 1;
    if (document === "open") {
      const found = await this.folder.read(file);
      this.#texts.set(file, found);
      documents.didOpen(uri, "text", this.#version, found);
    } else if (document === "change") {
      this.#texts.set(file, text ?? "");
      documents.didChange(uri, this.#version, text ?? "");
    } else if (document === "save") {
      await this.folder.write(file, this.#texts.get(file) ?? "");
      documents.didSave(uri);
    } else {
      documents.didClose(uri);
    }
  }
}

async function write(folder: Folder, files: Record<string, string | null>): Promise<void> {
  for (const [file, text] of Object.entries(files)) {
    const path = join(folder.path, file);
    await mkdir(dirname(path), { recursive: true });
    await (text === null ? rm(path) : folder.write(file, text));
  }
}

void test("what fits a pattern", () => {
  for (const { pattern, value, fits } of CASES) {
    assert.equal(misfit(pattern, value, new Map()) === undefined, fits, JSON.stringify({ pattern, value }));
  }
});

void test("the scenarios", async (t) => {
  const place = await Place.make(t);
  for (const [number, { list, scenario }] of SCENARIOS.entries()) {
    await t.test(`${list}: ${scenario.name}`, async () => {
      const folder = await place.folder(`c${String(number)}`);
      await write(folder, scenario.files ?? {});
      const outside = join(place.root, `outside${String(number)}`);
      await mkdir(outside);
      const kept: Kept = new Map([
        ["folder", folder.path],
        ["folderUri", folder.uri],
        ["outside", outside],
        ["outsideFile", join(outside, "file")],
      ]);
      const client = await place.client([folder]);
      const { records } = new Recorder(client);
      const editor = new Editor(client, folder);
      let handled = 0;
      for (const [at, action] of scenario.actions.entries()) {
        const here = `action ${String(at)}: ${JSON.stringify(action)}`;
        if ("request" in action) {
          const { request, params, ...wanted } = action;
          assert.equal(misfit(wanted as Json, await ask(client, request, filled(params, kept)), kept), undefined, here);
        } else if ("write" in action) {
          await write(folder, action.write);
        } else if ("holds" in action) {
          for (const [file, text] of Object.entries(action.holds)) {
            const found = existsSync(join(folder.path, file)) ? await folder.read(file) : null;
            assert.equal(found, text, here);
          }
        } else if ("notification" in action) {
          const { notification, params } = action;
          await until(() => {
            while (handled < records.length) {
              const record = records[handled];
              handled += 1;
              if (record?.method !== notification || !("params" in record)) continue;
              if (misfit(params, record.params as unknown as Json, kept) === undefined) return true;
            }
            return false;
          }, here);
        } else {
          await editor.act(action);
        }
      }
      await client.close();
    });
  }
});
