/**
 * Runs the tests of the page in a real browser: the real `snapd web`, a real daemon, a real git folder, scripted agents.
 *
 *     node run.mjs --shots DIR [--only NAME]... [--snapd FILE] [--publish]
 *
 * --publish copies the pictures that the documentation shows to docs/pictures.
 */
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { installCommands } from "../../../vscode-extension/e2e/install.mjs";
import { SCENARIOS } from "./scenarios/index.mjs";
import { Stage } from "./stage.mjs";

const TOP = path.dirname(path.dirname(path.dirname(path.dirname(fileURLToPath(import.meta.url)))));
const PUBLISHED = ["web-today", "web-step", "web-step-dark", "web-review", "web-conflict", "web-versions"];

const { values } = parseArgs({
  options: {
    shots: { type: "string" },
    only: { type: "string", multiple: true },
    snapd: { type: "string", default: path.join(TOP, ".venv/bin/snapd") },
    publish: { type: "boolean", default: false },
  },
});
if (values.shots === undefined) {
  throw new Error("usage: node run.mjs --shots DIR [--only NAME]... [--snapd FILE] [--publish]");
}
const options = { snapd: path.resolve(values.snapd), shots: path.resolve(values.shots) };
const unknown = (values.only ?? []).filter((name) => !SCENARIOS.some((scenario) => scenario.name === name));
if (unknown.length > 0) {
  throw new Error(`no scenario is called ${unknown.join(", ")}; there are ${SCENARIOS.map((s) => s.name).join(", ")}`);
}
const chosen = SCENARIOS.filter(({ name }) => values.only?.includes(name) ?? true);

/**
 * @param {import("./scenarios/index.mjs").Scenario} scenario
 * @returns {Promise<boolean>} Whether it passed.
 */
async function play({ name, setting = {}, run }) {
  const start = performance.now();
  const seconds = () => ((performance.now() - start) / 1000).toFixed(1).padStart(5);
  /** @type {Stage | undefined} */
  let stage;
  try {
    stage = await Stage.start(options, setting);
    await run(stage);
    stage.browser.check();
    console.log(`ok   ${seconds()} s  ${name}`);
    return true;
  } catch (error) {
    console.log(`FAIL ${seconds()} s  ${name}\n${/** @type {Error} */ (error).stack}`);
    await stage?.keepTraces(name);
    return false;
  } finally {
    await stage?.end();
  }
}

installCommands(["chromium", "git"]);
fs.mkdirSync(options.shots, { recursive: true });
let failed = 0;
for (const scenario of chosen) {
  failed += (await play(scenario)) ? 0 : 1;
}
console.log(`${chosen.length} scenarios, ${failed} failed`);
if (values.publish && failed === 0) {
  for (const name of PUBLISHED) {
    fs.copyFileSync(path.join(options.shots, `${name}.png`), path.join(TOP, "docs/pictures", `${name}.png`));
  }
}
process.exitCode = failed > 0 ? 1 : 0;
