import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Entry, FileChange, Step } from "@snapd/client";
import { type Turn, filesChanged, turnKey, turnsOf } from "../../src/model/turns";
import { change, message, openStep, operation, step, stepEntry, time, userEntry } from "./making";

const P = { messageId: "p" };

function made(stepId: string, at: number, more: Partial<Step> = {}): Entry {
  return stepEntry(step(stepId, at, { ...P, ...more }));
}

function turnOf(entries: readonly Entry[], messageId = "p", sessionId = "s"): Turn {
  const turn = turnsOf(entries).get(turnKey({ sessionId, messageId }));
  assert.ok(turn);
  return turn;
}

describe("turnsOf", () => {
  it("gathers the steps of each message, newest first", () => {
    const entries = [
      userEntry(9),
      made("d", 8, { sessionId: "t" }),
      made("c", 7, { messageId: "q" }),
      message("q", 6, "Second", "s"),
      operation("undo", 5),
      made("b", 4),
      made("other", 3, { messageId: undefined as never }),
      made("a", 2),
      message("p", 1, "First"),
    ];
    const rows = [...turnsOf(entries).values()].map(({ sessionId, messageId, text, at, steps }) => [
      sessionId,
      messageId,
      text,
      at,
      steps.map(({ stepId }) => stepId).join(),
    ]);
    assert.deepEqual(rows, [
      ["t", "p", undefined, time(8), "d"],
      ["s", "q", "Second", time(6), "c"],
      ["s", "p", "First", time(1), "b,a"],
    ]);
  });

  it("takes the text of a message that was sent again from the last time, and the time from the first", () => {
    const turn = turnOf([message("p", 9), message("p", 5, "Better"), made("a", 3), message("p", 1, "Good")]);
    assert.deepEqual([turn.text, turn.at], ["Better", time(1)]);
    assert.equal("text" in turnOf([message("p", 1)]), false);
  });

  it("says what has become of a turn, as the daemon does", () => {
    const state = (...states: (Step["state"] | "idle")[]) =>
      turnOf([
        message("p", 50, "Go"),
        ...states.map((each, at) =>
          each === "open"
            ? stepEntry(openStep(`${at}`, at, P))
            : made(`${at}`, at, each === "idle" ? { files: [] } : { state: each }),
        ),
      ]).state;
    assert.equal(state(), "empty");
    assert.equal(state("idle"), "empty");
    assert.equal(state("applied", "idle"), "applied");
    assert.equal(state("undone", "idle", "undone"), "undone");
    assert.equal(state("undone", "applied"), "partly");
    assert.equal(state("partly"), "partly");
    assert.equal(state("undone", "open"), "open");
  });

  it("leaves out what a step says only because of its parts", () => {
    const [a, b] = [change("a", { additions: 2 }), change("b", { additions: 5 })];
    const of = (files: readonly FileChange[], ...parts: Partial<Step>[]) =>
      turnOf([
        ...parts.map((part, at) => made(`part${at}`, 5 - at, { parentStepId: "whole", ...part })),
        made("whole", 1, { files: [...files] }),
      ]);
    // an undo of the turn takes back the parts alone: the step has nothing of its own
    assert.equal(of([a, b], { files: [a], state: "undone" }, { files: [b], state: "undone" }).state, "undone");
    assert.equal(of([a, b], { files: [a], state: "undone" }).state, "partly");
    const both = change("a", { additions: 4 });
    assert.equal(of([both], { files: [a], state: "undone" }, { files: [a], state: "undone" }).state, "undone");
    assert.equal(of([both], { files: [a], state: "undone" }).state, "partly");
    const turn = of([a, b], { files: [a] }, { files: [b] });
    assert.deepEqual(turn.changes, [a, b]);
    assert.equal(filesChanged(turn), 2);
  });

  it("counts the parts of a step that is running", () => {
    const entries = [
      made("part", 5, { parentStepId: "whole", files: [change("x")] }),
      stepEntry(openStep("whole", 1, P)),
    ];
    assert.deepEqual(turnOf(entries).changes, [change("x")]);
  });

  it("counts a file that two steps changed once, and its lines twice", () => {
    const turn = turnOf([made("b", 2, { files: [change("x")] }), made("a", 1, { files: [change("x")] })]);
    assert.equal(filesChanged(turn), 1);
    assert.equal(turn.changes.length, 2);
  });

  it("knows which turn may have older steps than those of the history", () => {
    const steps = [made("d", 9, { messageId: "q" }), made("c", 8), made("b", 7)];
    assert.deepEqual([turnOf(steps, "q").isCut, turnOf(steps).isCut], [false, true]);
    assert.equal(turnOf([...steps, message("p", 6, "Go")]).isCut, false, "all of it came after its message");
    assert.equal(turnOf([made("b", 1), made("a", 0)]).isCut, false, "the first steps of the session");
  });
});
