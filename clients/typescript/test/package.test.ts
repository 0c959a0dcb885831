// The package as others get it: both kinds of module, and the example.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { delimiter, dirname, resolve } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { Place, SNAPD } from "./support/place.js";

const run = promisify(execFile);
const NAMES = ["SnapdClient", "SnapdError", "ConnectError", "ConnectionLostError", "PROTOCOL_VERSION", "ERROR_CODES"];

void test("it can be imported and required", async () => {
  const show = `console.log(JSON.stringify(${JSON.stringify(NAMES)}.map((name) => typeof client[name])))`;
  const expected = ["function", "function", "function", "function", "number", "object"];
  for (const [type, load] of [
    ["module", `import * as client from "@snapd/client"; `],
    ["commonjs", `const client = require("@snapd/client"); `],
  ] as const) {
    const { stdout } = await run(process.execPath, [`--input-type=${type}`, "-e", load + show]);
    assert.deepEqual(JSON.parse(stdout), expected, type);
  }
});

void test("both kinds have types", async () => {
  for (const kind of ["esm", "cjs"]) {
    assert.match(await readFile(`dist/${kind}/index.d.ts`, "utf8"), /SnapdClient/);
  }
});

void test("its version is that of the daemon", async () => {
  const { version } = JSON.parse(await readFile("package.json", "utf8")) as { version: string };
  const { stdout } = await run(SNAPD, ["--version"]);
  assert.ok(stdout.trim().endsWith(version));
});

void test("the example of the README does what it says", async (t) => {
  const example = await readFile("examples/undo.mjs", "utf8");
  assert.ok((await readFile("README.md", "utf8")).includes(`\`\`\`js\n${example}\`\`\``));
  const place = await Place.make(t);
  const folder = await place.folder("w");
  const env = { ...place.env, PATH: `${dirname(resolve(SNAPD))}${delimiter}${process.env["PATH"] ?? ""}` };
  const { stdout } = await run(process.execPath, [resolve("examples/undo.mjs")], { cwd: folder.path, env });
  assert.match(stdout, /^Write: hello\.txt$/m);
  assert.match(stdout, /\{ file: 'hello\.txt', outcome: 'deleted' \}/);
});
