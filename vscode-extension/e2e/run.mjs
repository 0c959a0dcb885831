/**
 * Runs the end-to-end tests: the packaged extension in a real editor, a real daemon, a real git folder.
 *
 *     node run.mjs --vsix FILE --shots DIR [--only NAME]... [--snapd FILE] [--publish]
 *
 * --publish copies the pictures that the extension shows, of the scenarios that were run, to its media folder.
 */
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { install } from "./install.mjs";
import { SCENARIOS } from "./scenarios/index.mjs";
import { Stage } from "./stage.mjs";

/** @typedef {import("./scenarios/index.mjs").Scenario} Scenario */

const EXTENSION = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
/** The pictures that are published, by scenario: of the README, and of the walkthrough. */
const PUBLISHED = {
  pictures: [
    "steps-view",
    "diff",
    "multi-diff",
    "review",
    "blame-line",
    "conflict",
    "undo-notification",
    "file-timeline",
  ].map((name) => `screenshots/${name}.png`),
  walkthrough: ["view", "connect", "step", "undo", "review"].flatMap((name) => [
    `walkthrough/${name}-dark.png`,
    `walkthrough/${name}-light.png`,
  ]),
};

const { values } = parseArgs({
  options: {
    vsix: { type: "string" },
    shots: { type: "string" },
    only: { type: "string", multiple: true },
    snapd: { type: "string", default: path.join(EXTENSION, "../.venv/bin/snapd") },
    publish: { type: "boolean", default: false },
  },
});
if (values.vsix === undefined || values.shots === undefined) {
  throw new Error("usage: node run.mjs --vsix FILE --shots DIR [--only NAME]... [--snapd FILE] [--publish]");
}
const options = {
  vsix: path.resolve(values.vsix),
  snapd: path.resolve(values.snapd),
  shots: path.resolve(values.shots),
};
const chosen = SCENARIOS.filter(({ name }) => values.only?.includes(name) ?? true);
const unknown = (values.only ?? []).filter((name) => !SCENARIOS.some((scenario) => scenario.name === name));
if (unknown.length > 0) {
  throw new Error(`no scenario is called ${unknown.join(", ")}; there are ${SCENARIOS.map((s) => s.name).join(", ")}`);
}

/** The editor that most scenarios share. */
/** @type {Stage | undefined} */
let shared;
/** @type {Set<string>} */
const foreignHosts = new Set();

/** @param {Stage} stage */
async function end(stage) {
  for (const host of stage.browser.foreignHosts) {
    foreignHosts.add(host);
  }
  await stage.end();
}

/**
 * The stage for a scenario: its own, or the shared one, put in order.
 *
 * @param {Scenario} scenario
 */
async function stageFor({ setting }) {
  if (setting !== undefined) {
    return Stage.start(options, setting);
  }
  shared ??= await Stage.start(options, {});
  await shared.clear();
  return shared;
}

/**
 * Runs one.
 *
 * @param {Scenario} scenario
 * @returns {Promise<boolean>} Whether it passed.
 */
async function play(scenario) {
  const start = performance.now();
  const seconds = () => ((performance.now() - start) / 1000).toFixed(1).padStart(5);
  /** @type {Stage | undefined} */
  let stage;
  try {
    stage = await stageFor(scenario);
    await scenario.run(stage);
    console.log(`ok   ${seconds()} s  ${scenario.name}`);
    if (stage !== shared) {
      await end(stage);
    }
    return true;
  } catch (error) {
    console.log(`FAIL ${seconds()} s  ${scenario.name}\n${/** @type {Error} */ (error).stack}`);
    // what a failure left behind must not reach the next scenario
    const broken = stage ?? shared;
    shared = broken === shared ? undefined : shared;
    if (broken !== undefined) {
      await broken.keepTraces(scenario.name);
      await end(broken);
    }
    return false;
  }
}

install();
fs.mkdirSync(options.shots, { recursive: true });
let failed = 0;
for (const scenario of chosen) {
  failed += (await play(scenario)) ? 0 : 1;
}
if (shared !== undefined) {
  await end(shared);
}
if (foreignHosts.size > 0) {
  console.log(`FAIL the page asked other hosts: ${[...foreignHosts].join(", ")}`);
  failed += 1;
}
console.log(`${chosen.length} scenarios, ${failed} failed`);
if (values.publish && failed === 0) {
  for (const [scenario, pictures] of Object.entries(PUBLISHED)) {
    if (!chosen.some(({ name }) => name === scenario)) {
      continue;
    }
    for (const picture of pictures) {
      const target = path.join(EXTENSION, "media", picture);
      fs.mkdirSync(path.dirname(target), { recursive: true });
      fs.copyFileSync(path.join(options.shots, path.basename(picture)), target);
    }
  }
}
process.exitCode = failed > 0 ? 1 : 0;
