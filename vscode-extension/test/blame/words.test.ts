import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { BlamedLines } from "@snapd/client";
import type { Author } from "../../src/blame/documentBlame";
import { hoverText, lineText, stepOf } from "../../src/blame/words";
import { message, session, step, stepEntry, time } from "../model/making";
import { folder as fake } from "../views/fakeModel";

const SESSIONS = [session("s", { agent: "claude" })];
const FOLDER = fake(
  SESSIONS,
  [
    stepEntry(step("b", 2, { description: `Change ${"much ".repeat(20)}` })),
    stepEntry(step("a", 1, { messageId: "m" })),
    message("m", 0, "\u202eFix the <b>tests</b>\nplease"),
  ],
  { session: (id: string) => SESSIONS.find(({ sessionId }) => sessionId === id) },
);
const NOW = Date.parse(time(0)) + 5 * 60_000;

function by(author: BlamedLines["author"], more: Partial<BlamedLines> = {}): BlamedLines {
  return { start: 1, count: 1, author, at: time(0), ...more };
}

function byStep(stepId: string, more: Partial<BlamedLines> = {}): BlamedLines {
  return by("step", { sessionId: "s", stepId, agent: "claude", ...more });
}

function text(author: Author): string | undefined {
  return lineText(author, FOLDER, NOW);
}

describe("who wrote a line, in words", () => {
  it("is the agent, the time and the prompt; without a prompt, what the step did", () => {
    assert.equal(text(byStep("a")), "Claude Code, 5 min ago · Fix the <b>tests</b>");
    assert.match(text(byStep("b")) ?? "", /^Claude Code, 5 min ago · Change much (much )+much…$/);
  });

  it("is author, time and message of the commit that brought a line from before, on one line", () => {
    const commit = {
      id: "0123456789abcdef",
      author: "Ann Lee",
      at: time(0),
      summary: "Read it <b>all</b>\n",
    };
    const before: BlamedLines = { start: 1, count: 1, author: "before", commit };
    assert.equal(text(before), "Ann Lee, 5 min ago · Read it <b>all</b>");
    assert.match(hoverText(before, FOLDER, NOW), /^Ann Lee, 5 min ago \(.*\), git 01234567$/);
  });

  it("is as much as is known of a step that is older than the history that is known", () => {
    assert.equal(text(byStep("gone")), "Claude Code, 5 min ago");
    assert.equal(
      text({ start: 1, count: 1, author: "step", sessionId: "gone", stepId: "gone", at: time(0) }),
      "an agent, 5 min ago",
    );
  });

  it("is you for what you wrote, saved or not", () => {
    assert.equal(text(by("user")), "You, 5 min ago");
    assert.equal(text("typed"), "You, not saved");
    assert.equal(text({ start: 1, count: 1, author: "user" }), "You");
  });

  it("is nothing for what was there before snapd, or that nobody knows", () => {
    for (const author of ["before", "unknown"] as const) assert.equal(text(by(author)), undefined);
  });

  it("has the time itself in the hover", () => {
    assert.match(hoverText(byStep("a"), FOLDER, NOW), /^Claude Code, 5 min ago \(2026-01-01 \d\d:\d\d:00\)$/);
    assert.match(hoverText(by("user"), FOLDER, NOW), /^You, 5 min ago \(/);
  });

  it("leads to the step, where one wrote it", () => {
    assert.deepEqual(stepOf(byStep("a")), { sessionId: "s", stepId: "a" });
    assert.deepEqual([by("user"), by("before"), "typed" as const, undefined].map(stepOf), [
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
});
