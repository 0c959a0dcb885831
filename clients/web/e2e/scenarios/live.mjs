/** What happens in the folder appears on the page by itself. */
import { until, untilEqual } from "../../../../vscode-extension/e2e/waiting.mjs";

const BASKET = "def total(prices):\n    return round(sum(prices), 2)\n";

/** @type {import("./index.mjs").Scenario[]} */
export const LIVE = [
  {
    name: "two-agents-and-a-user",
    async run(stage) {
      const { page, world } = stage;
      await page.getByText("Nothing has happened yet").waitFor();
      await stage.checkAccess();
      await stage.shot("empty");

      const coder = await stage.agent("claude", "Prices in euro");
      const writer = await stage.agent("codex", "Write the docs");
      const sessions = page.getByRole("navigation", { name: "Sessions" });
      await sessions.getByRole("link", { name: /Prices in euro/ }).waitFor();
      await sessions.getByRole("link", { name: /Write the docs/ }).waitFor();

      await coder.prompt("Round the total to cents.");
      await stage.row("Round the total to cents.").waitFor();
      const open = await coder.begin("Round it");
      await stage.row("Round it").filter({ hasText: "running" }).click();
      await page.getByText("The step goes on.").waitFor();
      await coder.write({ "basket.py": BASKET });
      await untilEqual(
        "the open step shows what it writes",
        () => stage.lines("basket.py").then((all) => all.includes("+    return round(sum(prices), 2)")),
        true,
      );

      // both work at once, and the user too
      const [, text] = await Promise.all([
        coder.end(open, ["basket.py"]),
        writer.step("Describe it", { "docs/prices.md": "# Prices\n" }),
      ]);
      await untilEqual("the step of the writer", () => stage.row("Describe it").count(), 1);
      await untilEqual(
        "the step of the coder has ended",
        () => stage.row("Round it").filter({ hasText: "running" }).count(),
        0,
      );
      await stage.row("Round it").filter({ hasText: "1 file" }).waitFor();
      world.write("notes.md", "Ask Grace.\n");
      await coder.step("Show it", { "show.py": "print(1)\n" });
      await stage.row("You changed notes.md").waitFor();
      await until("the number of pending files", async () => (await page.locator(".badge").textContent()) === "3");

      // only its own session
      await sessions.getByRole("link", { name: /Write the docs/ }).click();
      await untilEqual(
        "the rows of the writer",
        () => stage.row(/./).evaluateAll((all) => all.map((one) => one.querySelector(".name, .prompt")?.textContent)),
        ["Describe it"],
      );
      await writer.step("Describe more", { "docs/more.md": "# More\n" });
      await stage.row("Describe more").waitFor();
      // a step that begins elsewhere is none of its
      await coder.step("Not here", { "other.py": "\n" });
      await until("the session list counts it", () =>
        sessions
          .getByRole("link", { name: /Prices in euro/ })
          .filter({ hasText: "3 steps" })
          .count(),
      );
      await untilEqual("no row of the other session", () => stage.row("Not here").count(), 0);

      // an undo by somebody else shows at once
      await writer.request("session/undo", { stepId: text });
      await stage.row("Describe it").filter({ hasText: "undone" }).waitFor();
      await stage.checkAccess();
    },
  },
  {
    name: "a-step-appears-soon",
    async run(stage) {
      const agent = await stage.agent("claude", "Quick");
      await agent.step("Warm up", { "warm.txt": "1\n" });
      await stage.row("Warm up").waitFor();
      /** @type {number[]} */
      const times = [];
      for (let at = 0; at < 10; at += 1) {
        const stepId = await agent.begin(`Step ${at}`);
        await agent.write({ "quick.txt": `${at}\n` });
        await stage.row(`Step ${at}`).waitFor();
        const seen = stage.row(`Step ${at}`).filter({ hasText: "1 file" }).waitFor();
        const start = performance.now();
        await agent.end(stepId, ["quick.txt"]);
        await seen;
        times.push(performance.now() - start);
      }
      times.sort((one, other) => one - other);
      console.log(
        `     a step is seen ${times[5]?.toFixed(0)} ms after its end was asked for (median of 10, with the end itself)`,
      );
    },
  },
];
