import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Entry } from "@snapd/client";
import { arrange, entryItem, fileItem } from "../../src/views/arrange";
import { contextValue } from "../../src/views/items";
import { timelineOf } from "../../src/views/timeline";
import { change, openStep, operation, session, step, stepEntry, time, userEntry } from "../model/making";
import { folder, picture } from "./fakeModel";

function made(stepId: string, at: number, sessionId = "s", more: object = {}): Entry {
  return stepEntry(step(stepId, at, { sessionId, tool: stepId, ...more }));
}

describe("arrange", () => {
  it("puts steps below their sessions, newest first", () => {
    const entries = [made("b2", 40, "b"), made("a2", 30, "a"), made("b1", 20, "b"), made("a1", 10, "a")];
    const sessions = [session("b"), session("a")];
    assert.deepEqual(picture(arrange(folder(sessions, entries), undefined)), [
      ..."Session b,  b2,  b1,Session a,  a2,  a1".split(","),
    ]);
  });

  it("leaves out steps that every face leaves out: over, without a change and without a title", () => {
    const entries = [
      made("said", 30),
      stepEntry(step("call", 20, { partId: "call", files: [] })),
      stepEntry(step("parent", 10, { partId: "parent", files: [] })),
      made("part", 5, "s", { parentStepId: "parent" }),
    ];
    assert.deepEqual(picture(arrange(folder([session("s")], entries), undefined)), [
      "Session s",
      "  said",
      "  Step 11",
      "    part",
    ]);
  });

  it("puts the user's changes with the step before them, once", () => {
    const entries = [
      userEntry(50, [change("u50")]),
      made("b1", 40, "b"),
      userEntry(30, [change("u30")]),
      made("a1", 20, "a"),
      userEntry(10, [change("u10")]),
    ];
    assert.deepEqual(picture(arrange(folder([session("b"), session("a")], entries), undefined)), [
      "Session b",
      "  You changed u50",
      "  b1",
      "Session a",
      "  You changed u30",
      "  a1",
      "  You changed u10",
    ]);
  });

  it("shows what happened without any session, by time", () => {
    const fresh = session("fresh", { stepCount: 0, startedAt: time(15) });
    const done = session("done", { stepCount: 0, endedAt: time(20) });
    const entries = [userEntry(30, [change("u30")]), operation("restore", 10)];
    assert.deepEqual(picture(arrange(folder([done, fresh], entries), undefined)), [
      "You changed u30",
      "Session fresh",
      "Restored a snapshot",
    ]);
  });

  it("puts operations into the session that they were about", () => {
    const entries = [
      operation("undo", 40, { sessionId: "a", steps: ["a1"] }),
      made("b1", 30, "b"),
      made("a1", 20, "a", { state: "undone" }),
    ];
    assert.deepEqual(picture(arrange(folder([session("b"), session("a")], entries), undefined)), [
      "Session b",
      "  b1",
      "Session a",
      "  Undid step 21 “a1”",
      "  a1",
    ]);
  });

  it("keeps the sessions in their places while agents work in turn", () => {
    const sessions = [session("a"), session("b", { startedAt: time(5) })];
    const entries = [made("b1", 10, "b"), made("a1", 6, "a")];
    const order = ["Session b", "  b1", "Session a", "  a1"];
    assert.deepEqual(picture(arrange(folder(sessions, entries), undefined)), order);
    const more = [made("a2", 20, "a"), ...entries];
    assert.deepEqual(picture(arrange(folder(sessions, more), undefined)), [...order.slice(0, 3), "  a2", "  a1"]);
  });

  it("nests the parts of a step, of whatever session", () => {
    const part = { parentStepId: "whole" };
    const entries = [
      made("after", 50, "a"),
      made("deep", 40, "sub", { parentStepId: "part2" }),
      made("part2", 30, "sub", part),
      made("part1", 20, "a", part),
      made("whole", 10, "a"),
    ];
    const sessions = [session("sub"), session("a", { startedAt: time(1) })];
    assert.deepEqual(picture(arrange(folder(sessions, entries), undefined)), [
      ..."Session a,  after,  whole,    part2,      deep,    part1".split(","),
    ]);
    assert.deepEqual(picture(arrange(folder(sessions, entries), "sub")), [
      ..."Session sub,  part2,    deep".split(","),
    ]);
    // a part whose whole is older than what is shown
    assert.deepEqual(picture(arrange(folder(sessions, entries.slice(0, 2)), undefined)), [
      ..."Session a,  after,Session sub,  deep".split(","),
    ]);
  });

  it("shows one session alone, with what the user did in it", () => {
    const entries = [
      userEntry(40, [change("u40")]),
      made("b1", 30, "b"),
      userEntry(20, [change("u20")]),
      made("a1", 10, "a"),
    ];
    const both = folder([session("b"), session("a")], entries);
    assert.deepEqual(picture(arrange(both, "a")), ["Session a", "  You changed u20", "  a1"]);
    assert.deepEqual(picture(arrange(both, "gone")), []);
  });

  it("gives every item a name that stays and is its own", () => {
    const entries = [
      userEntry(20),
      made("a2", 15, "a", { files: [change("x"), change("y")] }),
      operation("undo", 10),
      made("a1", 5, "a", { files: [change("x")] }),
    ];
    const ids = (list: readonly Entry[]) => {
      const both = folder([session("a")], list);
      const { top, below } = arrange(both, undefined);
      const items = [...top, ...[...below.values()].flat()];
      const files = [...below.values()]
        .flat()
        .flatMap((item) => (item.kind === "turn" ? [] : item.entry.files.map((file) => fileItem(item, file))));
      return [...items, ...files].map(({ id }) => id);
    };
    const before = ids(entries);
    assert.equal(new Set(before).size, before.length);
    const after = new Set(ids([made("a3", 30, "a"), ...entries.slice(0, 1), made("a2", 15, "a", { state: "undone" })]));
    for (const id of before.slice(0, 3)) assert.ok(after.has(id), id);
  });

  it("tells the menus what an item is", () => {
    const any = folder([], []);
    const values = [
      stepEntry(step("a", 1)),
      stepEntry(step("b", 1, { state: "undone" })),
      stepEntry(openStep("c", 1)),
      userEntry(1),
      operation("redo", 1),
    ].map((entry) => {
      const item = entryItem(any, entry, []);
      return [contextValue(item), contextValue(fileItem(item, change("x")))];
    });
    assert.deepEqual(values, [
      ["step.applied", "file.step"],
      ["step.undone", "file.step"],
      ["step.open", "file.step"],
      ["user", "file.user"],
      ["operation", "file.operation"],
    ]);
    const changed = fileItem(entryItem(any, stepEntry(step("a", 1)), []), change("x", { byGit: true }));
    assert.equal(contextValue(changed), "file.git", "what git put there goes back with git alone");
  });
});

describe("timelineOf", () => {
  it("tells all that touched a file, newest first", () => {
    const entries = [
      userEntry(40, [change("src/a.txt")]),
      operation("undo", 30, { files: [change("src/a.txt"), change("b.txt")] }),
      made("other", 20, "s", { files: [change("a.txt")] }),
      made("edit", 10, "s", { files: [change("b.txt"), change("src/a.txt")] }),
    ];
    const found = timelineOf(folder([session("s")], entries), "src/a.txt");
    assert.deepEqual(
      found.map(({ entry, step: of, file }) => [entry.kind, of?.stepId, file.file]),
      [
        ["user", undefined, "src/a.txt"],
        ["undo", undefined, "src/a.txt"],
        ["step", "edit", "src/a.txt"],
      ],
    );
  });
});
