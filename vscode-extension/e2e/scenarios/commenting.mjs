/** Comments on the lines of agents, and what the agents reply. */
import assert from "node:assert/strict";
import { until, untilEqual, untilMatches } from "../waiting.mjs";
import { LONG, withLine } from "./texts.mjs";

/** What would do something if it were taken for Markdown, and what draws text in another direction. */
const REPLY = "[run](command:snapd.undoLast) **done**\u202e <img src=x>";

/** @type {import("./index.mjs").Scenario[]} */
export const COMMENTING = [
  {
    name: "comment-on-lines",
    setting: {},
    async run(stage) {
      const { browser, diff, text, workbench, world } = stage;
      const { threads } = text;
      world.write("shared.txt", LONG);
      const agent = await stage.agent("Commented on", "claude");
      const shouted = withLine(LONG, "line 6", "LINE 6");
      await agent.step("Shout", { "shared.txt": shouted });
      await text.open("shared.txt");
      await untilEqual("the hunk", () => text.lenses("Keep").count(), 1);

      await text.comment(6, "Not like this: use the helper.");
      const comments = async () => (await agent.request("review/comments", { state: "all" })).comments;
      await untilEqual("the comments", async () => (await comments()).length, 1);
      const [made] = await comments();
      assert.deepEqual(
        [made.file, made.start, made.count, made.lines, made.text, made.sessionId],
        ["shared.txt", 6, 1, "LINE 6\n", "Not like this: use the helper.", agent.sessionId],
      );
      await threads.filter({ hasText: "For Claude Code, not told yet" }).waitFor();
      await threads.locator(".comment-body", { hasText: "Not like this: use the helper." }).waitFor();

      // the agent hears of it, and replies
      const { newsId, comments: news } = await agent.request("session/news", { sessionId: agent.sessionId });
      assert.equal(news[0].commentId, made.commentId);
      await agent.request("session/told", { sessionId: agent.sessionId, newsId });
      await threads.filter({ hasText: "For Claude Code, told" }).waitFor();
      await agent.request("review/comment", { replyTo: made.commentId, text: REPLY, by: agent.sessionId });
      const replied = threads.locator(".review-comment", { hasText: "Claude Code" });
      const body = replied.locator(".comment-body");
      await untilEqual("the reply", () => body.innerText(), REPLY.replace("\u202e", "\ufffd"));
      assert.equal(await body.locator("a, strong, img").count(), 0);
      await text.typeComment("Thanks.", "Reply to Comment");
      await untilEqual("the replies", async () => (await comments())[0].replies.length, 2);
      await threads.locator(".comment-body", { hasText: "Thanks." }).waitFor();
      await stage.shot("comment-thread");

      // it follows its lines, also in text that is not saved
      await text.typeAt(1, "mine: ");
      await browser.page.keyboard.press("Home");
      await browser.page.keyboard.type("new\n");
      await untilEqual("the thread", () => threads.count(), 1);
      await text.save();
      await untilEqual("its line", async () => (await comments())[0].start, 7);
      await agent.step("Write above", { "shared.txt": `first\n${world.read("shared.txt")}` });
      await untilEqual("its line", async () => (await comments())[0].start, 8);
      await untilEqual("its sign", () => text.commentedLines(), ["8"]);

      // all comments of the project
      await workbench.run("Comments: Focus on Comments View");
      const panel = browser.page.locator(".comments-panel");
      await panel.locator(".monaco-list-row", { hasText: "Not like this: use the helper." }).waitFor();
      await workbench.run("View: Toggle Panel Visibility");

      // in the diff of the step, which shows the file as it was
      await workbench.closeEditors();
      await stage.steps.open();
      const row = await stage.fileRow("Commented on", "Shout", "shared.txt");
      await stage.steps.click(row);
      await diff.shows(LONG, shouted);
      const signs = diff.after.locator(".margin-view-overlays [class*='comment-thread']");
      await untilEqual("the sign of the comment", () => signs.count(), 1);
      await text.openThread(signs, "Thanks.");
      await stage.shot("comment-in-diff");
      await threads.getByRole("button", { name: "Resolve Comment" }).click();
      await untilEqual("its state", async () => (await comments())[0].state, "resolved");
      // VS Code folds what is resolved
      await threads.waitFor({ state: "hidden" });
      await text.openThread(signs, "For Claude Code, resolved");
      await threads.getByRole("button", { name: "Reopen Comment" }).click();
      await untilEqual("its state", async () => (await comments())[0].state, "open");

      // what another client does is seen at once, and lines that are gone are shown
      await workbench.closeEditors();
      await text.open("shared.txt");
      await agent.step("Remove it", { "shared.txt": LONG.replace("line 6\n", "") });
      await untilEqual("whether it is outdated", async () => (await comments())[0].outdated, true);
      const { start } = (await comments())[0];
      await text.goTo(6);
      await threads.filter({ hasText: "outdated" }).filter({ hasText: "LINE 6" }).waitFor();
      // as the thread moves and grows, its line may get out of sight
      const signsAt = async (/** @type {number} */ line) => {
        await text.goTo(line);
        return text.commentedLines();
      };
      await untilEqual("its sign", () => signsAt(start), [String(start)]);
      await stage.shot("comment-outdated");
    },
  },
  {
    name: "comment-not-sent",
    setting: {},
    async run(stage) {
      const { text, threads = text.threads, workbench, world } = /** @type {any} */ (stage);
      world.write("unsaved.txt", LONG);
      const agent = await stage.agent("Unsaved", "codex");
      await agent.step("Shout", { "unsaved.txt": withLine(LONG, "line 3", "LINE 3") });
      await text.open("unsaved.txt");
      await untilEqual("the hunk", () => text.lenses("Keep").count(), 1);
      await text.typeAt(5, "typed: ");
      await text.comment(5, "About what I type.");
      await workbench.told(/Snapd could not add the comment: these lines are not saved/);
      await workbench.clearNotifications();
      const unsent = threads.locator(".review-comment", { hasText: "Not sent" });
      await unsent.filter({ hasText: "About what I type." }).waitFor();
      await stage.shot("comment-not-sent");
      await text.editor.locator(".view-line").first().click();
      await text.save();
      await unsent.hover();
      await unsent.getByRole("button", { name: "Send Comment Again" }).click();
      await unsent.waitFor({ state: "detached" });
      const { comments } = await agent.request("review/comments", {});
      assert.deepEqual([comments[0].start, comments[0].text], [5, "About what I type."]);
      await until("the thread shows it", async () => (await threads.innerText()).includes("For no agent"));
      await untilMatches("the text", () => threads.innerText(), /About what I type\./);
    },
  },
];
