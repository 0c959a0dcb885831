/** The whole folder, as it was. */
import assert from "node:assert/strict";
import { untilEqual } from "../waiting.mjs";
import { LIST, withLine } from "./texts.mjs";

const RESTORE = "Restore Workspace to Before This Step...";

/** @type {import("./index.mjs").Scenario[]} */
export const RESTORING = [
  {
    name: "restore-workspace",
    async run(stage) {
      const { diff, steps, workbench, world } = stage;
      const changed = withLine(LIST, "eta", "Eta");
      const agent = await stage.agent("A long way");
      await agent.step("Set out", { "way.txt": LIST });
      await agent.step("Go on", { "way.txt": changed });
      await agent.step("Arrive", { "home.txt": "home\n" });
      world.write("users.txt", "of the user\n");
      const files = () => ["way.txt", "home.txt", "users.txt"].map((file) => world.exists(file) && world.read(file));
      const now = [changed, "home\n", "of the user\n"];
      const row = await stage.stepRow("A long way", "Go on");

      await steps.choose(row, RESTORE);
      const choices = await workbench.choices();
      assert.match(choices.find((choice) => choice.includes("way.txt")) ?? "", /restore \+1 −1/);
      assert.match(choices.find((choice) => choice.includes("home.txt")) ?? "", /delete \+0 −1/);
      assert.match(choices.find((choice) => choice.includes("users.txt")) ?? "", /delete \+0 −1/);
      assert.equal(choices.filter((choice) => choice.includes(".txt")).length, 3);
      await workbench.pick("way.txt");
      await diff.shows(changed, LIST);
      await workbench.choices();
      await stage.shot("restore-preview");
      await workbench.pick("Restore...");
      assert.match(
        await workbench.question(),
        /before step 2.*1 file was changed since the last snapshot: users\.txt/s,
      );
      await stage.shot("restore-question");
      await workbench.answer("Cancel");
      assert.deepEqual(files(), now);

      await steps.choose(row, RESTORE);
      await workbench.pick("Restore...");
      await workbench.answer("Restore, Keep Later Changes");
      await workbench.told(/Restored the workspace to before step 2/);
      await untilEqual("the files", files, [LIST, false, "of the user\n"]);
      await workbench.press(/Restored the workspace/, "Undo");
      await untilEqual("the files", files, now);

      await workbench.clearNotifications();
      world.write("users.txt", "once more\n");
      await steps.choose(row, RESTORE);
      await workbench.pick("Restore...");
      await workbench.answer("Restore All");
      await workbench.told(/Restored the workspace to before step 2/);
      await untilEqual("the files", files, [LIST, false, false]);
      await workbench.press(/Restored the workspace/, "Undo");
      await untilEqual("the files", files, [changed, "home\n", "once more\n"]);
    },
  },
];
