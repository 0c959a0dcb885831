/** All that a scenario needs: a world, the server, a browser that shows the page, and hands to use it with. */
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { World } from "../../../vscode-extension/e2e/world.mjs";
import { ScriptedAgent } from "./agents.mjs";
import { Browser } from "./browser.mjs";
import { Server } from "./server.mjs";

/** @typedef {import("playwright-core").Page} Page */

/** @typedef {{ readOnly?: boolean, startsToday?: boolean }} Setting `startsToday`: the page stays where it begins. */

const AXE = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export class Stage {
  /**
   * @param {World} world
   * @param {Server} server
   * @param {Browser} browser
   * @param {Page} page
   * @param {string} shots
   */
  constructor(world, server, browser, page, shots) {
    this.world = world;
    this.server = server;
    this.browser = browser;
    this.page = page;
    this.shots = shots;
  }

  /**
   * Starts everything in a new world, and opens the page.
   *
   * @param {{ snapd: string, shots: string }} options
   * @param {Setting} setting
   */
  static async start({ snapd, shots }, setting) {
    const world = new World(snapd);
    try {
      const server = await Server.start(world, setting);
      const browser = await Browser.start(world);
      const page = await browser.open(server.url);
      await page.locator(".page").waitFor();
      const stage = new Stage(world, server, browser, page, shots);
      if (!setting.startsToday) await stage.goTo("#/all");
      return stage;
    } catch (error) {
      await world.end();
      throw error;
    }
  }

  /**
   * Starts an agent.
   *
   * @param {string} agent
   * @param {string} title Of its session.
   */
  agent(agent, title) {
    return ScriptedAgent.start(this.world, agent, title);
  }

  /**
   * Goes to a place of the page.
   *
   * @param {string} fragment
   */
  async goTo(fragment) {
    await this.page.evaluate((to) => {
      location.hash = to;
    }, fragment);
  }

  /**
   * A row of the list in the middle.
   *
   * @param {string | RegExp} text
   */
  row(text) {
    return this.page.locator(".timeline .row").filter({ hasText: text });
  }

  /**
   * The box of a file among the changes.
   *
   * @param {string} file
   */
  file(file) {
    return this.page.getByRole("article", { name: file, exact: true });
  }

  /**
   * The lines that the diff of a file shows, each with its sign.
   *
   * @param {string} file
   * @returns {Promise<string[]>}
   */
  async lines(file) {
    return this.file(file)
      .locator(".line .code")
      .evaluateAll((all) => all.map((one) => `${one.getAttribute("data-sign")}${one.textContent}`));
  }

  /**
   * Presses a button.
   *
   * @param {string} name
   * @param {import("playwright-core").Locator | Page} within
   */
  async press(name, within = this.page) {
    await within.getByRole("button", { name, exact: true }).click();
  }

  /** The dialog that shows a plan. */
  get dialog() {
    return this.page.getByRole("dialog");
  }

  /**
   * Sees the plan, and does it.
   *
   * @param {string} verb What its button says.
   */
  async carryOut(verb = "Undo") {
    await this.dialog.getByRole("button", { name: verb, exact: true }).click();
    await this.dialog.waitFor({ state: "detached" });
  }

  /** Fails if the page is hard to use for somebody, as far as a program can tell. */
  async checkAccess(page = this.page) {
    await page.evaluate(AXE);
    const found = await page.evaluate(async () => {
      // @ts-expect-error - axe is there by now
      const { violations } = await globalThis.axe.run(document, { resultTypes: ["violations"] });
      return violations.map((/** @type {any} */ one) => {
        const nodes = one.nodes.slice(0, 3).map((/** @type {any} */ node) => `${node.html} ${node.failureSummary}`);
        return `${one.id}: ${one.help}\n  ${nodes.join("\n  ")}`;
      });
    });
    if (found.length > 0) {
      throw new Error(`axe finds in ${await page.evaluate(() => location.hash)}:\n${found.join("\n")}`);
    }
  }

  /**
   * Takes a picture.
   *
   * @param {string} name
   */
  async shot(name, page = this.page) {
    await page.evaluate(() => document.fonts.ready);
    await page.screenshot({ path: path.join(this.shots, `${name}.png`) });
  }

  /**
   * Keeps what helps to find out why a scenario failed.
   *
   * @param {string} name
   */
  async keepTraces(name) {
    fs.writeFileSync(path.join(this.shots, `failed-${name}.log`), this.server.log);
    await this.shot(`failed-${name}`).catch((/** @type {Error} */ error) =>
      console.log(`no picture: ${error.message}`),
    );
  }

  async end() {
    await this.world.end();
  }
}
