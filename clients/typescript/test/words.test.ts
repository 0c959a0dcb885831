// The generated words: they agree with those of the daemon.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Step } from "../src/index.js";
import { agentColour, agentTitle, errorTitle, isEmpty, reasonText } from "../src/words.js";

void test("reasons and errors in words; an unknown one stays as it is", () => {
  assert.equal(reasonText("changedSince"), "changed since");
  assert.equal(reasonText("onBranch", "topic"), "the change is on branch topic");
  assert.equal(reasonText("EACCES"), "permission denied");
  assert.equal(reasonText("constructor"), "constructor");
  assert.equal(errorTitle("planChanged"), "plan changed meanwhile");
  assert.equal(errorTitle("fromTheFuture"), "fromTheFuture");
});

void test("an agent has the colour that it has everywhere", () => {
  assert.equal(agentTitle("claude"), "Claude Code");
  const names = ["claude", "my-agent", "агент", ""].map((name) => agentColour(name).name);
  // as in tests/wire/test_words.py
  assert.deepEqual(names, ["orange", "blue", "orange", "orange"]);
});

void test("which steps lists leave out", () => {
  const cases: [Partial<Step>, boolean][] = [
    [{ state: "open" }, false],
    [{}, true],
    [{ tool: "Read", partId: "1" }, true],
    [{ description: "think" }, false],
    [{ uncaptured: [{ file: "x", change: "deleted" }], partId: "1" }, false],
    [{ state: "undone", late: true, partId: "1" }, false],
  ];
  for (const [step, expected] of cases) {
    const whole = { state: "applied", files: [], ...step } as unknown as Step;
    assert.equal(isEmpty(whole), expected, JSON.stringify(step));
  }
});
