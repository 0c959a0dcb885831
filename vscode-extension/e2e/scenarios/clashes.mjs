/** Changes of the user's that an undo must not harm. */
import assert from "node:assert/strict";
import { untilEqual } from "../waiting.mjs";
import { LIST, withLine } from "./texts.mjs";

/** @type {import("./index.mjs").Scenario[]} */
export const CLASHES = [
  {
    name: "conflict",
    async run(stage) {
      const { diff, steps, workbench, world } = stage;
      const theirs = withLine(LIST, "beta", "beta of the agent");
      const users = withLine(LIST, "beta", "beta of the user");
      const agent = await stage.agent("Conflicts");
      await agent.step("Begin", { "kept.txt": LIST, "taken.txt": LIST, "calm.txt": LIST });
      await agent.step("Change beta", { "kept.txt": theirs, "taken.txt": theirs, "calm.txt": theirs });
      world.write("kept.txt", users);
      world.write("taken.txt", users);
      await steps.press(await stage.stepRow("Conflicts", "Change beta"), "Undo This Step");
      assert.match(
        await workbench.told(/Undid step 2/),
        /1 file restored.*2 files are in conflict and were left alone/,
      );
      await untilEqual("calm.txt", () => world.read("calm.txt"), LIST);
      assert.deepEqual([world.read("kept.txt"), world.read("taken.txt")], [users, users]);

      await workbench.press(/Undid step 2/, "Resolve...");
      const [first, second, done] = await workbench.choices();
      assert.match(first ?? "", /^kept\.txt.*keep.*changed since/);
      assert.match(second ?? "", /^taken\.txt.*keep.*changed since/);
      assert.match(done ?? "", /^Done: overwrite 0, keep 2/);
      await stage.shot("conflict");
      await workbench.pick("kept.txt");
      await workbench.pick("Keep");
      await workbench.pick("taken.txt");
      await workbench.pick("Open Diff");
      await diff.shows(LIST, users);
      await stage.shot("conflict-diff");
      assert.deepEqual([world.read("kept.txt"), world.read("taken.txt")], [users, users]);

      await workbench.press(/Undid step 2/, "Resolve...");
      await workbench.pick("taken.txt");
      await workbench.pick("Overwrite");
      await workbench.pick("Done: overwrite 1, keep 1");
      await workbench.told(/Overwrote taken\.txt/);
      await untilEqual("taken.txt", () => world.read("taken.txt"), LIST);
      assert.equal(world.read("kept.txt"), users);
    },
  },
  {
    name: "unsaved-text",
    async run(stage) {
      const { steps, text, workbench, world } = stage;
      const theirs = withLine(LIST, "beta", "beta of the agent");
      const agent = await stage.agent("Unsaved text");
      await agent.step("Begin", { "typing.txt": LIST });
      await agent.step("Change beta", { "typing.txt": theirs });
      await agent.step("Change iota", { "typing.txt": withLine(theirs, "iota", "iota of the agent") });
      const both = world.read("typing.txt");
      await text.open("typing.txt");
      await text.shows(both);
      await text.typeAt(6, "not saved ");
      const typed = withLine(both, "zeta", "not saved zeta");
      await steps.open();
      const row = await stage.stepRow("Unsaved text", "Change beta");

      await steps.press(row, "Undo This Step");
      assert.match(await workbench.question(), /typing\.txt has unsaved text/);
      await stage.shot("unsaved");
      await workbench.answer("Cancel");
      assert.equal(world.read("typing.txt"), both);
      await text.shows(typed);
      await text.dirty.waitFor();
      await row.filter({ hasNotText: "undone" }).waitFor();

      await steps.press(row, "Undo This Step");
      await workbench.question();
      await workbench.answer("Save and Continue");
      const merged = withLine(typed, "beta of the agent", "beta");
      await untilEqual("typing.txt", () => world.read("typing.txt"), merged);
      await text.shows(merged);
      await text.dirty.waitFor({ state: "detached" });

      await workbench.clearNotifications();
      await text.typeAt(1, "thrown away ");
      await text.dirty.waitFor();
      await steps.press(await stage.stepRow("Unsaved text", "Change iota"), "Undo This Step");
      await workbench.question();
      await workbench.answer("Discard Changes and Continue");
      const calm = withLine(merged, "iota of the agent", "iota");
      await untilEqual("typing.txt", () => world.read("typing.txt"), calm);
      await text.shows(calm);
      await text.dirty.waitFor({ state: "detached" });
    },
  },
];
