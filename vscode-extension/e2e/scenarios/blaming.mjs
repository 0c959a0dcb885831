/** Who wrote each line, where somebody asks for it. */
import assert from "node:assert/strict";
import { HookedAgent } from "../hooked-agent.mjs";
import { untilEqual, untilMatches } from "../waiting.mjs";
import { LIST, SETTINGS, withLine } from "./texts.mjs";

/** @type {import("./index.mjs").Scenario[]} */
export const BLAMING = [
  {
    name: "blame",
    setting: {},
    async run(stage) {
      const { browser, diff, text, workbench, world } = stage;
      const { page } = browser;
      world.write("letters.txt", LIST);
      const agent = new HookedAgent(world, "blamed");
      agent.prompt("Write gamma in <b>capitals</b>");
      const changed = withLine(LIST, "gamma", "GAMMA");
      agent.edit("letters.txt", changed);
      agent.stop();
      await text.open("letters.txt");
      await text.shows(changed);
      await text.goTo(3);
      assert.equal(await text.lineEnd(), "", "it is off until somebody wants it");

      await workbench.run("Snapd: Toggle Line Blame");
      await untilEqual(
        "the agent's line",
        () => text.lineEnd(),
        "Claude Code, just now · Write gamma in <b>capitals</b>",
      );
      await stage.shot("blame");
      await text.goTo(2);
      await untilEqual("a line that was there before", () => text.lineEnd(), "");

      await text.typeAt(1, "typed\n");
      await text.goTo(1);
      await untilEqual("what is typed", () => text.lineEnd(), "You, not saved");
      await text.goTo(4);
      await untilMatches(
        "the agent's line, one further down",
        () => text.lineEnd(),
        /^Claude Code, just now · Write gamma/,
      );
      await text.save();
      await text.goTo(1);
      await untilMatches("what was saved", () => text.lineEnd(), /^You(, just now)?$/);

      await text.goTo(4);
      await untilMatches("the agent's line once more", () => text.lineEnd(), /^Claude Code/);
      await text.pointAtLineEnd();
      const hover = page.locator(".monaco-hover:visible", { hasText: "Write gamma in <b>capitals</b>" });
      await hover.getByText("Open the changes of the step").click();
      await diff.shows(LIST, changed);
      await workbench.activeTab.filter({ hasText: "letters.txt" }).waitFor();
      await workbench.closeEditors();

      await text.open("letters.txt");
      await text.goTo(4);
      await untilMatches("the agent's line in a new editor", () => text.lineEnd(), /^Claude Code/);
      world.hold();
      process.kill(/** @type {number} */ (world.daemon()), "SIGKILL");
      await untilEqual("nothing while the daemon is away", () => text.lineEnd(), "");
      world.release();
      await untilMatches("the agent's line, by another daemon", () => text.lineEnd(), /^Claude Code/);

      await workbench.run("Snapd: Toggle Line Blame");
      await untilEqual("nothing once it is turned off", () => text.lineEnd(), "");
      world.write(SETTINGS, JSON.stringify({ "snapd.blame.hover": true }));
      await text.pointAt("GAMMA");
      await hover.waitFor();
      await stage.text.goTo(4);
      await workbench.run("Snapd: Open the Step of This Line");
      await diff.shows(LIST, changed);
    },
  },
];
