/** Where the page begins: what each session did today. */
import assert from "node:assert/strict";
import { untilEqual } from "../../../../vscode-extension/e2e/waiting.mjs";

/** @type {import("./index.mjs").Scenario[]} */
export const TODAY = [
  {
    name: "today",
    setting: { startsToday: true },
    async run(stage) {
      const { page, world } = stage;
      await page.getByText("Nothing has happened yet").waitFor();
      await stage.checkAccess();

      const claude = await stage.agent("claude", "Due dates");
      await claude.prompt("Give invoices a due date.");
      const both = await claude.step("Both files", { "a.txt": "a\n", "b.txt": "b\n" });
      const codex = await stage.agent("codex", "Words");
      await codex.prompt("Describe the shop.");
      await codex.step("Write it down", { "c.txt": "c\n" });
      const card = (/** @type {string} */ name) => page.getByRole("article", { name, exact: true });
      const figures = (/** @type {string} */ name) => card(name).getByRole("list", { name: "Figures" }).textContent();
      // it comes by itself
      await untilEqual("what one did", () => figures("Due dates"), "1 step2 files2 pending");
      await untilEqual("what the other did", () => figures("Words"), "1 step1 file1 pending");
      await page.getByText("2 sessions, 2 steps", { exact: true }).waitFor();
      await untilEqual("the one that worked last is first", () => page.locator(".session-card h3").allTextContents(), [
        "Words",
        "Due dates",
      ]);
      await page.getByRole("link", { name: /Review 3 pending files/ }).waitFor();
      await stage.checkAccess();

      // an undo that could not take back all of it
      world.write("a.txt", "mine\n");
      await claude.request("session/undo", { stepId: both });
      const problem = card("Due dates").getByRole("list", { name: "To look at" }).getByRole("link");
      await untilEqual("what to look at", () => problem.allTextContents(), [
        "Both filesan undo left files in conflict",
      ]);
      await stage.checkAccess();
      await stage.shot("today");

      // each of it is a link
      await problem.click();
      await page.getByRole("heading", { name: "Both files" }).waitFor();
      await page.goBack();
      await card("Words").getByRole("link", { name: "1 pending" }).click();
      await untilEqual("what is pending of it", () => page.locator(".row.pending .own-name").allTextContents(), [
        "c.txt",
      ]);
      await page.goBack();
      await card("Words")
        .getByRole("link", { name: /Describe the shop/ })
        .click();
      await page.getByRole("heading", { name: "Describe the shop." }).waitFor();
      // and the keyboard leads back
      await page.keyboard.press("g");
      await page.keyboard.press("t");
      await card("Words").waitFor();
      await page.getByRole("button", { name: "7 days" }).click();
      await page.getByRole("heading", { name: "Last 7 days" }).waitFor();
      await untilEqual("as today, so far", () => figures("Words"), "1 step1 file1 pending");
      assert.equal(await page.evaluate(() => location.hash), "#/");
    },
  },
];
