/** Changes of the user's that an undo must not harm. */
import assert from "node:assert/strict";
import { untilEqual, untilMatches } from "../waiting.mjs";
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
      const files = () => ["calm.txt", "kept.txt", "taken.txt"].map((file) => world.read(file));
      const row = await stage.stepRow("Conflicts", "Change beta");
      await steps.press(row, "Undo This Step");
      const list = async () => (await workbench.choices()).join(" | ");
      /** @type {(file: string, name: string) => Promise<void>} */
      const decide = async (file, name) => {
        await workbench.pressInRow(file, name);
        // the list is another one then
        await untilMatches(`${file} is decided`, list, new RegExp(`${file.replace(".", "\\.")} ?${name}`));
      };
      await untilMatches("both files are listed", list, /kept\.txt.*taken\.txt/);
      const [go, first, second] = await workbench.choices();
      assert.match(go ?? "", /^\s*Go On.*skip 2, overwrite 0, keep 0/);
      assert.match(
        first ?? "",
        /^kept\.txt.*Skip.*changed since by you, line 2: “beta of the user” would become “beta”/,
      );
      assert.match(second ?? "", /^taken\.txt.*Skip.*changed since by you, line 2/);
      await stage.shot("conflict");
      await workbench.pick("taken.txt");
      await untilMatches("what can be done with it", list, /Skip.*Overwrite.*Keep.*Open Diff/);
      await stage.shot("conflict-file");
      await workbench.pick("Open Diff");
      await diff.shows(LIST, users);
      await workbench.choices();
      await stage.shot("conflict-diff");
      await decide("kept.txt", "Keep");
      await decide("taken.txt", "Overwrite");
      await untilMatches(
        "the decisions",
        async () => (await workbench.choices()).join(),
        /skip 0, overwrite 1, keep 1/,
      );
      assert.deepEqual(files(), [theirs, users, users], "nothing is written before that");
      await workbench.escape();
      assert.deepEqual(files(), [theirs, users, users], "whoever leaves the list has nothing done");
      await row.filter({ hasNotText: "undone" }).waitFor();

      await steps.press(row, "Undo This Step");
      await decide("kept.txt", "Keep");
      await decide("taken.txt", "Overwrite");
      await workbench.pick("Go On");
      assert.match(
        await workbench.told(/Undid step 2/),
        /2 files restored\. 1 file was kept.*overwritten in taken\.txt stays/,
      );
      await untilEqual("the files", files, [LIST, users, LIST]);
      await row.filter({ hasText: /^(?!.*partly).*undone/ }).waitFor();
      await workbench.press(/Undid step 2/, "Undo");
      await untilEqual("the files", files, [theirs, users, users]);
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
