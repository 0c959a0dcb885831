/** What agents left pending: many files, files of all kinds, without a pointer, and in high contrast. */
import assert from "node:assert/strict";
import { PICTURE_SIDE, picture } from "../picture.mjs";
import { until, untilEqual, untilMatches } from "../waiting.mjs";
import { LIST, LONG, SETTINGS, withLine } from "./texts.mjs";

const MANY = 200;

/** @type {import("./index.mjs").Scenario[]} */
export const PENDING = [
  {
    name: "review-all",
    setting: {},
    async run(stage) {
      const { browser, diff, multiDiff, pending, workbench, world } = stage;
      const logo = picture([214, 48, 49], [255, 255, 255]);
      const changed = withLine(LIST, "beta", "Beta");
      world.write("changed.txt", LIST);
      world.write("old.txt", LIST);
      world.write("gone.txt", "gone\n");
      const agent = await stage.agent("All kinds");
      await agent.step("Do everything", {
        "changed.txt": changed,
        "gone.txt": null,
        "new.txt": "new\n",
        "old.txt": null,
        "moved/now.txt": withLine(LIST, "kappa", "Kappa"),
        "assets/logo.png": logo,
      });
      await stage.steps.open();
      await untilEqual("the files", () => pending.labelsAt(1), [
        "logo.png",
        "changed.txt",
        "gone.txt",
        "now.txt",
        "new.txt",
      ]);
      await pending.row("now.txt").filter({ hasText: "← old.txt" }).waitFor();

      await pending.pressTitle("Review All");
      await workbench.told("1 file has no changed lines to show.");
      await multiDiff.shows({
        "changed.txt": [LIST, changed],
        "now.txt": [LIST, withLine(LIST, "kappa", "Kappa")],
        "gone.txt": ["gone\n", ""],
        "new.txt": ["", "new\n"],
      });
      await untilEqual("one was renamed", async () => (await multiDiff.renames()).length, 1);
      await workbench.clearNotifications();
      await stage.shot("review-all");

      await workbench.closeEditors();
      await pending.click(pending.row("now.txt"));
      await diff.shows(LIST, withLine(LIST, "kappa", "Kappa"));
      await workbench.activeTab.filter({ hasText: "now.txt (was old.txt, pending)" }).waitFor();
      await stage.shot("review-renamed");

      await workbench.closeEditors();
      await pending.click(pending.row("logo.png"));
      await workbench.activeTab.filter({ hasText: "logo.png (pending)" }).waitFor();
      await untilEqual("both pictures are drawn", () => browser.pictures(), [PICTURE_SIDE, PICTURE_SIDE]);
      await stage.shot("review-image");

      await pending.press(pending.row("logo.png"), "Undo File");
      await workbench.told(/Undid the pending changes of assets\/logo\.png/);
      await pending.row("logo.png").waitFor({ state: "detached" });
    },
  },
  {
    name: "review-200-files",
    setting: {},
    async run(stage) {
      const { browser, pending, text, workbench, world } = stage;
      world.write("mine.txt", "");
      const agent = await stage.agent("Many files");
      await text.open("mine.txt");
      await stage.steps.open();
      await text.editor.locator(".view-lines").click();
      const names = Array.from({ length: MANY }, (_, at) => `many/file-${String(at).padStart(3, "0")}.txt`);
      const step = await agent.begin("Write many files");
      const typed = [];
      for (const [at, name] of names.entries()) {
        await agent.write({ [name]: `${at}\n` });
        if (at % 4 === 0) {
          // whatever comes into the view, the keys go on to the editor
          await browser.page.keyboard.type("x");
          typed.push("x");
        }
      }
      await agent.end(step);
      await untilEqual("the badge", () => workbench.badgeOf("Agent Steps"), String(MANY));
      await pending.row("file-000.txt").waitFor();
      await browser.page.keyboard.type(" and on");
      await untilEqual("what was typed", () => text.lines(), [`${typed.join("")} and on`]);
      await text.editor.and(browser.page.locator(".focused")).waitFor();
      await stage.shot("review-200");

      await pending.pressTitle("Keep All...");
      assert.match(await workbench.question(), new RegExp(`Keep all pending changes of ${MANY} files\\?`));
      await workbench.answer("Keep All");
      await pending.welcome.filter({ hasText: "Nothing is pending" }).waitFor();
      await untilEqual("no badge", () => workbench.badgeOf("Agent Steps"), "");
      assert.equal(world.read("many/file-199.txt"), "199\n");
    },
  },
  {
    name: "review-by-keys",
    setting: {},
    async run(stage) {
      const { diff, pending, text, workbench, world } = stage;
      const { keyboard } = stage.browser.page;
      world.write("keys.txt", LONG);
      const agent = await stage.agent("By keys");
      const three = ["line 3", "line 15", "line 27"].reduce(
        (all, line) => withLine(all, line, line.toUpperCase()),
        LONG,
      );
      await agent.step("Shout three times", { "keys.txt": three, "sub/other.txt": "other\n" });
      await text.open("keys.txt");
      await untilEqual("the hunks", () => text.lenses("Keep").count(), 3);
      await keyboard.press("Control+Home");
      for (const [keys, line] of [
        ["Alt+F5", 3],
        ["Alt+F5", 15],
        ["Alt+F5", 27],
        ["Alt+F5", 3],
        ["Shift+Alt+F5", 27],
        ["Shift+Alt+F5", 15],
      ]) {
        await keyboard.press(String(keys));
        await text.isAt(Number(line));
      }
      await keyboard.press("Control+Alt+k");
      await untilEqual("the hunks but the one that is kept", () => text.lenses("Keep").count(), 2);
      await keyboard.press("Alt+F5");
      await text.isAt(27);
      await keyboard.press("Control+Alt+Shift+u");
      await untilEqual("keys.txt", () => world.read("keys.txt"), withLine(three, "LINE 27", "line 27"));
      await untilEqual("the hunks but two", () => text.lenses("Keep").count(), 1);

      await pending.focusByKeys();
      await keyboard.press("Home");
      const [row, other] = [pending.row("keys.txt"), pending.row("other.txt")];
      await pending.isFocused(row);
      const label = async () => (await row.getAttribute("aria-label")) ?? "";
      await untilMatches(
        "what a screen reader says",
        label,
        /^keys\.txt, modified, 1 line added, 1 removed, by Claude Code/,
      );
      await keyboard.press("ArrowDown");
      await pending.isFocused(other);
      assert.match(
        (await other.getAttribute("aria-label")) ?? "",
        /^other\.txt, in sub, added, 1 line added, 0 removed, by Claude Code/,
      );
      await keyboard.press("Shift+F10");
      await workbench.chooseByKeys("Undo File");
      await until("the file is gone", () => !world.exists("sub/other.txt"));
      await other.waitFor({ state: "detached" });

      await pending.focusByKeys();
      await keyboard.press("Home");
      await pending.isFocused(row);
      await keyboard.press("Enter");
      await diff.after.locator(".view-line").first().waitFor();
      await workbench.runByKeys("Snapd: Keep File");
      await pending.welcome.filter({ hasText: "Nothing is pending" }).waitFor();
    },
  },
  {
    name: "review-in-high-contrast",
    setting: {},
    async run(stage) {
      const { browser, text, world } = stage;
      world.write("contrast.txt", LONG);
      const agent = await stage.agent("In high contrast");
      await agent.step("Change and remove", {
        "contrast.txt": LONG.replace("line 3\n", "LINE 3\n").replace("line 18\n", ""),
      });
      await text.open("contrast.txt");
      await untilEqual("the hunks", () => text.lenses("Keep").count(), 2);
      for (const [theme, name] of [
        ["Default High Contrast", "dark"],
        ["Default High Contrast Light", "light"],
      ]) {
        world.write(SETTINGS, JSON.stringify({ "workbench.colorTheme": theme, "snapd.blame.line": true }));
        await browser.page.locator(`.monaco-workbench.${name === "dark" ? "hc-black" : "hc-light"}`).waitFor();
        await text.goTo(3);
        await untilMatches("who wrote the line", () => text.lineEnd(), /^Claude Code, just now/);
        const borders = await untilBorders(text);
        const ground = await text.editor.evaluate((editor) => getComputedStyle(editor).backgroundColor);
        for (const color of borders) {
          assert.ok(contrast(color, ground) >= 3, `${color} is seen on ${ground}`);
        }
        // the line of the cursor has a border of its own
        await text.goTo(5);
        await stage.shot(`review-high-contrast-${name}`);
      }
    },
  },
];

/**
 * The colours of the lines around what came, and where something went.
 *
 * @param {import("../editors.mjs").TextEditor} text
 */
async function untilBorders(text) {
  /** @type {string[]} */
  let found = [];
  await until("both are marked", async () => {
    found = await text.borders();
    return found.length >= 2;
  });
  return found;
}

/**
 * The contrast of two colours, as WCAG 2 defines it.
 *
 * @param {string} one
 * @param {string} other
 */
function contrast(one, other) {
  const [a, b] = [luminance(one), luminance(other)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

/** @param {string} color As a browser computes it. */
function luminance(color) {
  const [red, green, blue] = (color.match(/[\d.]+/g) ?? []).slice(0, 3).map((part) => {
    const share = Number(part) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  assert.ok(red !== undefined && green !== undefined && blue !== undefined, `${color} is a colour`);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
