/** What steps changed, put into the git index. */
import assert from "node:assert/strict";
import { untilEqual } from "../waiting.mjs";
import { HookedAgent } from "../hooked-agent.mjs";
import { LIST, withLine } from "./texts.mjs";

/** @type {import("./index.mjs").Scenario[]} */
export const STAGING = [
  {
    name: "stage-a-step",
    setting: {},
    async run(stage) {
      const { browser, workbench, world } = stage;
      world.write("list.txt", LIST);
      world.git(["add", "list.txt"]);
      world.commit("A list");
      const agent = new HookedAgent(world, "stager");
      agent.prompt("Write gamma in capitals");
      agent.edit("list.txt", withLine(LIST, "gamma", "GAMMA"));
      agent.stop();
      // whoever else writes into the same file
      world.write("list.txt", withLine(withLine(LIST, "gamma", "GAMMA"), "alpha", "mine"));
      const row = stage.steps.row(/list\.txt/);
      await stage.steps.open();
      await stage.steps.choose(row, "Stage This Step's Changes");
      await workbench.told(/Staged what step 1 .* changed: list\.txt/);
      const staged = withLine(LIST, "gamma", "GAMMA");
      assert.equal(world.git(["show", ":list.txt"]), staged, "the step's change, and nothing else");
      assert.equal(world.read("list.txt"), withLine(staged, "alpha", "mine"));
      await stage.shot("staged");
      await workbench.clearNotifications();
      await workbench.show("Source Control");
      const message = browser.page.locator(".scm-editor .view-lines").first();
      await untilEqual(
        "the message is proposed",
        async () => (await message.textContent())?.replaceAll("\u00a0", " "),
        "Write gamma in capitals",
      );
      await browser.page.locator(".scm-view .monaco-list-row", { hasText: "Staged Changes" }).waitFor();
      await stage.shot("proposed-message");

      // in the middle of a merge, nothing is staged
      world.git(["restore", "--staged", "."]);
      world.write(".git/MERGE_HEAD", `${world.git(["rev-parse", "HEAD"])}`);
      await stage.steps.open();
      await stage.steps.choose(row, "Stage This Step's Changes");
      assert.match(await workbench.told(/did not stage/), /merge/);
      assert.equal(world.git(["diff", "--cached", "--name-only"]), "");
    },
  },
];
