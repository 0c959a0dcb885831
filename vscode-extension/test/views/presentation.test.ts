import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Entry } from "@snapd/client";
import { eventName } from "../../src/model/wording";
import { arrange, entryItem, fileItem, folderItem } from "../../src/views/arrange";
import type { Item } from "../../src/views/items";
import { letterOf, markOf, markUri } from "../../src/views/marks";
import { present, presentInTimeline } from "../../src/views/presentation";
import { pastedHash, snapshotPicks } from "../../src/views/snapshotPicks";
import { change, hash, message, openStep, operation, session, step, stepEntry, time, userEntry } from "../model/making";
import { folder } from "./fakeModel";

const NOW = Date.parse(time(600));
const FILES = [change("a.txt", { additions: 9 }), change("b.txt", { additions: 3, deletions: 3 })];

function of(entry: Entry, sessions = [session("s")]) {
  return entryItem(folder(sessions, [entry]), entry, []);
}

/** The first turn. */
function turn(entries: readonly Entry[]): Item {
  const found = arrange(folder([session("s")], entries), undefined)
    .below.get("s")
    ?.find(({ kind }) => kind === "turn");
  assert.ok(found);
  return found;
}

describe("present", () => {
  it("shows an applied step", () => {
    const look = present(of(stepEntry(step("x", 2, { tool: "Edit", agent: "claude", files: FILES }))), NOW);
    assert.equal(look.label, "Edit");
    assert.equal(look.description, "+12 −3 · 2 files · 9 min ago");
    assert.equal(look.icon, "check");
    assert.equal(look.mark, undefined);
    assert.equal(look.spoken, "Step 3, Edit, applied, 2 files, 12 lines added, 3 removed, 9 min ago");
    assert.match(
      look.tooltip,
      /^Edit\nStep 3, applied\nAgent: Claude Code\nTool: Edit\nStarted: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\nEnded: /,
    );
  });

  it("says of a step that some of it was undone, and that it needs a look", () => {
    const partly = present(of(stepEntry(step("x", 2, { state: "partly", files: FILES }))), NOW);
    assert.equal(partly.description, "partly undone · +12 −3 · 2 files · 9 min ago");
    assert.deepEqual([partly.icon, partly.quiet, partly.mark], ["warning", false, undefined]);
    assert.equal(partly.spoken, "Step 3, partly undone, 2 files, 12 lines added, 3 removed, 9 min ago");
    assert.match(partly.tooltip, /^Step 3, partly undone$/m);
  });

  it("shows an undone step dimmed, a running one as such, and one that changed nothing", () => {
    const undone = present(of(stepEntry(step("x", 2, { state: "undone", files: FILES }))), NOW);
    assert.equal(undone.description, "undone · +12 −3 · 2 files · 9 min ago");
    assert.equal(undone.icon, "discard");
    assert.deepEqual(markOf(undone.mark?.split("?")[1] ?? ""), { letter: undefined, undone: true });
    assert.equal(undone.spoken, "Step 3, undone, 2 files, 12 lines added, 3 removed, 9 min ago");
    const open = present(of(stepEntry(openStep("x", 590))), NOW);
    assert.deepEqual(
      [open.description, open.icon, open.spoken],
      ["running · just now", "loading~spin", "Step 591, running, just now"],
    );
    const picture = change("a.png", { additions: 0, deletions: 0, binary: true });
    const binary = present(of(stepEntry(step("x", 2, { files: [picture] }))), NOW);
    assert.equal(binary.description, "binary · 1 file · 9 min ago");
    assert.equal(binary.spoken, "Step 3, applied, 1 file, binary, 9 min ago");
    const idle = present(of(stepEntry(step("x", 2, { files: [] }))), NOW);
    assert.equal(idle.description, "no changes · 9 min ago");
    assert.equal(idle.spoken, "Step 3, applied, no changes, 9 min ago");
  });

  it("says what was done to git, and which files git put there", () => {
    const git = { refs: [{ ref: "refs/heads/topic", before: hash(5) }] };
    const only = of(stepEntry(step("x", 2, { files: [], git })));
    assert.equal(present(only, NOW).description, "git: branch topic deleted · 9 min ago");
    assert.equal(present(only, NOW).spoken, "Step 3, applied, git: branch topic deleted, 9 min ago");
    assert.match(present(only, NOW).tooltip, /^git: branch topic deleted$/m);
    const user = present(of({ ...userEntry(3, []), git }), NOW);
    assert.deepEqual([user.label, user.description], ["You changed git", "git: branch topic deleted · 9 min ago"]);
    const entry = stepEntry(step("x", 2, { git, files: [change("a.txt", { byGit: true })] }));
    const file = present(fileItem(of(entry), change("a.txt", { byGit: true })), NOW);
    assert.equal(file.description, "+1 −0 · by git");
    assert.match(file.tooltip, /^By git: /m);
  });

  it("shows sessions with their steps and their last activity", () => {
    const entries = [stepEntry(step("x", 238))];
    const made = session("s", { title: "Fix it", agent: "claude", stepCount: 3 });
    const item = arrange(folder([made], entries), undefined).top[0];
    assert.ok(item);
    assert.equal(present(item, NOW).description, "Claude Code · 3 steps · 6 min ago");
    assert.equal(present(item, NOW).spoken, "Session Fix it, Claude Code, 3 steps, 6 min ago");
  });

  it("shows a turn with its prompt, its steps and what they changed", () => {
    const entries = [
      stepEntry(step("b", 70, { messageId: "p", files: [change("a.txt", { additions: 2 })] })),
      stepEntry(step("a", 65, { messageId: "p", files: FILES })),
      message("p", 60, "\n Fix *it*\n\n[all](command:x) of it\n"),
    ];
    const look = present(turn(entries), NOW);
    assert.equal(look.label, "Fix *it*");
    assert.equal(look.description, "2 steps · +14 −3 · 9 min ago");
    assert.deepEqual([look.icon, look.quiet, look.mark], ["comment", false, undefined]);
    assert.equal(look.spoken, "Turn Fix *it*, 2 steps, 2 files, 14 lines added, 3 removed, 9 min ago");
    // text, whatever stands in it: the tooltip is no Markdown
    assert.match(
      look.tooltip,
      /^Fix \*it\*\n\n\[all\]\(command:x\) of it\n\n2 steps, applied\n2 files, 14 lines added, 3 removed\n\d{4}-/,
    );
  });

  it("shows what has become of a turn", () => {
    const of = (states: readonly ("applied" | "undone" | "partly")[], ...more: Entry[]) => {
      const steps = states.map((state, at) => stepEntry(step(`${at}`, 70 - at, { messageId: "p", state })));
      return present(turn([...more, ...steps, message("p", 60, "Go")]), NOW);
    };
    const undone = of(["undone", "undone"]);
    assert.equal(undone.description, "undone · 2 steps · +2 −0 · 9 min ago");
    assert.deepEqual([undone.icon, undone.quiet], ["discard", true]);
    assert.deepEqual(markOf(undone.mark?.split("?")[1] ?? ""), { letter: undefined, undone: true });
    const partly = of(["undone", "applied"]);
    assert.equal(partly.description, "partly undone · 2 steps · +2 −0 · 9 min ago");
    assert.deepEqual([partly.icon, partly.quiet, partly.mark], ["warning", false, undefined]);
    assert.match(partly.spoken, /^Turn Go, partly undone, 2 steps, /);
    const open = of(["applied"], stepEntry(openStep("x", 80, { messageId: "p" })));
    assert.equal(open.description, "running · 2 steps · +1 −0 · 9 min ago");
    assert.equal(open.icon, "loading~spin");
    const begun = of([], stepEntry(openStep("x", 80, { messageId: "p" })));
    assert.deepEqual([begun.description, begun.quiet], ["running · 1 step · 9 min ago", false]);
  });

  it("shows a turn that changed nothing quietly, and no sum of one that is not known as a whole", () => {
    const asked = present(turn([message("p", 60, "And why?")]), NOW);
    assert.deepEqual([asked.label, asked.description, asked.quiet], ["And why?", "9 min ago", true]);
    assert.equal(asked.spoken, "Turn And why?, no steps, 9 min ago");
    assert.match(asked.tooltip, /^And why\?\n\nNo steps, no changes\n/);
    const idle = present(
      turn([stepEntry(step("a", 61, { messageId: "p", files: [] })), message("p", 60, "Look")]),
      NOW,
    );
    assert.deepEqual([idle.description, idle.quiet], ["1 step · no changes · 9 min ago", true]);
    const cut = present(turn([stepEntry(step("b", 62, { messageId: "p", files: FILES }))]), NOW);
    assert.match(cut.label, /^Turn at \d\d:\d\d$/);
    assert.equal(cut.description, "1 or more steps · 8 min ago");
    assert.match(cut.spoken, /^Turn at \d\d:\d\d, 1 or more steps, 8 min ago$/);
  });

  it("shows the user's changes and operations quietly", () => {
    const user = present(of(userEntry(590, [change("a.txt", { additions: 2, deletions: 1 })])), NOW);
    assert.deepEqual([user.label, user.description, user.quiet], ["You changed a.txt", "+2 −1 · just now", true]);
    const undo = present(of(operation("undo", 590, { files: [] })), NOW);
    assert.deepEqual([undo.label, undo.description, undo.icon], ["Undid steps", "just now", "discard"]);
  });

  it("shows files with their folder, their lines and their letter", () => {
    const look = (more: object, state: "applied" | "undone" = "applied") =>
      present(fileItem(of(stepEntry(step("x", 1, { state }))), { ...change("src/a b.py"), ...more }), NOW);
    const plain = look({});
    assert.deepEqual([plain.label, plain.description, plain.icon], ["a b.py", "src · +1 −0", undefined]);
    assert.equal(plain.spoken, "a b.py, in src, modified, 1 line added, 0 removed");
    assert.equal(plain.mark, "snapd-item:/src/a%20b.py?M");
    assert.equal(look({ status: "added" }, "undone").mark, "snapd-item:/src/a%20b.py?Au");
    const binary = look({ binary: true, additions: 0 });
    assert.deepEqual([binary.description, binary.tooltip], ["src · binary", "src/a b.py\nBinary"]);
    assert.equal(look({ additions: 0 }).description, "src");
    assert.equal(look({ additions: 0 }).spoken, "a b.py, in src, modified");
    const moved = look({ movedFrom: change("src/old.py") });
    assert.deepEqual([moved.description, moved.mark?.slice(-2)], ["← old.py · src · +1 −0", "?R"]);
    assert.equal(look({ movedFrom: change("lib/old.py") }).description, "← lib/old.py · src · +1 −0");
    assert.match(look({ shared: true }).tooltip, /^src\/a b.py\n.*\nShared: /);
  });

  it("shows folders with what they suffer from", () => {
    const look = (more: object, entries: Entry[] = []) => present(folderItem(folder([], entries, more)), NOW);
    assert.deepEqual([look({}).label, look({}).description, look({}).icon], ["app", "", "root-folder"]);
    assert.equal(look({}, [stepEntry(openStep("x", 1))]).description, "1 step running");
    assert.equal(look({ enabled: false }).description, "snapshots are off");
    const bad = look({ problem: new Error("it is the home directory") });
    assert.deepEqual([bad.description, bad.icon], ["it is the home directory", "warning"]);
  });

  it("shows in a file's timeline who did what", () => {
    const entry = stepEntry(step("x", 2, { tool: "Edit", agent: "claude", state: "undone" }));
    const look = presentInTimeline(fileItem(of(entry), change("a.txt")), NOW);
    assert.deepEqual([look.label, look.description], ["Edit", "Claude Code · undone · +1 −0 · 9 min ago"]);
    assert.equal(look.spoken, "Step 3, Edit, Claude Code, undone, modified, 1 line added, 0 removed, 9 min ago");
    const user = presentInTimeline(fileItem(of(userEntry(599)), change("u.txt")), NOW);
    assert.deepEqual([user.label, user.icon], ["You changed u.txt", "account"]);
  });
});

describe("marks", () => {
  it("survive their URI", () => {
    for (const letter of ["A", "D", "M", "R", undefined] as const) {
      for (const undone of [true, false]) {
        assert.deepEqual(markOf(markUri("a#?.py", { letter, undone }).split("?").at(-1) ?? ""), { letter, undone });
      }
    }
    assert.equal(markOf("x"), undefined);
    assert.equal(letterOf(change("a", { status: "deleted" })), "D");
  });
});

describe("snapshotPicks", () => {
  it("names both sides of every entry that has ended", () => {
    const entries = [stepEntry(openStep("y", 3)), stepEntry(step("x", 2, { tool: "Edit" }))];
    const picks = snapshotPicks(entries, ({ step: of }) => `Step ${of?.index ?? ""}`, NOW);
    assert.deepEqual(
      picks.map(({ label, hash: of }) => [label, of]),
      [
        ["Before step 3", hash(3)],
        ["After step 2", hash(3)],
        ["Before step 2", hash(2)],
      ],
    );
    assert.equal(picks[0]?.description, "0000000 · 9 min ago");
  });

  it("names the one snapshot of a message", () => {
    const entries = [message("p", 3, "Go")];
    const picks = snapshotPicks(entries, (entry) => eventName(entry, () => undefined), NOW);
    assert.deepEqual(
      picks.map(({ label, hash: of }) => [label, of]),
      [["Before the turn “Go”", hash(3)]],
    );
  });

  it("takes a hash as it is pasted", () => {
    assert.equal(pastedHash(` ${hash(10).toUpperCase()}\n`), hash(10));
    assert.equal(pastedHash(hash(10).slice(1)), undefined);
    assert.equal(pastedHash("before"), undefined);
  });
});
