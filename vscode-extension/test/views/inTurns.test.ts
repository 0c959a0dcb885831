import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Entry, Session, Step } from "@snapd/client";
import { arrange } from "../../src/views/arrange";
import { type TurnItem, contextValue } from "../../src/views/items";
import { change, message, openStep, operation, session, step, stepEntry, time, userEntry } from "../model/making";
import { folder, picture } from "./fakeModel";

function made(stepId: string, at: number, messageId?: string, more: Partial<Step> = {}): Entry {
  const turn = messageId === undefined ? {} : { messageId };
  return stepEntry(step(stepId, at, { tool: stepId, ...turn, ...more }));
}

function pictured(entries: readonly Entry[], sessions: readonly Session[] = [session("s")], only?: string): string[] {
  return picture(arrange(folder(sessions, entries), only));
}

function turns(entries: readonly Entry[], sessionId = "s"): readonly TurnItem[] {
  const below = arrange(folder([session(sessionId)], entries), undefined).below.get(sessionId) ?? [];
  return below.filter((item) => item.kind === "turn");
}

describe("turns in the view", () => {
  it("have their steps below them, the latest turn and the latest step first", () => {
    const entries = [
      made("d", 60, "q"),
      message("q", 50, "Now the tests"),
      made("c", 40, "p"),
      made("b", 30, "p"),
      message("p", 20, "Fix it\n\nall of it"),
      made("a", 10),
    ];
    assert.deepEqual(pictured(entries), ["Session s", "  Now the tests", "    d", "  Fix it", "    c", "    b", "  a"]);
  });

  it("are there for messages that nobody sent a text of, once they have a step", () => {
    const entries = [message("q", 30), made("b", 20, "p"), message("p", 10)];
    const [, turn, ...below] = pictured(entries);
    assert.match(turn ?? "", /^ {2}Turn at \d\d:\d\d$/);
    assert.deepEqual(below, ["    b"]);
    // no session/message at all, as of agents with a part of the events
    assert.match(pictured([made("b", 20, "p")])[1] ?? "", /^ {2}Turn at \d\d:\d\d$/);
  });

  it("of a prompt alone are a line with nothing below it", () => {
    const entries = [message("q", 30, "And why?"), made("b", 20, "p"), message("p", 10, "Fix it")];
    assert.deepEqual(pictured(entries), ["Session s", "  And why?", "  Fix it", "    b"]);
    const [quiet, latest] = turns(entries);
    assert.deepEqual([quiet?.items.length, quiet?.isLatest, latest?.isLatest], [0, false, true]);
  });

  it("hold what was between their steps and after them, and none of it moves later", () => {
    const first = [
      operation("undo", 45, { sessionId: "s", steps: ["a"] }),
      userEntry(40, [change("u40")]),
      made("b", 30, "p"),
      userEntry(20, [change("u20")]),
      made("a", 10, "p"),
    ];
    const rows = ["    Undid step 11 “a”", "    You changed u40", "    b", "    You changed u20", "    a"];
    assert.deepEqual(pictured(first).slice(2), rows);
    const more = [made("c", 60, "q"), userEntry(55, [change("u55")]), message("q", 50, "Next"), ...first];
    const after = pictured(more);
    assert.deepEqual(after.slice(1, 3), ["  Next", "    c"]);
    assert.deepEqual(after.slice(4), ["    You changed u55", ...rows]);
    const unnamed = [userEntry(80, [change("u80")]), made("d", 70), ...more];
    assert.deepEqual(pictured(unnamed).slice(1, 4), ["  You changed u80", "  d", "  Next"]);
  });

  it("stand where they began, also where an older one goes on", () => {
    const entries = [made("late", 50, "p"), made("b", 40, "q"), message("q", 30, "Two"), made("a", 20, "p")];
    const all = [...entries, message("p", 10, "One")];
    assert.deepEqual(pictured(all), ["Session s", "  Two", "    b", "  One", "    late", "    a"]);
  });

  it("tell a message that was sent again once, where it was first", () => {
    const entries = [message("p", 40, "One, please"), made("b", 30, "q"), made("a", 20, "p"), message("p", 10, "One")];
    assert.deepEqual(pictured(entries).slice(-2), ["  One, please", "    a"]);
    assert.equal(turns(entries).length, 2);
  });

  it("leave the parts of a step below it, of whatever session and turn", () => {
    const part = { parentStepId: "whole" };
    const entries = [
      made("c", 60, "q", part),
      message("q", 50, "Meanwhile"),
      made("b", 40, "sub-p", { ...part, sessionId: "sub" }),
      message("sub-p", 30, "Look around", "sub"),
      made("whole", 20, "p"),
      message("p", 10, "Explore"),
    ];
    const sessions = [session("sub"), session("s", { startedAt: time(1) })];
    const rows = ["Session s", "  Meanwhile", "  Explore", "    whole", "      c", "      b"];
    assert.deepEqual(pictured(entries, sessions), rows);
    assert.deepEqual(pictured(entries, sessions, "sub"), ["Session sub", "  Look around", "    b"]);
  });

  it("alone make no session worth a row once it has ended", () => {
    const entries = [message("p", 10, "What is this?", "talk")];
    const talk = session("talk", { stepCount: 0 });
    assert.deepEqual(pictured(entries, [talk]), ["Session talk", "  What is this?"]);
    const ended = { ...talk, endedAt: time(20) };
    assert.deepEqual(pictured(entries, [ended]), []);
    const worked = [made("a", 15, "p", { sessionId: "talk" }), ...entries];
    assert.deepEqual(pictured(worked, [ended]), ["Session talk", "  What is this?", "    a"]);
    assert.deepEqual(pictured(entries, [ended], "talk"), ["Session talk", "  What is this?"]);
    // the list of sessions was asked for a moment before
    assert.deepEqual(pictured(entries, []), []);
  });

  it("have names of their own, which change only as one becomes the latest or another does", () => {
    const first = [made("a", 20, "p"), message("p", 10, "One")];
    const more = [made("b", 40, "q"), message("q", 30, "Two"), ...first];
    const most = [made("d", 60, "r"), ...more];
    const [one] = turns(first);
    const [two, oldOne] = turns(more);
    assert.notEqual(one?.id, oldOne?.id, "so that VS Code folds it");
    assert.equal(turns(most)[2]?.id, oldOne?.id);
    assert.equal(turns([message("r", 50, "Three"), ...more])[1]?.id, two?.id, "nothing is below the latest one yet");
    assert.equal(new Set(turns(most).map(({ id }) => id)).size, 3);
    assert.deepEqual(
      turns(most).map(({ isLatest }) => isLatest),
      [true, false, false],
    );
  });

  it("tell the menus what can be done with them", () => {
    const values = [
      [message("p", 1, "x")],
      [made("a", 2, "p")],
      [made("a", 2, "p"), message("p", 1, "x")],
      [made("a", 2, "p", { state: "undone" }), message("p", 1, "x")],
      [stepEntry(openStep("a", 2, { messageId: "p" }))],
    ].map((entries) => turns(entries).map(contextValue).join());
    assert.deepEqual(values, [
      "turn.empty.prompt",
      "turn.applied",
      "turn.applied.prompt",
      "turn.undone.prompt",
      "turn.open",
    ]);
  });
});
