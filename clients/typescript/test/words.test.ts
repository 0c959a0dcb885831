// The generated words: they agree with those of the daemon.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Step } from "../src/index.js";
import {
  agentColour,
  agentTitle,
  errorTitle,
  gitReasons,
  gitWords,
  isEmpty,
  movesGit,
  reasonText,
} from "../src/words.js";

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

void test("what was done to git, and what was left", () => {
  const commit = (digit: string) => digit.repeat(40);
  const words = gitWords({
    head: { before: "refs/heads/main", after: commit("a") },
    refs: [
      { ref: "refs/heads/main", before: commit("a"), after: commit("b"), behind: "refs/remotes/origin/main" },
      { ref: "refs/heads/topic", before: commit("a") },
      { ref: "refs/stash", before: commit("c"), after: commit("c") },
      { ref: "refs/tags/v1", after: commit("d") },
    ],
    staged: { before: 0, after: 2 },
    operation: { before: "merge", after: "none" },
    repository: "created",
  });
  // as in tests/wire/test_words.py
  assert.equal(
    words,
    "repository created, HEAD main → aaaaaaa, main aaaaaaa → bbbbbbb (behind origin/main), " +
      "branch topic deleted, stash changed, tag v1 created at ddddddd, staged 0 → 2, merge ended",
  );
  const left = { changes: { refs: [] }, reasons: [{ part: "refs/heads/topic", reason: "moved" as const }] };
  assert.deepEqual(gitReasons(left), ["refs/heads/topic: it has changed since"]);
  assert.deepEqual([movesGit(left), movesGit(undefined)], [false, false]);
  const changes = { refs: [{ ref: "refs/heads/topic", before: commit("a") }] };
  assert.deepEqual([movesGit({ changes }), movesGit({ changes, left: true })], [true, false]);
});
