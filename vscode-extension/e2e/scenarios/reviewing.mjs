/** What agents left pending, kept and undone by somebody who goes on typing. */
import assert from "node:assert/strict";
import { untilEqual } from "../waiting.mjs";
import { LONG, withLine } from "./texts.mjs";

/** @type {import("./index.mjs").Scenario[]} */
export const REVIEWING = [
  {
    name: "review-pending",
    setting: {},
    async run(stage) {
      const { browser, diff, pending, text, workbench, world } = stage;
      const { page } = browser;
      const row = pending.row("shared.txt");
      world.write("shared.txt", LONG);
      const claude = await stage.agent("First reviewer", "claude");
      const codex = await stage.agent("Second reviewer", "codex");
      const one = withLine(withLine(LONG, "line 2", "LINE 2"), "line 28", "LINE 28");
      await claude.step("Shout twice", { "shared.txt": one });
      await text.open("shared.txt");
      await text.shows(one);
      await text.typeAt(23, "mine: ");
      await text.save();
      const mine = withLine(one, "line 23", "mine: line 23");
      await untilEqual("what was typed", () => world.read("shared.txt"), mine);
      const all = withLine(withLine(mine, "line 10", "LINE 10"), "line 18", "LINE 18");
      await codex.step("Shout as well", { "shared.txt": all });
      // only what is in sight is drawn
      await page.keyboard.press("Control+Home");
      await text.shows(all);
      await untilEqual("the hunks", () => text.lenses("Keep").count(), 4);
      assert.equal(await text.lenses("Undo").count(), 4);
      const makers = async () => (await text.lenses(/^(Claude Code|Codex)$/).allInnerTexts()).sort().join();
      await untilEqual("who made them", makers, "Claude Code,Claude Code,Codex,Codex");
      await stage.steps.open();
      await row.filter({ hasText: "+4 −4" }).filter({ hasText: "Claude Code, Codex" }).waitFor();
      await stage.shot("review-pending");

      await text.typeAt(10, "yours: ");
      await untilEqual("the hunks but that over which was typed", () => text.lenses("Keep").count(), 3);
      await text.pressLens("Keep");
      await workbench.told(/shared\.txt has unsaved text\. Save it first/);
      await workbench.clearNotifications();
      await text.save();
      const typed = withLine(all, "LINE 10", "yours: LINE 10");
      await untilEqual("what was typed on", () => world.read("shared.txt"), typed);
      await untilEqual("the hunks are all there", () => text.lenses("Keep").count(), 4);

      await text.pressLens("Keep");
      await untilEqual("the hunks but the one that is kept", () => text.lenses("Keep").count(), 3);
      await row.filter({ hasText: "+3 −3" }).waitFor();
      await text.editor.locator(".view-line").first().click();
      await page.keyboard.press("Control+Home");
      await page.keyboard.press("Alt+F5");
      await page.locator(".statusbar-item", { hasText: "Ln 10, Col 1" }).waitFor();
      await page.keyboard.press("Control+Alt+k");
      await row.filter({ hasText: "+2 −2" }).waitFor();
      await untilEqual("the hunks but two", () => text.lenses("Undo").count(), 2);
      await text.pressLens("Undo");
      await workbench.told(/Undid 1 hunk of shared\.txt: 1 file/);
      const left = withLine(typed, "LINE 18", "line 18");
      await untilEqual("one hunk is undone", () => world.read("shared.txt"), left);
      await text.shows(left);
      await row.filter({ hasText: "+1 −1" }).filter({ hasNotText: "Codex" }).waitFor();

      await page.reload();
      await page.locator(".monaco-workbench").waitFor();
      await stage.steps.open();
      await row.filter({ hasText: "+1 −1" }).filter({ hasText: "Claude Code" }).waitFor();
      assert.equal(world.read("shared.txt"), left);
      await pending.click(row);
      // it shows the first difference
      await diff.after.locator(".view-lines").click();
      await page.keyboard.press("Control+Home");
      await diff.shows(withLine(left, "LINE 28", "line 28"), left);
      await stage.shot("review-diff");
      await pending.press(row, "Keep File");
      await pending.welcome.filter({ hasText: "Nothing is pending" }).waitFor();
      await untilEqual("the baseline is the file", () => diff.differences.count(), 0);
      assert.equal(world.read("shared.txt"), left);
    },
  },
];
