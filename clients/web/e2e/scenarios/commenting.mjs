/** Comments on pending changes, and what agents reply. */
import assert from "node:assert/strict";
import { untilEqual } from "../../../../vscode-extension/e2e/waiting.mjs";

const TEXT = Array.from({ length: 40 }, (_, at) => `line ${at + 1}\n`).join("");
const CHANGED = TEXT.replace("line 2\n", "LINE 2\n").replace("line 20\n", "LINE 20\nLINE 20b\n");
const REPLY = "<img src=x onerror=alert(1)> **done**\u202e\nin two lines";

/** @type {import("./index.mjs").Scenario[]} */
export const COMMENTING = [
  {
    name: "comment-on-lines",
    async run(stage) {
      const { page, world } = stage;
      world.write("a.txt", TEXT);
      const agent = await stage.agent("claude", "Comment on me");
      await agent.step("Two places", { "a.txt": CHANGED, "b.txt": "b\n" });
      await page.getByRole("link", { name: /Pending changes/ }).click();
      const box = stage.file("a.txt");
      const all = async () => (await agent.request("review/comments", { state: "all" })).comments;

      // by mouse: a number, and with Shift the lines up to another
      await box.locator(".number[data-number='20'].can-comment").click();
      await box.locator(".number[data-number='21'].can-comment").click({ modifiers: ["Shift"] });
      const field = box.getByRole("textbox", { name: "Your comment" });
      await field.fill("Not like this.\nUse the helper.");
      await stage.checkAccess();
      await stage.shot("comment-draft");
      await stage.press("Comment", box);
      await field.waitFor({ state: "detached" });
      const [made] = await all();
      assert.deepEqual([made.start, made.count, made.lines], [20, 2, "LINE 20\nLINE 20b\n"]);
      const thread = box.getByRole("region", { name: "Comment on lines 20 to 21" });
      await thread.getByText("for Claude Code, not told yet").waitFor();
      await page.locator(".row.pending", { hasText: "a.txt" }).getByRole("img", { name: "1 open comment" }).waitFor();

      // what the agent does is seen at once, as text
      const { newsId } = await agent.request("session/news", { sessionId: agent.sessionId });
      await agent.request("session/told", { sessionId: agent.sessionId, newsId });
      await thread.getByText("for Claude Code, told").waitFor();
      await agent.request("review/comment", { replyTo: made.commentId, text: REPLY, by: agent.sessionId });
      const texts = () => thread.locator(".remark-text").allTextContents();
      const shown = REPLY.replace("\u202e", "⟨U+202E⟩");
      await untilEqual("the reply", texts, ["Not like this.\nUse the helper.", shown]);
      assert.equal(await thread.locator(".remark-text *").count(), 0);
      await stage.press("Reply", thread);
      await thread.getByRole("textbox", { name: "Your reply" }).fill("Thanks.");
      await page.keyboard.press("Control+Enter");
      await untilEqual("another reply", texts, ["Not like this.\nUse the helper.", shown, "Thanks."]);
      await stage.checkAccess();
      await stage.shot("comment-thread");

      // in two columns, too; and it follows its lines, and says what they were when they are gone
      await page.keyboard.press("v");
      await thread.waitFor();
      await stage.shot("comment-split");
      await page.keyboard.press("v");
      const moved = box.getByRole("region", { name: "Comment on lines 21 to 22" });
      await agent.step("Write above", { "a.txt": `first\n${CHANGED}` });
      await moved.waitFor();
      await agent.step("Remove it", { "a.txt": CHANGED.replace("LINE 20\nLINE 20b\n", "") });
      const outdated = box.locator(".thread", { hasText: "outdated" });
      await untilEqual("the lines", () => outdated.locator(".thread-lines").textContent(), "LINE 20\nLINE 20b");

      // resolved, and open again
      await stage.press("Resolve this comment", outdated);
      await outdated.waitFor({ state: "detached" });
      await untilEqual("its state", async () => (await all())[0].state, "resolved");
      await stage.press("Reopen");
      await outdated.waitFor();
      await stage.press("Resolve this comment", outdated);
      await outdated.waitFor({ state: "detached" });
      await page.getByRole("checkbox", { name: "Show resolved" }).check();
      await box.locator(".thread", { hasText: "resolved" }).waitFor();
      await stage.press("Reopen this comment", box);
      await untilEqual("its state", async () => (await all())[0].state, "open");
    },
  },
  {
    name: "comment-by-keys",
    async run(stage) {
      const { page, world } = stage;
      world.write("a.txt", TEXT);
      const agent = await stage.agent("codex", "By keys");
      await agent.step("Two places", { "a.txt": CHANGED });
      await stage.goTo("#/review");
      const box = stage.file("a.txt");
      await box.locator(".code").first().waitFor();
      await page.keyboard.press("]");
      await page.keyboard.press("c");
      await page.keyboard.press("]");
      await page.keyboard.press("c");
      await page.keyboard.press("c");
      const draft = box.getByRole("region", { name: "New comment on lines 20 to 21" });
      await draft.getByRole("textbox", { name: "Your comment" }).and(page.locator(":focus")).waitFor();
      await page.keyboard.type("By key.");
      await draft.getByRole("spinbutton", { name: "First line" }).fill("21");
      await page.keyboard.press("Tab");
      await box.getByRole("region", { name: "New comment on line 21" }).waitFor();

      // an agent that writes meanwhile does not move it to other lines
      await agent.step("Write above", { "a.txt": `first\n${CHANGED}` });
      await box.getByText("changed since. Choose the lines again.").waitFor();
      const button = box.getByRole("button", { name: "Comment", exact: true });
      assert.equal(await button.isDisabled(), true);
      await box.getByRole("spinbutton", { name: "Last line" }).fill("22");
      await box.getByRole("spinbutton", { name: "First line" }).fill("22");
      await box.getByRole("textbox", { name: "Your comment" }).focus();
      await page.keyboard.press("Control+Enter");
      const comments = async () => (await agent.request("review/comments", {})).comments;
      const said = async () =>
        (await comments()).map((/** @type {any} */ one) => [one.start, one.count, one.lines, one.text]);
      await untilEqual("the comment", said, [[22, 1, "LINE 20b\n", "By key."]]);

      // what is typed stays in sight, too, where nothing is pending, and is not sent if the lines are others
      await box.getByRole("textbox", { name: "Your comment" }).waitFor({ state: "detached" });
      await page.keyboard.press("c");
      await box.getByRole("textbox", { name: "Your comment" }).fill("Later.");
      await stage.press("Keep all");
      const elsewhere = page.getByRole("region", { name: "Comments on other files" });
      await page.locator(".empty-title", { hasText: "Nothing is pending" }).waitFor();
      const lines = world.read("a.txt");
      world.write("a.txt", `another\n${lines}`);
      await stage.press("Comment", elsewhere);
      await page.getByText("These lines changed since you chose them.").waitFor();
      assert.equal((await comments()).length, 1);
      world.write("a.txt", lines);
      await stage.press("Comment", elsewhere);
      await untilEqual("the comments", async () => (await comments()).length, 2);
      await elsewhere.getByRole("region", { name: "Comment on a.txt, line 22" }).waitFor();
      await elsewhere.locator(".thread-lines", { hasText: /^LINE 20b$/ }).waitFor();
      await page.keyboard.press("?");
      await stage.dialog.getByText("Comment on the pending change").waitFor();
      await page.keyboard.press("Escape");
      await stage.checkAccess();
      await stage.shot("comment-elsewhere");
    },
  },
  {
    name: "comments-read-only",
    setting: { readOnly: true },
    async run(stage) {
      const { page, world } = stage;
      world.write("a.txt", TEXT);
      const agent = await stage.agent("claude", "Only look");
      await agent.step("Two places", { "a.txt": CHANGED });
      await agent.request("review/comment", { file: "a.txt", start: 2, text: "Seen." });
      await stage.goTo("#/review");
      const thread = stage.file("a.txt").getByRole("region", { name: "Comment on line 2" });
      await thread.getByText("Seen.").waitFor();
      assert.equal(await thread.getByRole("button").count(), 0);
      assert.equal(await page.locator(".can-comment").count(), 0);
    },
  },
];
