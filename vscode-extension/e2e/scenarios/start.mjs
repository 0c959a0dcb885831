/** From the extension alone, on a computer without snapd, to the first step that is undone. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { HookedAgent } from "../hooked-agent.mjs";
import { until, untilEqual } from "../waiting.mjs";
import { replaced } from "./texts.mjs";

/** @typedef {import("../stage.mjs").Stage} Stage */

/** The steps of the walkthrough, each with what its picture shows. */
const WALKTHROUGH = {
  "Open the view": "The view Agent Steps",
  "Connect your agents": "A list of agents",
  "See a step": "A file before and after",
  "Undo it": "A notification",
  "Review what is left": "Pending hunks",
};

/** @type {import("./index.mjs").Scenario[]} */
export const START = [
  {
    name: "nothing-else-installed",
    setting: { alone: true },
    async run(stage) {
      const { steps, workbench, world } = stage;
      await steps.welcome.filter({ hasText: "No agent has worked here yet" }).waitFor();
      await steps.welcome.getByRole("button", { name: "Connect Agents" }).waitFor();
      await workbench.statusIs("Snapd");
      await stage.shot("welcome");

      await workbench.run("Welcome: Open Walkthrough...");
      await workbench.pick("Get Started with Agent Steps");
      const walkthrough = stage.browser.page.locator(".gettingStartedContainer");
      for (const [title, picture] of Object.entries(WALKTHROUGH)) {
        await unfoldEntry(walkthrough, title);
        const drawn = walkthrough.getByRole("img", { name: picture });
        await until(`there is a picture of ${picture}`, () => drawn.evaluate(widthOf));
        await stage.shot(`walkthrough-${title.toLowerCase().replaceAll(" ", "-")}`);
      }
      await unfoldEntry(walkthrough, "Connect your agents");
      const hooks = await connectClaude(stage, () =>
        walkthrough.getByRole("button", { name: "Connect Agents" }).click(),
      );
      await workbench.closeEditors();
      // the program that the hooks name outlives an update, which deletes the folder of the extension
      const folders = fs.readdirSync(path.join(world.root, "extensions")).filter((name) => name.startsWith("snapd."));
      assert.equal(folders.length, 1);
      fs.rmSync(path.join(world.root, "extensions", `${folders[0]}`, "bundled"), { recursive: true });
      const hook = hooks.PreToolUse[0].hooks[0].command;
      assert.match(hook, new RegExp(` exec ${world.snapd} hook$`));

      const before = world.read("basket.py");
      const call = { session_id: "s", tool_name: "Bash", tool_use_id: "t", tool_input: { command: "make it worse" } };
      /** @param {string} event */
      const report = (event) =>
        execFileSync("sh", ["-c", hook], {
          cwd: world.project,
          env: { ...world.environment(), SNAPD_HOOK_SECONDS: "60" },
          input: JSON.stringify({ ...call, hook_event_name: event, cwd: world.project }),
        });
      report("PreToolUse");
      world.write("basket.py", "gone\n");
      report("PostToolUse");
      const row = steps.row("make it worse");
      await until("the step is shown", async () => {
        await steps.unfold(steps.rows.first());
        return row.isVisible();
      });
      await steps.press(row, "Undo This Step");
      await workbench.told(/Undid step 1/);
      await untilEqual("basket.py", () => world.read("basket.py"), before);
      await stage.shot("nothing-else-installed");

      await workbench.clearNotifications();
      await workbench.run("Terminal: Create New Terminal");
      await stage.browser.page.locator(".terminal.xterm").waitFor();
      await stage.browser.page.keyboard.type("snapd log --oneline > log.tmp; echo done > done.tmp\n");
      await until("a terminal knows the command", () => world.exists("done.tmp"));
      assert.match(world.read("log.tmp"), /make it worse/);
      await workbench.closePanel();
    },
  },
  {
    name: "walkthrough",
    setting: { alone: true, small: true },
    async run(stage) {
      const { diff, steps, text, workbench, world } = stage;
      world.write(".git/info/exclude", ".vscode/\n");
      /**
       * @param {string} name
       * @param {() => Promise<{ x: number, y: number, width: number, height: number }>} clip
       */
      const inBothThemes = async (name, clip) => {
        for (const theme of ["Light", "Dark"]) {
          const settings = {
            "workbench.colorTheme": `Default ${theme} Modern`,
            "diffEditor.renderSideBySide": false,
          };
          world.write(".vscode/settings.json", JSON.stringify(settings));
          await stage.browser.page.locator(`.monaco-workbench.${theme === "Dark" ? "vs-dark" : "vs"}`).waitFor();
          await stage.shot(`${name}-${theme.toLowerCase()}`, await clip());
        }
      };

      fs.mkdirSync(path.join(world.home, ".codex"));
      await connectClaude(stage, async () => {
        await workbench.run("Snapd: Connect Agents...");
        await workbench.quickInput.getByText("Claude Code").waitFor();
        await inBothThemes("connect", () => around(workbench.quickInput, 260));
      });
      await workbench.clearNotifications();

      const basket = world.read("basket.py");
      const cheaper = replaced(
        basket,
        "def discount(amount):\n    return amount\n",
        "def discount(amount, items):\n    # 5 % off from ten items on\n    return amount * 0.95 if items >= 10 else amount\n",
      );
      const shown = replaced(cheaper, "    return str(amount)", '    return f"{amount:.2f} EUR"');
      const claude = new HookedAgent(world, "discounts");
      claude.prompt("Make ten items cheaper");
      claude.edit("basket.py", cheaper);
      claude.edit("docs/discounts.md", "# Discounts\n\nTen items or more: 5 % off.\n");
      claude.stop();
      await (await stage.agent("Prices in euro", "codex")).step("Show prices in euro", { "basket.py": shown });
      await stage.stepRow("Prices in euro", "Show prices in euro");
      await steps.unfold(steps.row("Show prices in euro"));
      await inBothThemes("view", () => around(steps.pane, 250));

      await steps.click(await stage.fileRow("Prices in euro", "Show prices in euro", "basket.py"));
      await diff.after.locator(".view-line", { hasText: "EUR" }).waitFor();
      const editors = stage.browser.page.locator(".part.editor");
      await inBothThemes("step", () => around(editors, 400));

      await workbench.closeEditors();
      await text.open("basket.py");
      await steps.open();
      await steps.press(steps.row("Show prices in euro"), "Undo This Step");
      await workbench.told(/Undid step/);
      await text.shows(cheaper);
      await untilEqual("the hunks of codex", () => text.lenses("Claude Code, Codex").count(), 0);
      const { width, height } = await around(stage.browser.page.locator("body"));
      const { y } = await around(steps.pane);
      await inBothThemes("undo", async () => ({ x: 0, y, width, height: height - y }));

      await workbench.clearNotifications();
      await untilEqual("the hunks", () => text.lenses("Keep").count(), 1);
      await inBothThemes("review", () => around(editors, 400));
    },
  },
];

/**
 * Connects Claude Code, and gives the hooks that are in its settings then.
 *
 * @param {Stage} stage
 * @param {() => Promise<void>} open Opens the list of agents.
 */
async function connectClaude({ workbench, world }, open) {
  fs.mkdirSync(path.join(world.home, ".claude"));
  await open();
  const row = workbench.quickInput.locator(".monaco-list-row", { hasText: "Claude Code" });
  await row.locator("input[type=checkbox]:checked, .monaco-checkbox.checked").first().waitFor();
  await workbench.quickInput.getByRole("button", { name: "OK" }).click();
  assert.match(await workbench.told(/^Connected/), /Claude Code/);
  return JSON.parse(fs.readFileSync(path.join(world.home, ".claude/settings.json"), "utf8")).hooks;
}

/**
 * The part of the page where something is, from its top.
 *
 * @param {import("playwright-core").Locator} place
 * @param {number} [height]
 */
async function around(place, height) {
  const box = /** @type {{ x: number, y: number, width: number, height: number }} */ (await place.boundingBox());
  return { ...box, height: height ?? box.height };
}

/**
 * Unfolds an entry of a walkthrough: a click while the page still moves is lost.
 *
 * @param {import("playwright-core").Locator} walkthrough
 * @param {string} title
 */
async function unfoldEntry(walkthrough, title) {
  const entry = walkthrough.getByRole("button", { name: title }).first();
  await until(`${title} is unfolded`, async () => {
    if ((await entry.getAttribute("aria-expanded")) === "true") return true;
    await entry.click();
    return false;
  });
}

/** @param {Element} picture */
function widthOf(picture) {
  return /** @type {HTMLImageElement} */ (picture).naturalWidth;
}
