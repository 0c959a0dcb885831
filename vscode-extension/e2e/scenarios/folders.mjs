/** Several folders in one window, and a part of one. */
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { untilEqual } from "../waiting.mjs";
import { LIST, withLine } from "./texts.mjs";

/** @type {import("./index.mjs").Scenario[]} */
export const FOLDERS = [
  {
    name: "two-folders",
    setting: { folders: ["site"] },
    async run(stage) {
      const { diff, steps, workbench, world } = stage;
      const site = path.join(world.root, "site");
      const changed = withLine(LIST, "beta", "Beta");
      const [one, other] = [await stage.agent("In the shop"), await stage.agent("On the site", "codex", site)];
      await one.step("Write in the shop", { "same.txt": LIST });
      await one.step("Change the shop", { "same.txt": changed });
      await other.step("Write on the site", { "same.txt": LIST });
      await other.step("Change the site", { "same.txt": changed });
      await untilEqual("the folders", () => steps.labelsAt(1), ["shop", "site"]);
      await stage.stepRow("In the shop", "Change the shop");
      await steps.click(await stage.fileRow("On the site", "Change the site", "same.txt"));
      await diff.shows(LIST, changed);
      await stage.shot("two-folders");

      await workbench.closeEditors();
      await workbench.run("Snapd: Undo Last Agent Step");
      assert.deepEqual(await workbench.choices(), ["shop", "site"]);
      await workbench.pick("site");
      await workbench.told(/Undid step 2.*Change the site/);
      await untilEqual("same.txt of the site", () => world.read("same.txt", site), LIST);
      assert.equal(world.read("same.txt"), changed);
      await steps.row("Change the site").filter({ hasText: "undone" }).waitFor();
      await steps.row("Change the shop").filter({ hasNotText: "undone" }).waitFor();
    },
  },
  {
    name: "subfolder",
    setting: { within: "tests" },
    async run(stage) {
      const { diff, steps, workbench, world } = stage;
      const agent = await stage.agent("At work");
      await agent.step("Write a list", { "tests/list.txt": LIST });
      const changed = withLine(LIST, "beta", "Beta");
      await agent.step("Change list and basket", { "tests/list.txt": changed, "basket.py": "" });
      await agent.step("Change the readme", { "README.md": "# Basket\n" });
      await steps.click(await stage.fileRow("At work", "Change list and basket", "list.txt"));
      await diff.shows(LIST, changed);
      assert.deepEqual(await steps.labelsAt(2), ["Change list and basket", "Write a list"]);
      await workbench.run("Snapd: Undo Last Agent Step");
      await workbench.told(/Undid step 2.*Change list and basket/);
      await untilEqual("list.txt", () => world.read("tests/list.txt"), LIST);
      assert.notEqual(world.read("basket.py"), "");
      assert.equal(world.read("README.md"), "# Basket\n");
      // the window made no store of its own
      assert.equal(fs.readdirSync(path.join(world.data, "snapd", "snapshot")).length, 1);
    },
  },
];
