/** Pending changes: kept and undone, by hunk, by file, and all. */
import assert from "node:assert/strict";
import { untilEqual } from "../../../../vscode-extension/e2e/waiting.mjs";

const TEXT = Array.from({ length: 40 }, (_, at) => `line ${at + 1}\n`).join("");
const CHANGED = TEXT.replace("line 2\n", "LINE 2\n")
  .replace("line 20\n", "LINE 20\n")
  .replace("line 38\n", "LINE 38\n");

/** @type {import("./index.mjs").Scenario[]} */
export const REVIEWING = [
  {
    name: "keep-and-undo",
    async run(stage) {
      const { page, world } = stage;
      world.write("a.txt", TEXT);
      const agent = await stage.agent("claude", "Review me");
      await agent.step("Three lines", {
        "a.txt": CHANGED,
        "b.txt": "b\n",
        "c.txt": "c\n",
        "d.txt": "d\n",
        "e.txt": "e\n",
      });
      await page.getByRole("link", { name: /Pending changes/ }).click();
      const pending = () => page.locator(".row.pending .own-name").allTextContents();
      await untilEqual("what is pending", pending, ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt"]);
      const box = stage.file("a.txt");
      const removed = () => box.locator(".line.removed .code").allTextContents();
      await untilEqual("its hunks", removed, ["line 2", "line 20", "line 38"]);
      await stage.checkAccess();

      await box.getByRole("button", { name: "Keep this change" }).first().click();
      await untilEqual("one hunk is kept", removed, ["line 20", "line 38"]);
      assert.equal(world.read("a.txt"), CHANGED);
      await box.getByRole("button", { name: "Undo this change" }).first().click();
      await stage.dialog.getByText("-LINE 20").waitFor();
      assert.equal(await stage.dialog.getByText("-LINE 38").count(), 0);
      await stage.carryOut();
      await untilEqual("another is undone", () => world.read("a.txt"), CHANGED.replace("LINE 20", "line 20"));
      await untilEqual("one is left", removed, ["line 38"]);

      await stage.press("Keep b.txt");
      await untilEqual("a file is kept", pending, ["a.txt", "c.txt", "d.txt", "e.txt"]);
      await stage.press("Undo c.txt");
      await stage.carryOut();
      await untilEqual("a file is undone", () => [world.exists("b.txt"), world.exists("c.txt")], [true, false]);
      await untilEqual("they are pending no more", pending, ["a.txt", "d.txt", "e.txt"]);

      // what the user writes is none of it, and the view follows
      world.write("mine.txt", "mine\n");
      await agent.step("One more", { "f.txt": "f\n" });
      await untilEqual("what an agent does meanwhile", pending, ["a.txt", "d.txt", "e.txt", "f.txt"]);

      // the keyboard: the next change, kept; then a file
      await page.keyboard.press("]");
      await page.keyboard.press("c");
      await page.keyboard.press("a");
      await untilEqual("kept by key", pending, ["d.txt", "e.txt", "f.txt"]);
      await stage.press("Undo all");
      await stage.dialog.getByText("3 files will be deleted").waitFor();
      await page.keyboard.press("Escape");
      await stage.press("Keep all");
      await page.getByText("Nothing is pending").waitFor();
      assert.equal(world.exists("e.txt"), true);
      await stage.checkAccess();
    },
  },
  {
    name: "only-what-was-shown",
    async run(stage) {
      const { page, world } = stage;
      const agent = await stage.agent("claude", "Meanwhile");
      await agent.step("Write it", { "a.txt": "a\n" });
      await page.getByRole("link", { name: /Pending changes/ }).click();
      await stage.file("a.txt").locator(".code").waitFor();
      // the page does not hear of what comes next, as on a train
      await page.context().route("**/review**", async (route) => {
        if (route.request().method() === "GET") await route.abort();
        else await route.continue();
      });
      await agent.step("Write more", { "a.txt": "a\nb\n" });
      await stage.press("Keep a.txt");
      await page.locator(".note-card.is-problem").first().waitFor();
      assert.equal((await stage.server.get("/review")).pendingFiles, 1);
      assert.equal(world.read("a.txt"), "a\nb\n");
      await page.context().unroute("**/review**");
      await page.reload();
      await untilEqual("what is shown now", () => stage.lines("a.txt"), ["+a", "+b"]);
      await stage.press("Undo all");
      await stage.carryOut();
      await untilEqual("all is undone", () => world.exists("a.txt"), false);
      await page.getByText("Nothing is pending").waitFor();
    },
  },
  {
    name: "tree-and-viewed",
    async run(stage) {
      const { page, world } = stage;
      const claude = await stage.agent("claude", "One part");
      await claude.step("Three files", {
        "src/long/way/1.txt": "1\n",
        "src/long/way/2.txt": "2\n",
        "src/3.txt": "3\n",
      });
      const codex = await stage.agent("codex", "Another part");
      await codex.step("Two files", { "docs/4.txt": "4\n", "src/3.txt": "3\nmore\n" });
      await stage.goTo("#/review");
      const rows = () => page.locator(".timeline .row .own-name").allTextContents();
      const whole = ["docs", "4.txt", "src", "3.txt", "long/way", "1.txt", "2.txt"];
      await untilEqual("the tree", rows, whole);
      await stage.checkAccess();
      await page.getByRole("button", { name: /^long\/way\s*2 files/ }).click();
      await untilEqual("a closed folder", rows, whole.slice(0, 5));
      await page.getByRole("button", { name: /^long\/way\s*2 files/ }).press("Enter");
      await untilEqual("open again", rows, whole);
      await page
        .locator(".row.pending", { hasText: "3.txt" })
        .getByRole("img", { name: "by Claude Code, Codex" })
        .waitFor();

      // viewed: by box and by key, and kept in this browser
      await page.getByRole("checkbox", { name: "Viewed docs/4.txt" }).check();
      await page.getByText("viewed 1 of 4").waitFor();
      await untilEqual("it is folded", () => stage.file("docs/4.txt").locator(".code").count(), 0);
      const chosen = (/** @type {string} */ title) =>
        untilEqual("the file chosen", () => page.locator(".row[aria-current]").getAttribute("title"), title);
      // keys mean the file that was chosen last, also when they were at a change of another one
      for (const key of "]c]c") await page.keyboard.press(key);
      await page.locator(".is-current").first().waitFor();
      await page.locator(".row.pending", { hasText: "1.txt" }).click();
      await chosen("src/long/way/1.txt");
      await page.keyboard.press("x");
      await page.getByText("viewed 2 of 4").waitFor();
      await page.getByRole("checkbox", { name: "Viewed src/long/way/1.txt", checked: true }).waitFor();
      await chosen("src/long/way/2.txt");
      await stage.checkAccess();
      await page.reload();
      await page.getByText("viewed 2 of 4").waitFor();
      // what changed since is to be viewed again
      await codex.step("More of it", { "docs/4.txt": "4\n5\n" });
      await page.getByText("viewed 1 of 4").waitFor();

      // what one agent changed, alone
      const filter = page.getByLabel("Show the changes of");
      await filter.selectOption({ label: "Codex (2)" });
      await untilEqual("of an agent", rows, ["docs", "4.txt", "src", "3.txt"]);
      await page.getByText("viewed 0 of 2").waitFor();
      await filter.selectOption({ label: "One part (3)" });
      await untilEqual("of a session", rows, ["src", "3.txt", "long/way", "1.txt", "2.txt"]);
      await stage.press("Keep these 3 files");
      await page.getByText("Nothing of this is pending").waitFor();
      await filter.selectOption({ label: "All agents and sessions" });
      await untilEqual("the rest is pending", rows, ["docs", "4.txt"]);
      assert.equal(world.read("src/3.txt"), "3\nmore\n");
    },
  },
];
