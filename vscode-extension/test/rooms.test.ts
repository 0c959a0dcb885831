// The rooms of the extension, and the directions in which they know each other: what docs/architecture.md promises.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";

// what each room may know besides itself
const KNOWN: Readonly<Record<string, readonly string[]>> = {
  model: [],
  acting: ["model"],
  daemon: ["model", "settings"],
  documents: ["model"],
  views: ["documents", "model"],
  review: ["documents", "model"],
  blame: ["documents", "model", "settings"],
  commands: ["acting", "daemon", "documents", "model", "review", "views"],
  settings: [],
  extension: ["blame", "commands", "daemon", "documents", "model", "review", "settings", "views"],
};
const WITHOUT_EDITOR = ["acting", "model", "settings"];

function files(): readonly string[] {
  return readdirSync("src", { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
}

function imports(file: string): readonly string[] {
  const text = readFileSync(path.join("src", file), "utf8");
  return [...text.matchAll(/(?:from|import\()\s*"([^"]+)"/g)].map(([, name]) => name ?? "");
}

function roomOf(file: string): string {
  return path.normalize(file).split(path.sep)[0]?.replace(/\.ts$/, "") ?? "";
}

describe("rooms", () => {
  for (const file of files()) {
    it(`${file} knows only what its room may`, () => {
      const room = roomOf(file);
      const own = KNOWN[room];
      assert.ok(own, `${room} is no room`);
      for (const name of imports(file)) {
        if (name === "vscode") assert.ok(!WITHOUT_EDITOR.includes(room), `${room} does without VS Code`);
        if (!name.startsWith(".")) continue;
        const other = roomOf(path.join(path.dirname(file), name));
        assert.ok(other === room || own.includes(other), `${room} knows nothing of ${other}`);
      }
    });
  }
});
