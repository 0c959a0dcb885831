/** Steps that are taken back and done again. */
import assert from "node:assert/strict";
import { until, untilEqual } from "../waiting.mjs";
import { LIST, withLine } from "./texts.mjs";

/** @type {import("./index.mjs").Scenario[]} */
export const UNDOING = [
  {
    name: "undo-and-redo",
    async run(stage) {
      const { workbench, world, text } = stage;
      const changed = withLine(LIST, "gamma", "Gamma");
      const agent = await stage.agent("Undo me");
      await agent.step("Write a list", { "undo.txt": LIST });
      await agent.step("Capital gamma", { "undo.txt": changed, "made/new.txt": "new\n" });
      await stage.stepRow("Undo me", "Capital gamma");
      await text.open("undo.txt");
      await text.shows(changed);
      await stage.steps.open();
      await workbench.run("Snapd: Undo Last Agent Step");
      assert.match(await workbench.told(/Undid step 2/), /Capital gamma.*1 file restored, 1 deleted/);
      await untilEqual("undo.txt", () => world.read("undo.txt"), LIST);
      assert.equal(world.exists("made/new.txt"), false);
      await text.shows(LIST);
      const row = await stage.stepRow("Undo me", "Capital gamma");
      await row.filter({ hasText: "undone" }).waitFor();
      await stage.shot("undo-notification");
      await workbench.clearNotifications();
      await workbench.run("Snapd: Redo Agent Step");
      assert.match(await workbench.told(/Redid step 2/), /Capital gamma/);
      await untilEqual("undo.txt", () => world.read("undo.txt"), changed);
      assert.equal(world.read("made/new.txt"), "new\n");
      await row.filter({ hasNotText: "undone" }).waitFor();
      await text.shows(changed);
    },
  },
  {
    name: "undo-middle-step",
    async run(stage) {
      const { steps, text, workbench, world } = stage;
      const agent = await stage.agent("Three steps");
      await agent.step("First", { "middle.txt": LIST });
      const second = withLine(LIST, "beta", "beta of the agent");
      await agent.step("Second", { "middle.txt": second });
      await text.open("middle.txt");
      await text.shows(second);
      await text.typeAt(6, "typed by the user ");
      await text.save();
      const typed = withLine(second, "zeta", "typed by the user zeta");
      assert.equal(world.read("middle.txt"), typed);
      await agent.step("Third", { "middle.txt": withLine(typed, "kappa", "kappa of the agent") });
      await steps.open();
      await steps.press(await stage.stepRow("Three steps", "Second"), "Undo This Step");
      await workbench.told(/Undid step 2/);
      const kept = withLine(withLine(LIST, "zeta", "typed by the user zeta"), "kappa", "kappa of the agent");
      await untilEqual("middle.txt", () => world.read("middle.txt"), kept);
      await text.shows(kept);
      await (await stage.stepRow("Three steps", "Second")).filter({ hasText: "undone" }).waitFor();
      await (await stage.stepRow("Three steps", "Third")).filter({ hasNotText: "undone" }).waitFor();
      await stage.shot("steps-view");
    },
  },
  {
    name: "type-while-an-agent-works",
    async run(stage) {
      const { text, workbench, world } = stage;
      const agent = await stage.agent("At work");
      await agent.step("Begin", { "shared.txt": LIST });
      const stepId = await agent.begin("Change the list");
      const first = withLine(LIST, "beta", "beta of the agent");
      await agent.write({ "shared.txt": first });
      await text.open("shared.txt");
      await text.shows(first);
      await text.typeAt(6, "typed by the user ");
      await text.save();
      const typed = withLine(first, "zeta", "typed by the user zeta");
      assert.equal(world.read("shared.txt"), typed);
      const both = withLine(typed, "kappa", "kappa of the agent");
      await agent.write({ "shared.txt": both });
      await text.shows(both);
      // the page shows a file before the extension hears of it
      await until("the daemon knows who typed", async () => {
        const { entries } = await agent.request("session/history", {});
        return entries.some(
          (/** @type {{ kind: string, files: { file: string }[] }} */ { kind, files }) =>
            kind === "user" && files.some(({ file }) => file === "shared.txt"),
        );
      });
      await agent.end(stepId);
      await stage.steps.open();
      await stage.stepRow("At work", "Change the list");
      await workbench.run("Snapd: Undo Last Agent Step");
      await workbench.told(/Undid step 2/);
      const kept = withLine(LIST, "zeta", "typed by the user zeta");
      await untilEqual("shared.txt", () => world.read("shared.txt"), kept);
      await text.shows(kept);
    },
  },
  {
    name: "undo-with-git",
    setting: {},
    async run(stage) {
      const { diff, steps, workbench, world } = stage;
      const refs = () => world.git(["for-each-ref"]);
      world.git(["switch", "--quiet", "--create", "topic"]);
      world.write("topic.txt", LIST);
      world.git(["add", "topic.txt"]);
      world.commit("A topic");
      world.git(["switch", "--quiet", "main"]);
      const before = refs();
      const agent = await stage.agent("At git");
      const stepId = await agent.begin("Merge and tidy", "Bash");
      world.git(["merge", "--quiet", "topic"]);
      await agent.write({ "made.txt": "made\n" });
      world.git(["add", "made.txt"]);
      world.commit("Make it");
      world.git(["branch", "--quiet", "-D", "topic"]);
      await agent.end(stepId);
      const after = refs();
      const put = await stage.fileRow("At git", "Merge and tidy", "topic.txt");
      await put.filter({ hasText: "by git" }).hover();
      assert.equal(await put.getByRole("button", { name: "Revert File" }).count(), 0);
      await steps.click(put);
      await diff.shows("", LIST);
      await steps.press(await stage.stepRow("At git", "Merge and tidy"), "Undo This Step");
      assert.match(
        await workbench.question(),
        /leaves git as it is: main .* → .*, branch topic deleted.*Files and Git”: main .*, branch topic created at/s,
      );
      await stage.shot("undo-with-git");
      await workbench.answer("Files and Git");
      assert.match(await workbench.told(/Undid step 1/), /2 files deleted\. Git: main .*, branch topic created at/);
      assert.deepEqual([refs(), world.git(["status", "--porcelain"])], [before, ""]);
      await workbench.press(/Undid step 1/, "Undo");
      await untilEqual("the refs", refs, after);
      await untilEqual("topic.txt", () => world.read("topic.txt"), LIST);
    },
  },
  {
    name: "undo-button",
    async run(stage) {
      const { workbench, world } = stage;
      const agent = await stage.agent("Back and forth");
      await agent.step("Write it", { "forth.txt": "one\n" });
      await agent.step("Write more", { "forth.txt": "one\ntwo\n" });
      await stage.stepRow("Back and forth", "Write more");
      await stage.browser.page.keyboard.press("Control+Alt+u");
      await workbench.told(/Undid step 2/);
      await untilEqual("forth.txt", () => world.read("forth.txt"), "one\n");

      await workbench.press(/Undid step 2/, "Details");
      assert.match((await workbench.choices()).join(), /forth\.txt.*Restored/);
      await stage.shot("details");
      await workbench.pick("forth.txt");
      await stage.diff.shows("one\ntwo\n", "one\n");

      await workbench.press(/Undid step 2/, "Undo");
      await untilEqual("forth.txt", () => world.read("forth.txt"), "one\ntwo\n");
      await (await stage.stepRow("Back and forth", "Write more")).filter({ hasNotText: "undone" }).waitFor();
    },
  },
];
