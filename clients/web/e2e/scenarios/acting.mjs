/** Undo, redo and revert: what the plan shows, and what then is on the disk. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { untilEqual } from "../../../../vscode-extension/e2e/waiting.mjs";

const ONE = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";

/** @type {import("./index.mjs").Scenario[]} */
export const ACTING = [
  {
    name: "undo-and-redo-a-step",
    async run(stage) {
      const { page, world } = stage;
      world.write("a.txt", ONE);
      const agent = await stage.agent("claude", "Undo me");
      await agent.step("Change the second", { "a.txt": ONE.replace("two", "TWO"), "b.txt": "new\n" });
      await agent.step("Change the ninth", { "a.txt": ONE.replace("two", "TWO").replace("nine", "NINE") });
      await stage.row("Change the second").filter({ hasText: "2 files" }).click();
      await stage.press("Undo step");
      await stage.dialog.getByText("1 file will be merged, 1 deleted").waitFor();
      assert.match((await stage.dialog.textContent()) ?? "", /merge\s*a\.txt.*delete\s*b\.txt/s);
      await stage.dialog.getByText("-TWO").waitFor();
      await stage.checkAccess();
      await stage.shot("plan");
      // whoever thinks better of it changes nothing
      await page.keyboard.press("Escape");
      await stage.dialog.waitFor({ state: "detached" });
      assert.equal(world.exists("b.txt"), true);
      await stage.press("Undo step");
      await stage.carryOut();
      await untilEqual("a.txt", () => world.read("a.txt"), ONE.replace("nine", "NINE"));
      assert.equal(world.exists("b.txt"), false);
      await page.getByText("Undid 1 step: 1 file merged, 1 deleted.").waitFor();
      await stage.row("Change the second").filter({ hasText: "undone" }).waitFor();
      await stage.row("Undid 1 step").waitFor();
      await untilEqual(
        "what is undone cannot be undone again",
        () => page.getByRole("button", { name: "Undo step" }).count(),
        0,
      );

      // again, from the session's own list
      await page
        .getByRole("navigation", { name: "Sessions" })
        .getByRole("link", { name: /Undo me/ })
        .click();
      await stage.press("Redo");
      await stage.dialog.getByText("2 files will be restored").waitFor();
      await stage.carryOut("Redo");
      await untilEqual("a.txt", () => world.read("a.txt"), ONE.replace("two", "TWO").replace("nine", "NINE"));
      await untilEqual("b.txt", () => world.exists("b.txt"), true);
      await stage.press("Undo the last step");
      await stage.carryOut();
      await untilEqual("the last one", () => world.read("a.txt"), ONE.replace("two", "TWO"));
    },
  },
  {
    name: "a-plan-that-changed-is-shown-again",
    async run(stage) {
      const { world } = stage;
      world.write("a.txt", ONE);
      const agent = await stage.agent("claude", "Plans");
      await agent.step("Change two", { "a.txt": ONE.replace("two", "TWO"), "b.txt": "new\n" });
      await stage.row("Change two").filter({ hasText: "2 files" }).click();
      await stage.press("Undo step");
      await stage.dialog.getByText("1 file will be restored, 1 deleted").waitFor();
      world.write("b.txt", "mine\n");
      await stage.dialog.getByRole("button", { name: "Undo", exact: true }).click();
      await stage.dialog.getByText("Something has changed since.").waitFor();
      await stage.dialog.getByRole("region", { name: "Conflict in b.txt" }).waitFor();
      assert.equal(world.read("a.txt"), ONE.replace("two", "TWO"), "what was not shown was not done");
      await stage.checkAccess();
      await stage.carryOut();
      await untilEqual("what is shown now", () => [world.read("a.txt"), world.read("b.txt")], [ONE, "mine\n"]);
    },
  },
  {
    name: "git-goes-back-with-the-files",
    async run(stage) {
      const { page, world } = stage;
      const refs = () => world.git(["for-each-ref"]);
      world.git(["switch", "--quiet", "--create", "topic"]);
      world.write("topic.txt", ONE);
      world.git(["add", "topic.txt"]);
      world.commit("A topic");
      world.git(["switch", "--quiet", "main"]);
      const before = refs();
      const agent = await stage.agent("claude", "Git");
      const stepId = await agent.begin("Merge and tidy", "Bash");
      world.git(["merge", "--quiet", "topic"]);
      await agent.write({ "made.txt": "made\n" });
      world.git(["add", "made.txt"]);
      world.commit("Make it");
      world.git(["branch", "--quiet", "-D", "topic"]);
      await agent.end(stepId);
      const after = refs();
      const moved = /main [0-9a-f]{7} → [0-9a-f]{7}, branch topic deleted/;

      await stage.row("Merge and tidy").filter({ hasText: "2 files" }).click();
      await page.getByText(moved).waitFor();
      await stage.file("topic.txt").getByText("by git").waitFor();
      await page.getByRole("button", { name: "Undo this step in made.txt" }).waitFor();
      await untilEqual(
        "its lines",
        () => stage.lines("topic.txt"),
        ONE.trimEnd()
          .split("\n")
          .map((line) => `+${line}`),
      );
      assert.equal(await page.getByRole("button", { name: "Undo this step in topic.txt" }).count(), 0);
      await stage.checkAccess();
      await stage.press("Undo step");
      const box = stage.dialog.getByRole("checkbox");
      await stage.dialog.getByText("Otherwise git stays as it is.").waitFor();
      assert.match(await stage.dialog.getByRole("group", { name: "Git" }).innerText(), moved);
      await stage.dialog.getByText("Git put it there.").waitFor();
      await box.check();
      await stage.dialog.getByText(/main [0-9a-f]{7} → [0-9a-f]{7}, branch topic created at/).waitFor();
      await stage.dialog.getByText("2 files will be deleted").waitFor();
      await stage.checkAccess();
      await stage.shot("git");
      await stage.carryOut();
      await page.getByText(/Undid 1 step: 2 files deleted, git: main .*, branch topic created at/).waitFor();
      assert.deepEqual([refs(), world.git(["status", "--porcelain"])], [before, ""]);

      await page.getByRole("navigation", { name: "Sessions" }).getByRole("link", { name: /Git/ }).click();
      await stage.press("Redo");
      const redo = stage.dialog.getByRole("button", { name: "Redo", exact: true });
      await untilEqual("the plan is there", () => redo.isDisabled(), false);
      // what was not shown yet cannot be accepted
      /** @type {(value?: unknown) => void} */
      let answer = () => {};
      const asked = new Promise((resolve) => (answer = resolve));
      await page.route("**/redo", (route) => asked.then(() => route.continue()));
      await stage.dialog.getByRole("checkbox", { name: /Also redo git/ }).check();
      assert.equal(await redo.isDisabled(), true);
      answer();
      await stage.dialog.getByText("2 files will be restored").waitFor();
      await stage.carryOut("Redo");
      await untilEqual("the refs", refs, after);
      assert.equal(world.git(["status", "--porcelain"]), "");

      // a step that changed git alone
      const tagging = await agent.begin("Tag it", "Bash");
      world.git(["tag", "v1"]);
      await agent.end(tagging);
      await stage.row("Tag it").filter({ hasText: "git: tag v1 created at" }).click();
      await stage.press("Undo step");
      await box.waitFor();
      assert.equal(await stage.dialog.getByRole("button", { name: "Undo", exact: true }).isDisabled(), true);
      await box.check();
      await stage.dialog.getByText(/tag v1 deleted/).waitFor();
      await stage.carryOut();
      await untilEqual("the refs", refs, after);
      await stage.row(/Undid 1 step.*git: tag v1 deleted/).click();
      await page.getByRole("region", { name: "Changes" }).getByText("git: tag v1 deleted").waitFor();
    },
  },
  {
    name: "undo-a-file-and-a-change",
    async run(stage) {
      const { page, world } = stage;
      world.write("a.txt", ONE);
      world.write("b.txt", ONE);
      const agent = await stage.agent("claude", "Parts");
      const both = ONE.replace("one", "ONE").replace("ten", "TEN");
      await agent.step("Both ends of both", { "a.txt": both, "b.txt": both });
      await stage.row("Both ends of both").filter({ hasText: "2 files" }).click();
      await stage.file("a.txt").getByRole("button", { name: "Undo this change" }).nth(1).click();
      await stage.dialog.getByText("-TEN").waitFor();
      assert.equal(await stage.dialog.getByText("-ONE").count(), 0);
      await stage.carryOut("Undo this change");
      await untilEqual("one hunk", () => world.read("a.txt"), ONE.replace("one", "ONE"));
      await stage.press("Undo this step in b.txt");
      await stage.carryOut("Undo in this file");
      await untilEqual("one file", () => [world.read("a.txt"), world.read("b.txt")], [ONE.replace("one", "ONE"), ONE]);
      await page
        .getByText(/Undid: 1 file/)
        .first()
        .waitFor();
    },
  },
  {
    name: "a-conflict-shows-its-lines",
    async run(stage) {
      const { page, world } = stage;
      world.write("a.txt", ONE);
      const agent = await stage.agent("claude", "Conflict");
      await agent.step("Change two", { "a.txt": ONE.replace("two", "TWO"), "c.txt": "c\n" });
      const mine = ONE.replace("two", "TWO and a half");
      world.write("a.txt", mine);
      await agent.step("Something else", { "d.txt": "d\n" });
      await stage.row("Change two").filter({ hasText: "2 files" }).click();
      await stage.press("Undo step");
      const clash = stage.dialog.getByRole("region", { name: "Conflict in a.txt" });
      await clash.waitFor();
      await untilEqual("the lines of all three", () => clash.locator("pre").allTextContents(), [
        "TWO and a half",
        "TWO",
        "two",
      ]);
      await clash.getByText("By you.").waitFor();
      await stage.checkAccess();
      await stage.shot("conflict");
      await stage.carryOut();
      await untilEqual("what clashes stays, the rest is undone", () => [world.read("a.txt"), world.exists("c.txt")], [
        mine,
        false,
      ]);
      await page.getByText("Files in conflict were left unchanged.").waitFor();
      await stage.row("Change two").filter({ hasText: "partly undone" }).waitFor();

      // the rest, by decision
      await stage.press("Undo step");
      await stage.dialog.getByLabel("Overwrite").check();
      await stage.dialog.getByText("1 file will be restored").waitFor();
      await stage.carryOut();
      await untilEqual("overwritten", () => world.read("a.txt"), ONE);
      await stage
        .row("Change two")
        .filter({ hasText: /(?<!partly )undone/ })
        .waitFor();
    },
  },
  {
    name: "each-conflict-is-decided",
    async run(stage) {
      const { world } = stage;
      const names = ["a.txt", "b.txt", "c.txt"];
      for (const name of names) world.write(name, ONE);
      const agent = await stage.agent("claude", "Decide");
      await agent.step("Change all", Object.fromEntries(names.map((name) => [name, ONE.replace("two", "TWO")])));
      for (const name of names) world.write(name, ONE.replace("two", `mine in ${name}`));
      await stage.row("Change all").filter({ hasText: "3 files" }).click();
      await stage.press("Undo step");
      const clash = (/** @type {string} */ name) => stage.dialog.getByRole("region", { name: `Conflict in ${name}` });
      await clash("a.txt").getByLabel("Overwrite").check();
      await stage.dialog.getByText("1 file will be restored, 2 in conflict").waitFor();
      await clash("b.txt").getByLabel("Keep").check();
      await stage.dialog.getByText("1 file will be restored, 1 in conflict, 1 kept").waitFor();
      assert.equal(await clash("c.txt").getByLabel("Skip").isChecked(), true);
      // a decision can be another one
      await clash("a.txt").getByLabel("Skip").check();
      await stage.dialog.getByText("2 files will be in conflict, 1 kept").waitFor();
      await clash("a.txt").getByLabel("Overwrite").check();
      await stage.dialog.getByText("1 file will be restored, 1 in conflict, 1 kept").waitFor();
      await stage.checkAccess();
      await stage.shot("decisions");
      await stage.carryOut();
      await untilEqual("as it was decided", () => names.map((name) => world.read(name).split("\n")[1]), [
        "two",
        "mine in b.txt",
        "mine in c.txt",
      ]);
      await stage.row("Change all").filter({ hasText: "partly undone" }).waitFor();
    },
  },
  {
    name: "a-turn-and-the-way-back",
    async run(stage) {
      const { page, world } = stage;
      const agent = await stage.agent("claude", "Turns");
      await agent.prompt("Write the first.");
      await agent.step("The first", { "1.txt": "1\n" });
      await agent.prompt("Write the second.");
      await agent.step("The second", { "2.txt": "2\n" });
      await agent.step("The third", { "3.txt": "3\n" });
      await agent.prompt("Write the last.");
      await agent.step("The fourth", { "4.txt": "4\n" });
      const files = () => ["1.txt", "2.txt", "3.txt", "4.txt"].filter((file) => world.exists(file));
      const sessions = page.getByRole("navigation", { name: "Sessions" });
      await sessions.getByRole("link", { name: /Turns/ }).click();
      await untilEqual("the prompts", () => sessions.locator(".turns .name").allTextContents(), [
        "Write the last.",
        "Write the second.",
        "Write the first.",
      ]);
      await sessions.getByRole("link", { name: "Write the second." }).click();
      await stage.file("3.txt").waitFor();
      await stage.press("Undo turn");
      await stage.dialog.getByText("2 files will be deleted").waitFor();
      await stage.carryOut("Undo the turn");
      await untilEqual("the turn is undone", files, ["1.txt", "4.txt"]);
      await page.getByText("All of this turn was undone").waitFor();

      await sessions.getByRole("link", { name: "Write the first." }).click();
      await stage.press("Restore to before this prompt: undo this turn and all later ones of the session");
      await stage.dialog.getByText("2 files will be deleted").waitFor();
      await stage.carryOut("Restore");
      await untilEqual("all of it", files, []);
      await stage.press("Bring it back");
      await untilEqual("and back", files, ["1.txt", "4.txt"]);
    },
  },
  {
    name: "files-and-conversation",
    async run(stage) {
      const { page, world } = stage;
      const agent = await stage.agent("claude", "Talk");
      const transcript = `${world.project}.jsonl`;
      await agent.promptIn(transcript, "Write the first.");
      await agent.step("The first", { "1.txt": "1\n" });
      await agent.promptIn(transcript, "Write the second.");
      await agent.step("The second", { "2.txt": "2\n" });
      const sessions = page.getByRole("navigation", { name: "Sessions" });
      await sessions.getByRole("link", { name: /Talk/ }).click();
      await sessions.getByRole("link", { name: "Write the second." }).click();
      await stage.file("2.txt").waitFor();
      await stage.press("Restore with conversation: the agent goes on from before this prompt in a new session");
      await stage.dialog.getByText("goes on in a new session, without “Write the second.”").waitFor();
      await stage.checkAccess();
      await stage.carryOut("Restore");
      await page.getByText(/claude --resume [\w-]+/).waitFor();
      await untilEqual("the files", () => ["1.txt", "2.txt"].filter((file) => world.exists(file)), ["1.txt"]);
      const text = (await page.getByText(/claude --resume/).textContent()) ?? "";
      const name = /--resume ([\w-]+)/.exec(text)?.[1] ?? "";
      const copy = readFileSync(path.join(path.dirname(transcript), `${name}.jsonl`), "utf8");
      assert.match(copy, /Write the first/);
      assert.doesNotMatch(copy, /Write the second/);
    },
  },
];
