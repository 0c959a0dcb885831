/** Everything without a mouse. */
import assert from "node:assert/strict";
import { untilEqual } from "../../../../vscode-extension/e2e/waiting.mjs";

/** @type {import("./index.mjs").Scenario[]} */
export const KEYBOARD = [
  {
    name: "keyboard-alone",
    async run(stage) {
      const { page, world } = stage;
      world.write("long.txt", Array.from({ length: 200 }, (_, at) => `line ${at}\n`).join(""));
      const agent = await stage.agent("claude", "Keys");
      await agent.step("The first", { "1.txt": "1\n" });
      const text = world
        .read("long.txt")
        .replace("line 10\n", "X\n")
        .replace("line 90\n", "Y\n")
        .replace("line 170\n", "Z\n");
      await agent.step("The second", { "long.txt": text, "z.txt": "z\n" });
      await agent.step("The third", { "3.txt": "3\n" });
      await stage.row("The third").filter({ hasText: "1 file" }).waitFor();
      const heading = () => page.locator(".detail h2").textContent();
      await page.keyboard.press("j");
      await untilEqual("the first row", heading, "The third");
      await page.keyboard.press("j");
      await untilEqual("the second row", heading, "The second");
      await page.keyboard.press("k");
      await untilEqual("back", heading, "The third");
      await page.keyboard.press("j");
      await stage.file("long.txt").locator(".code").first().waitFor();

      const current = () => page.locator(".line.is-current.added .code").allTextContents();
      const next = async () => {
        await page.keyboard.press("]");
        await page.keyboard.press("c");
      };
      await next();
      await untilEqual("the first change", current, ["X"]);
      await next();
      await untilEqual("the second change", current, ["Y"]);
      await next();
      await untilEqual("the third change", current, ["Z"]);
      const isSeen = await page.locator(".line.is-current.added").evaluate((one) => {
        const { top, bottom } = one.getBoundingClientRect();
        return top > 0 && bottom < innerHeight;
      });
      assert.equal(isSeen, true);
      await untilEqual("it is said", () => page.locator(".heard").textContent(), "Change 3 of 4, long.txt");
      await page.keyboard.press("[");
      await page.keyboard.press("c");
      await untilEqual("back", current, ["Y"]);
      await page.keyboard.press("]");
      await page.keyboard.press("f");
      await untilEqual("the next file", () => page.locator(".heard").textContent(), "File 2 of 2, z.txt");

      await page.keyboard.press("?");
      await stage.dialog.getByText("Next change").waitFor();
      await stage.checkAccess();
      await stage.shot("help");
      await page.keyboard.press("Escape");
      await stage.dialog.waitFor({ state: "detached" });

      await page.keyboard.press("u");
      await stage.dialog.getByText("Undo “The second”").waitFor();
      await stage.dialog.getByText("will be").waitFor();
      // Tab goes to what there is, and not out of the dialog
      const button = stage.dialog.getByRole("button", { name: "Undo", exact: true });
      for (let presses = 0; presses < 12; presses += 1) {
        if (await button.evaluate((one) => one === document.activeElement)) break;
        await page.keyboard.press("Tab");
      }
      await page.keyboard.press("Enter");
      await untilEqual("undone by keys", () => world.exists("z.txt"), false);
      await stage.dialog.waitFor({ state: "detached" });
      await page.keyboard.press("/");
      await untilEqual("the search has the focus", () => page.evaluate(() => document.activeElement?.id), "search");
      await page.keyboard.press("Escape");
      await page.keyboard.press("Escape");
      await untilEqual("the detail is left", () => page.evaluate(() => location.hash), "#/all");

      // Tab reaches the rows, and Enter opens them
      for (let presses = 0; presses < 60; presses += 1) {
        if (
          await page.evaluate(
            () => document.activeElement?.matches(".row") && document.activeElement.textContent?.includes("The first"),
          )
        )
          break;
        await page.keyboard.press("Tab");
      }
      const outline = await page.evaluate(
        () => getComputedStyle(/** @type {Element} */ (document.activeElement)).outlineStyle,
      );
      assert.notEqual(outline, "none");
      await page.keyboard.press("Enter");
      await untilEqual("opened by Enter", heading, "The first");
    },
  },
];
