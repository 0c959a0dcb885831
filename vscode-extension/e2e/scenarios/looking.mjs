/** What an agent did, as the user sees it. */
import assert from "node:assert/strict";
import { PICTURE_SIDE, picture } from "../picture.mjs";
import { untilEqual } from "../waiting.mjs";
import { LIST, LONG, withLine } from "./texts.mjs";

/** @type {import("./index.mjs").Scenario[]} */
export const LOOKING = [
  {
    name: "live-steps",
    async run(stage) {
      const { steps, world } = stage;
      world.write("notes.txt", "to do\n");
      const agent = await stage.agent("Rework the basket");
      const step = await agent.begin("Round the total");
      const row = await stage.stepRow("Rework the basket", "Round the total");
      await row.filter({ hasText: "running" }).waitFor();
      const basket = world.read("basket.py");
      await agent.write({
        "basket.py": withLine(basket, "    return sum(prices)", "    # in euro\n    return round(sum(prices), 2)"),
        "tax.py": "RATE = 0.19\n\nSTEP = 1\n",
        "notes.txt": null,
      });
      await agent.end(step);
      await row.filter({ hasNotText: "running" }).waitFor();
      /** @type {[file: string, letter: string, lines: string][]} */
      const expected = [
        ["basket.py", "M", "+2 −1"],
        ["notes.txt", "D", "+0 −1"],
        ["tax.py", "A", "+3 −0"],
      ];
      for (const [file, letter, lines] of expected) {
        const text = (await (await steps.fileOf(row, file)).textContent()) ?? "";
        assert.ok(text.includes(lines), `${file} has ${lines} in its row: ${text}`);
        const line = await steps.fileOf(row, file);
        await untilEqual(`the letter of ${file}`, () => line.evaluate(decoration), letter);
      }
      await agent.step("Add a discount", { "basket.py": `${world.read("basket.py")}\n\nDISCOUNT = 0.1\n` });
      await stage.stepRow("Rework the basket", "Add a discount");
      await stage.shot("live");
    },
  },
  {
    name: "file-diff",
    async run(stage) {
      const { diff, workbench, world } = stage;
      const before = world.read("basket.py");
      const after = withLine(before, "def show(amount):", "def show(amount, currency='EUR'):");
      const agent = await stage.agent("Currencies");
      await agent.step("Show the currency", { "basket.py": after, "money/euro.py": "SIGN = 'EUR'\n" });
      await stage.steps.click(await stage.fileRow("Currencies", "Show the currency", "basket.py"));
      await diff.shows(before, after);
      await workbench.activeTab.filter({ hasText: "basket.py" }).waitFor();
      assert.match((await workbench.activeTab.innerText()).toLowerCase(), /step 1/);
      await stage.shot("diff");
      await stage.steps.click(await stage.fileRow("Currencies", "Show the currency", "euro.py"));
      await diff.shows("", "SIGN = 'EUR'\n");
    },
  },
  {
    name: "click-while-an-agent-works",
    async run(stage) {
      const { steps, workbench } = stage;
      const agent = await stage.agent("Busy");
      await agent.step("Write it", { "busy.txt": "0\n" });
      const name = (await stage.fileRow("Busy", "Write it", "busy.txt")).locator(".label-name");
      for (let count = 1; count <= 5; count++) {
        const stepId = await agent.begin(`Count to ${count}`);
        await agent.write({ "busy.txt": `${count}\n` });
        const ended = agent.end(stepId);
        for (let click = 0; click < 5; click++) await name.click();
        await ended;
      }
      await steps.settled();
      assert.deepEqual(
        (await workbench.toldBefore()).filter((text) => text.includes("command")),
        [],
      );
    },
  },
  {
    name: "step-diff",
    async run(stage) {
      const { multiDiff } = stage;
      const short = "one\ntwo\nthree\n";
      const first = withLine(short, "three", "THREE");
      // between its changes, the editor hides what did not change
      const second = withLine(withLine(LONG, "line 3", "LINE 3"), "line 28", "LINE 28");
      const agent = await stage.agent("Lists");
      await agent.step("Begin two lists", { "one.txt": short, "two.txt": LONG });
      await agent.step("Shout in both lists", { "one.txt": first, "two.txt": second });
      await stage.steps.click(await stage.stepRow("Lists", "Shout in both lists"));
      await multiDiff.shows({ "one.txt": [short, first], "two.txt": [LONG, second] });
      assert.deepEqual(await multiDiff.renames(), [], "a file that was changed is not shown as renamed");
      await stage.shot("multi-diff");
    },
  },
  {
    name: "image-diff",
    async run(stage) {
      const { workbench, browser } = stage;
      const agent = await stage.agent("A new logo");
      await agent.step("Paint the logo red", { "assets/logo.png": picture([214, 48, 49], [255, 255, 255]) });
      await stage.steps.click(await stage.fileRow("A new logo", "Paint the logo red", "logo.png"));
      await workbench.activeTab.filter({ hasText: "logo.png" }).waitFor();
      await untilEqual("both pictures are drawn", () => browser.pictures(), [PICTURE_SIDE, PICTURE_SIDE]);
      await stage.shot("image-diff");
    },
  },
  {
    name: "file-timeline",
    async run(stage) {
      const { text, timeline, world, workbench, diff } = stage;
      const [first, second] = [withLine(LIST, "alpha", "Alpha"), withLine(LIST, "kappa", "Kappa")];
      const agent = await stage.agent("Greek letters");
      await agent.step("Write the letters", { "greek.txt": LIST });
      await agent.step("Capital alpha", { "greek.txt": first });
      world.write("greek.txt", withLine(first, "delta", "Delta"));
      await agent.step("Capital kappa", {
        "greek.txt": withLine(withLine(first, "delta", "Delta"), "kappa", "Kappa"),
      });
      await agent.step("Something else", { "latin.txt": second });
      await text.open("greek.txt");
      await timeline.open();
      for (const name of [/Write the letters/, /Capital alpha/, /You/, /Capital kappa/]) {
        await timeline.rows.filter({ hasText: name }).first().waitFor();
      }
      assert.equal(await timeline.rows.filter({ hasText: "Something else" }).count(), 0);
      await stage.shot("file-timeline");
      await timeline.click(timeline.row("Capital alpha"));
      await workbench.activeTab.filter({ hasText: "greek.txt" }).waitFor();
      await diff.shows(LIST, first);
      await timeline.fold();
    },
  },
  {
    name: "filter-by-session",
    async run(stage) {
      const { steps, workbench } = stage;
      const one = await stage.agent("The frontend", "claude");
      const other = await stage.agent("The backend", "codex");
      await one.step("Style the button", { "button.css": "button { color: red }\n" });
      await other.step("Answer faster", { "server.py": "FAST = True\n" });
      await stage.stepRow("The frontend", "Style the button");
      await stage.stepRow("The backend", "Answer faster");
      await steps.pressTitle("Filter by Session");
      assert.ok((await workbench.choices()).some((choice) => choice.includes("The backend")));
      await workbench.pick("The backend");
      await steps.row("Style the button").waitFor({ state: "detached" });
      await steps.row("Answer faster").waitFor();
      await stage.shot("filtered");
      await steps.pressTitle("Show All Sessions");
      await stage.stepRow("The frontend", "Style the button");
    },
  },
];

/**
 * The letter that the editor draws behind a name.
 *
 * @param {Element} row
 */
function decoration(row) {
  const label = row.querySelector(".monaco-icon-label");
  return label === null ? "" : getComputedStyle(label, "::after").content.replaceAll('"', "");
}
