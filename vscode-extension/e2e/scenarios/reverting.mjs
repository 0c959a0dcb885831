/** A part of a step that is taken back. */
import assert from "node:assert/strict";
import { until, untilEqual } from "../waiting.mjs";
import { LIST, LONG, withLine } from "./texts.mjs";

/** @type {import("./index.mjs").Scenario[]} */
export const REVERTING = [
  {
    name: "revert-file",
    async run(stage) {
      const { steps, workbench, world } = stage;
      const changed = withLine(LIST, "iota", "Iota");
      const agent = await stage.agent("Two files");
      await agent.step("Begin both", { "left.txt": LIST, "right.txt": LIST });
      await agent.step("Change both", { "left.txt": changed, "right.txt": changed, "extra.txt": "extra\n" });
      await steps.press(await stage.fileRow("Two files", "Change both", "left.txt"), "Revert File");
      await workbench.told(/left\.txt/);
      await untilEqual("left.txt", () => world.read("left.txt"), LIST);
      assert.equal(world.read("right.txt"), changed);
      assert.equal(world.read("extra.txt"), "extra\n");
      await workbench.clearNotifications();
      await steps.choose(await stage.fileRow("Two files", "Change both", "extra.txt"), "Revert File");
      await workbench.told(/extra\.txt/);
      await until("extra.txt is gone", () => !world.exists("extra.txt"));
      assert.equal(world.read("right.txt"), changed);
    },
  },
  {
    name: "revert-hunk",
    async run(stage) {
      const { browser, diff, workbench, world } = stage;
      const first = withLine(LONG, "line 2", "LINE 2");
      const both = withLine(first, "line 15", "LINE 15\nLINE 15b");
      const all = withLine(both, "line 28", "LINE 28");
      const agent = await stage.agent("Three hunks");
      await agent.step("Write it", { "hunks.txt": LONG });
      await agent.step("Shout three times", { "hunks.txt": all });
      await stage.steps.click(await stage.fileRow("Three hunks", "Shout three times", "hunks.txt"));
      await diff.shows(LONG, all);
      await diff.select(15, 16);
      await stage.shot("hunk-selected");
      await browser.page.keyboard.press("Control+Alt+h");
      await workbench.told(/hunk/);
      const left = withLine(first, "line 28", "LINE 28");
      await untilEqual("hunks.txt", () => world.read("hunks.txt"), left);
      await stage.shot("hunk-reverted");
    },
  },
  {
    name: "hunks-of-a-step",
    async run(stage) {
      const { diff, pending, workbench, world } = stage;
      const first = withLine(LONG, "line 2", "LINE 2");
      const both = withLine(first, "line 28", "LINE 28");
      const agent = await stage.agent("Lenses");
      await agent.step("Write it", { "lenses.txt": LONG });
      await agent.request("review/keep", { files: ["lenses.txt"] });
      await agent.step("Shout twice", { "lenses.txt": both });
      await stage.steps.click(await stage.fileRow("Lenses", "Shout twice", "lenses.txt"));
      await diff.shows(LONG, both);
      await untilEqual("each hunk can be undone", () => diff.lenses("Undo").count(), 2);
      await untilEqual("each hunk can be kept", () => diff.lenses("Keep").count(), 2);
      await stage.shot("hunk-lenses");
      await diff.lenses("Keep").first().click();
      await untilEqual("one hunk is pending still", () => diff.lenses("Keep").count(), 1);
      assert.equal(world.read("lenses.txt"), both);
      await diff.lenses("Undo").last().click();
      await workbench.told(/Reverted 1 hunk of lenses\.txt/);
      await untilEqual("lenses.txt", () => world.read("lenses.txt"), first);
      await pending.row("lenses.txt").waitFor({ state: "detached" });
    },
  },
];
