/** All that a scenario needs: a world, an editor that shows it, and hands to use it with. */
import fs from "node:fs";
import path from "node:path";
import { Agent } from "./agent.mjs";
import { Browser } from "./browser.mjs";
import { Editor } from "./editor.mjs";
import { DiffEditor, MultiDiffEditor, TextEditor } from "./editors.mjs";
import { TreeView } from "./tree-view.mjs";
import { until } from "./waiting.mjs";
import { Workbench } from "./workbench.mjs";
import { World } from "./world.mjs";

/** How much of the logs a failure shows, in lines. */
const TOLD = 120;

/** What the extension logs when it has looked for snapd, and when the settings named none. */
const LOOKED = /snapd \S+ is used|no snapd was found/;
const UNSET = /setting snapd\.path: not set/;

/** Ignored by git, and so no part of any snapshot. */
const PROBE = "watched.tmp";
const PROBE_EVERY = 1_000;

/** Wide enough for what stands beside the name of a step. */
const SIDE_BAR = 440;

/**
 * @typedef {object} Options
 * @property {string} vsix The packaged extension.
 * @property {string} snapd The program.
 * @property {string} shots The folder of the pictures.
 */

/**
 * How a stage of its own differs from the usual one.
 *
 * @typedef {object} Setting
 * @property {boolean} [untrusted] Nobody has trusted the folder.
 * @property {boolean} [alone] There is no snapd but the one inside the extension.
 * @property {boolean} [small] The window is small, and the screen has four points for each of the page.
 * @property {string[]} [folders] More folders of the same window.
 * @property {string} [within] The window shows this folder of the project, and not all of it.
 */

export class Stage {
  /**
   * @param {World} world
   * @param {Editor} editor
   * @param {Browser} browser
   * @param {string} shots
   */
  constructor(world, editor, browser, shots) {
    this.world = world;
    this.editor = editor;
    this.browser = browser;
    this.shots = shots;
    this.workbench = new Workbench(browser.page);
    this.pending = new TreeView(this.workbench, "Pending");
    this.steps = new TreeView(this.workbench, "Steps");
    this.timeline = new TreeView(this.workbench, "File Timeline");
    this.text = new TextEditor(this.workbench);
    this.diff = new DiffEditor(this.workbench);
    this.multiDiff = new MultiDiffEditor(this.workbench);
  }

  /**
   * Starts everything in a new world.
   *
   * @param {Options} options
   * @param {Setting} setting
   */
  static async start({ vsix, snapd, shots }, setting) {
    const world = new World(setting.alone === true ? undefined : snapd);
    /** @type {Stage | undefined} */
    let stage;
    try {
      // there before the editor is, which may not yet hear of a file that comes while it lists the others
      const probe = path.join(setting.within ?? "", PROBE);
      world.write(probe, "0");
      const editor = await Editor.start(world, vsix, setting);
      stage = new Stage(world, editor, await Browser.open(world, editor, setting.small), shots);
      if (setting.untrusted !== true) {
        if (setting.alone !== true) {
          await stage.#hasSettings();
        }
        await stage.#seesTheDisk(probe);
        await stage.steps.open();
        await stage.workbench.widenSideBar(SIDE_BAR);
      }
      return stage;
    } catch (error) {
      await stage?.keepTraces("start");
      await world.end();
      throw error;
    }
  }

  /**
   * Starts an agent of this world.
   *
   * @param {string} title Of its session.
   * @param {string} agent
   * @param {string} folder Where it works.
   */
  agent(title, agent = "claude", folder = this.world.project) {
    return Agent.start(this.world, { agent, title }, folder);
  }

  /**
   * The row of a step, below its session's.
   *
   * @param {string} session
   * @param {string} description
   */
  async stepRow(session, description) {
    await this.steps.unfold(this.steps.row(session));
    const row = this.steps.row(description);
    await this.steps.reveal(row);
    return row;
  }

  /**
   * The row of a file that a step changed.
   *
   * @param {string} session
   * @param {string} description
   * @param {string} file
   */
  async fileRow(session, description, file) {
    return this.steps.fileOf(await this.stepRow(session, description), file);
  }

  /** Puts away what the scenario before left open. */
  async clear() {
    await this.workbench.clearNotifications();
    await this.workbench.closeEditors();
    await this.steps.open();
  }

  /**
   * Takes a picture of the whole page.
   *
   * @param {string} name
   * @param {{ x: number, y: number, width: number, height: number }} [clip] Only this part of it.
   */
  async shot(name, clip) {
    // a pointer on a row would show its buttons and, after a while, a hint
    const { width, height } = /** @type {{ width: number, height: number }} */ (this.browser.page.viewportSize());
    await this.browser.page.mouse.move(width / 2, height - 1);
    await until("no hint is shown", async () => (await this.workbench.hints.count()) === 0);
    const file = path.join(this.shots, `${name}.png`);
    await this.browser.page.screenshot({ path: file, animations: "disabled", ...(clip && { clip }) });
  }

  /**
   * Keeps what may tell why a scenario failed, and prints the end of it: where nobody sees the files, that is all.
   *
   * @param {string} name
   */
  async keepTraces(name) {
    const logs = this.editor.logs();
    fs.writeFileSync(path.join(this.shots, `failed-${name}.log`), logs);
    console.log(logs.trimEnd().split("\n").slice(-TOLD).join("\n"));
    console.log(`--- the texts\n${(await this.browser.page.locator(".monaco-editor").allInnerTexts()).join("\n")}`);
    console.log(`--- the view Steps\n${(await this.steps.drawn()).join("\n")}`);
    await this.browser.page.screenshot({ path: path.join(this.shots, `failed-${name}.png`) });
    console.log(`--- notifications\n${(await this.workbench.toldBefore()).join("\n")}`);
  }

  end() {
    return this.world.end();
  }

  /** A window now and then opens without the settings of its user, and does not look for them again. */
  async #hasSettings() {
    const logs = await until("snapd is looked for", () => {
      const told = this.editor.logs();
      return LOOKED.test(told) ? told : "";
    });
    if (UNSET.test(logs)) {
      await this.browser.page.reload();
      await this.browser.page.locator(".monaco-workbench").waitFor();
    }
  }

  /**
   * Waits until the page hears of what is written to the disk. It is deaf to it for a while after it was loaded, so
   * each write is another one.
   *
   * @param {string} probe The file, in the project.
   */
  async #seesTheDisk(probe) {
    await this.text.open(PROBE);
    let written = 0;
    let last = performance.now();
    await until("the editor sees a write", async () => {
      if (performance.now() - last > PROBE_EVERY) {
        written += 1;
        last = performance.now();
        this.world.write(probe, String(written));
      }
      return written > 0 && (await this.text.lines()).join() === String(written);
    });
    await this.workbench.closeEditors();
    fs.rmSync(path.join(this.world.project, probe));
  }
}
