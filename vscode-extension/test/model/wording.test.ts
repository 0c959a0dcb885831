import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  ago,
  capitalized,
  counted,
  eventName,
  inList,
  lines,
  linesInWords,
  lowered,
  otherMachine,
  stepInSentence,
  stepName,
  turnInSentence,
  turnName,
} from "../../src/model/wording";
import { change, operation, session, step, time, userEntry } from "./making";

const NOW = Date.UTC(2026, 5, 30, 12);

describe("words", () => {
  it("tell how long ago something was", () => {
    const after = (seconds: number) => ago(new Date(NOW - seconds * 1000).toISOString(), NOW);
    const minute = 60;
    const hour = 60 * minute;
    const day = 24 * hour;
    assert.deepEqual(
      [-5, 0, 59, minute, 59 * minute + 59, hour, 23 * hour, day, 2 * day - 1, 2 * day, 30 * day - 1].map(after),
      [
        "just now",
        "just now",
        "just now",
        "1 min ago",
        "59 min ago",
        "1 h ago",
        "23 h ago",
        "1 day ago",
        "1 day ago",
      ].concat("2 days ago", "29 days ago"),
    );
    assert.match(after(30 * day), /^on 2026-05-3\d$|^on 2026-06-01$/);
  });

  it("count", () => {
    assert.equal(counted(1, "file"), "1 file");
    assert.equal(counted(0, "file"), "0 files");
    const files = [change("a", { additions: 9, deletions: 1 }), change("b", { additions: 3, deletions: 2 })];
    assert.equal(lines(files), "+12 −3");
    assert.equal(linesInWords(files), "12 lines added, 3 removed");
    assert.equal(linesInWords([change("a")]), "1 line added, 0 removed");
  });

  it("do not count lines where there are none", () => {
    const none = { additions: 0, deletions: 0 };
    const [picture, mode] = [change("a.png", { ...none, binary: true }), change("run.sh", none)];
    const cases = [[picture], [picture, picture], [mode], [picture, mode], [], [picture, change("a")]];
    assert.deepEqual(cases.map(lines), ["binary", "binary", "", "", "", "+1 −0"]);
    assert.deepEqual(cases.map(linesInWords), ["binary", "binary", "", "", "", "1 line added, 0 removed"]);
  });

  it("name turns by the first line of the prompt", () => {
    const named = (text: string) => turnName({ text, at: time(0) });
    assert.equal(named("\n\n  Fix\tthe   tests \r\nand more"), "Fix the tests");
    assert.equal(named("a b ".repeat(20)), `${"a b ".repeat(11)}a b…`);
    assert.equal(named("x".repeat(48)), "x".repeat(48));
    assert.equal(named("x".repeat(49)), `${"x".repeat(47)}…`);
    assert.equal(named("😀".repeat(60)), `${"😀".repeat(47)}…`, "no half of a character");
    // a text could else turn what stands behind it around
    assert.equal(named("good \u202eenodnu\u2066 \u001b[31m"), "good enodnu [31m");
    const sentence = turnInSentence({ text: `Fix ${"the tests ".repeat(10)}`, at: time(0) });
    assert.equal(sentence, `the turn “Fix ${"the tests ".repeat(5)}the…”`);
  });

  it("name turns by their time where no prompt is known", () => {
    assert.match(turnName({ at: time(0) }), /^Turn at \d\d:\d\d$/);
    assert.match(turnName({ at: time(0), text: " \n" }), /^Turn at \d\d:\d\d$/);
    assert.match(turnInSentence({ at: time(0) }), /^the turn at \d\d:\d\d$/);
  });

  it("make no links or icons of what a text says", () => {
    const text = "[Press](command:workbench.action.quit) $(trash)";
    assert.equal(turnInSentence({ text, at: time(0) }), "the turn “[Press] (command:workbench.action.quit) $(trash)”");
    assert.equal(stepInSentence(step("a", 0, { tool: "[x](command:y)" })), "step 1 “[x] (command:y)”");
    assert.equal(inList("run $(trash)"), "run $\u200b(trash)");
  });

  it("name steps, and the machines of sessions", () => {
    const there = { remote: "/shared.git", host: "laptop" };
    assert.equal(otherMachine(session("0123456789")), undefined);
    assert.equal(otherMachine(session("0123456789", { origin: there })), "from laptop");
    assert.equal(otherMachine(session("0123456789", { takenOver: there })), "taken over by laptop");
    const bare = step("x", 2);
    assert.deepEqual([stepName(bare), stepInSentence(bare)], ["Step 3", "step 3"]);
    const tool = step("x", 2, { tool: "Edit" });
    assert.deepEqual([stepName(tool), stepInSentence(tool)], ["Edit", "step 3 “Edit”"]);
    assert.equal(stepName(step("x", 2, { tool: "Edit", description: "\n  Fix the test\nand more" })), "Fix the test");
    const long = step("x", 2, { description: `a\t b ${"x".repeat(80)}` });
    assert.equal(stepInSentence(long), `step 3 “a b ${"x".repeat(55)}…”`);
    assert.deepEqual([capitalized("step 3"), lowered("Step 3"), capitalized("")], ["Step 3", "step 3", ""]);
  });

  it("name what happened between steps", () => {
    const find = (stepId: string) => (stepId === "known" ? step("known", 2, { tool: "Edit" }) : undefined);
    const name = (entry: ReturnType<typeof operation>) => eventName(entry, find);
    assert.equal(name(userEntry(1, [change("src/a.txt")])), "You changed a.txt");
    assert.equal(name(userEntry(1, [change("a"), change("b")])), "You changed 2 files");
    assert.equal(name({ ...userEntry(1, [change("a")]), unknown: true }), "Someone changed a");
    assert.equal(name(operation("undo", 1, { steps: ["known"] })), "Undid step 3 “Edit”");
    assert.equal(name(operation("undo", 1, { steps: ["gone"] })), "Undid 1 step");
    assert.equal(name(operation("redo", 1, { steps: ["known", "gone"] })), "Redid 2 steps");
    assert.equal(name(operation("restore", 1)), "Restored a snapshot");
    assert.equal(name(operation("revert", 1, { files: [] })), "Reverted nothing");
    assert.equal(name(operation("hunks", 1, { files: [change("src/a.txt")] })), "Undid changes in a.txt");
  });
});
