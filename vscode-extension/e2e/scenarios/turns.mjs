/** Prompts, and what the agent did for each. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { HookedAgent } from "../hooked-agent.mjs";
import { until, untilEqual } from "../waiting.mjs";
import { LIST, withLine } from "./texts.mjs";

const PROMPT = "Write a list of <b>letters</b>\n\nThe [first](command:workbench.action.quit) ten will do.";
const FIRST = "Write a list of <b>letters</b>";
const SECOND = "Capital letters, please";
const ASKED = "Which alphabet is that?";

/** @type {import("./index.mjs").Scenario[]} */
export const TURNS = [
  {
    name: "turns-in-the-view",
    setting: {},
    async run(stage) {
      const { browser, multiDiff, steps, workbench, world } = stage;
      const agent = new HookedAgent(world, "talk");
      // the session has the name of its first prompt
      const [first, second] = [steps.row(FIRST, 2), steps.row(SECOND, 2)];
      const rows = async () =>
        (await Promise.all([1, 2, 3].map((level) => steps.labelsAt(level)))).map((labels) => labels.join(", "));

      agent.prompt(PROMPT);
      await first.waitFor();
      await untilEqual("a prompt alone is a line", rows, [FIRST, FIRST, ""]);
      const end = agent.begin("letters.txt");
      await first.filter({ hasText: "running · 1 step" }).waitFor();
      world.write("letters.txt", LIST);
      end();
      agent.edit("count.txt", "10\n");
      agent.stop();
      await untilEqual("the steps are below their prompt", rows, [FIRST, FIRST, "count.txt, letters.txt"]);
      await first.filter({ hasText: "2 steps · +11 −0" }).waitFor();

      world.write("notes.txt", "mine\n");
      agent.prompt(SECOND);
      agent.edit("letters.txt", withLine(withLine(LIST, "alpha", "Alpha"), "kappa", "Kappa"));
      agent.stop();
      await untilEqual("the latest turn is open, and no other", rows, [FIRST, `${SECOND}, ${FIRST}`, "letters.txt"]);
      agent.prompt(ASKED);
      await untilEqual("nothing is below a question", rows, [FIRST, `${ASKED}, ${SECOND}, ${FIRST}`, "letters.txt"]);
      await steps.unfold(first);
      await untilEqual("what the user did stands in the turn before", rows, [
        FIRST,
        `${ASKED}, ${SECOND}, ${FIRST}`,
        "letters.txt, You changed notes.txt, count.txt, letters.txt",
      ]);
      await stage.shot("turns");

      await first.hover();
      await workbench.hints.filter({ hasText: "The [first](command:workbench.action.quit) ten will do." }).waitFor();
      assert.equal(await workbench.hints.locator("a, b").count(), 0, "what a prompt says is text");

      await steps.choose(first, "Copy Prompt");
      await steps.settled();
      await workbench.openInput("F1");
      await browser.page.keyboard.press("ControlOrMeta+v");
      await untilEqual("what was copied", () => workbench.input.inputValue(), `>${PROMPT.replaceAll("\n", " ")}`);
      await browser.page.keyboard.press("Escape");

      await steps.press(first, "Open All Changes of Turn");
      await multiDiff.shows({ "letters.txt": ["", LIST], "count.txt": ["", "10\n"] });
      await workbench.activeTab.filter({ hasText: FIRST }).waitFor();
      await stage.shot("turn-diff");
      await workbench.closeEditors();

      await steps.press(first, "Undo This Turn");
      await workbench.pick("Skip");
      const told = await workbench.told(/Undid the turn/);
      assert.match(told, /Undid the turn “Write a list of <b>letters<\/b>”: 1 file deleted\. 1 file is in conflict/);
      assert.equal(world.exists("count.txt"), false);
      assert.equal(world.read("notes.txt"), "mine\n");
      await first.filter({ hasText: "partly undone" }).waitFor();
      await workbench.clearNotifications();
      await untilEqual("an undo stands with the step before it", () => steps.labelsAt(3), [
        "Undid step 2 “count.txt”",
        "letters.txt",
        "You changed notes.txt",
        "count.txt",
        "letters.txt",
      ]);

      await steps.choose(second, "Undo This Turn");
      assert.match(await workbench.told(/Undid the turn/), /“Capital letters, please”: 1 file restored/);
      await untilEqual("letters.txt", () => world.read("letters.txt"), LIST);
      await second.filter({ hasText: /^(?!.*partly).*undone/ }).waitFor();
      await stage.shot("turns-undone");
      await workbench.press(/Undid the turn/, "Undo");
      await workbench.told(/Reversed the undo of the turn “Capital letters, please”/);
      await until("it is done again", () => world.read("letters.txt").includes("Kappa"));
      await second.filter({ hasNotText: "undone" }).waitFor();
    },
  },
  {
    name: "files-and-conversation",
    setting: {},
    async run(stage) {
      const { browser, steps, workbench, world } = stage;
      const transcript = `${world.project}.jsonl`;
      const agent = new HookedAgent(world, "rewound", transcript);
      for (const [prompt, file] of /** @type {const} */ ([
        ["Write the first.", "1.txt"],
        ["Now the second.", "2.txt"],
      ])) {
        agent.prompt(prompt);
        agent.edit(file, "text\n");
        agent.stop();
      }
      const before = readFileSync(transcript, "utf8");
      const second = steps.row("Now the second.", 2);
      await second.filter({ hasText: "1 step" }).waitFor();

      await steps.choose(second, "Go Back to Before This Prompt, with Conversation");
      assert.match(await workbench.question(), /goes on in a new session, without “Now the second\.”/);
      await stage.shot("rewind-question");
      await workbench.answer("Go Back");
      const told = await workbench.told(/claude --resume/);
      await untilEqual("the files", () => ["1.txt", "2.txt"].filter((file) => world.exists(file)), ["1.txt"]);
      const name = /--resume ([\w-]+)/.exec(told)?.[1] ?? "";
      const copy = readFileSync(path.join(path.dirname(transcript), `${name}.jsonl`), "utf8");
      assert.match(copy, /Write the first/);
      assert.doesNotMatch(copy, /Now the second/);
      assert.equal(readFileSync(transcript, "utf8"), before);
      await workbench.press(/claude --resume/, "Type in Terminal");
      // the terminal breaks a long line
      const typed = async () => (await browser.page.locator(".terminal .xterm-rows").innerText()).replaceAll(/\s/g, "");
      await until("it is typed", async () => (await typed()).includes(`--resume${name}`));
      await stage.shot("rewind");
    },
  },
];
