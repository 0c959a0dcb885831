import assert from "node:assert/strict";
import { test } from "node:test";
import type { FileOutcome, Step } from "@snapd/client";
import { undoTurn } from "../../src/acting/turns";
import { rewind, undoWholeTurn } from "../../src/commands/undo";
import { type Turn, turnsOf } from "../../src/model/turns";
import {
  AFTER,
  BEFORE,
  change,
  entryOf,
  FakeFolder,
  FakeWorld,
  FOLDER,
  messageOf,
  NOW,
  outcome,
  step,
  unsavedDocument,
} from "./fakes";

const FIRST = step({ stepId: "s1", index: 0, messageId: "p", from: NOW, files: [change("app.py")] });
const SECOND = step({ stepId: "s2", index: 1, messageId: "p", startedAt: "2026-11-21T10:01:00.000Z" });
const ENTRIES = [entryOf(SECOND), entryOf(FIRST), messageOf("p", "Fix it")];
const UNDO = { sessionId: "one", messageId: "p", onConflict: "merge" };

function turn(entries = ENTRIES): Turn {
  const [found] = turnsOf(entries).values();
  assert.ok(found);
  return found;
}

/** A daemon that does what is asked, with this outcome of each file; undone, the steps have these states. */
function answering(
  files: (method: string) => readonly FileOutcome[],
  states: readonly Step["state"][] = ["undone", "undone"],
): FakeFolder {
  const folder = new FakeFolder((method, params) => {
    if (method === "snapshot/track") return { hash: AFTER, skipped: [] };
    const applied = params["dryRun"] !== true;
    const steps = [SECOND, FIRST].map((each, at) => ({ ...each, state: states[at] }));
    const isTurn = method.startsWith("session/");
    return {
      applied,
      before: NOW,
      after: applied ? AFTER : BEFORE,
      files: files(method),
      ...(isTurn && { steps: method === "session/redo" ? steps.filter(({ state }) => state !== "applied") : steps }),
    };
  });
  folder.entries = [...ENTRIES];
  return folder;
}

test("a turn is undone as a step is, and the button does all of it again", async () => {
  const folder = answering(() => [outcome("app.py", "restored"), outcome("util.py", "merged")]);
  const world = new FakeWorld(folder);
  world.ui.buttons = ["Undo", "Undo"];
  await world.acting.act(undoTurn(FOLDER, turn()));
  await world.settled();
  assert.deepEqual(
    folder.writes.map(({ method, params }) => [method, params]),
    [
      ["session/undo", { ...UNDO, dryRun: false }],
      ["session/redo", { sessionId: "one", whole: true, onConflict: "merge", dryRun: false }],
      ["session/undo", { ...UNDO, dryRun: false }],
    ],
  );
  assert.deepEqual(
    world.ui.notices.map(({ message }) => message),
    [
      "Undid the turn “Fix it”: 1 file restored, 1 merged.",
      "Reversed the undo of the turn “Fix it”: 1 file restored, 1 merged.",
      "Reversed the redo of the turn “Fix it”: 1 file restored, 1 merged.",
    ],
  );
});

test("a step that was left alone is not done again", async () => {
  const files = [outcome("app.py", "conflict", "changedSince"), outcome("util.py", "restored")];
  const folder = answering(() => files, ["partly", "applied"]);
  const world = new FakeWorld(folder);
  world.ui.buttons = ["Undo"];
  world.ui.choices = ["Skip", "Skip"];
  await world.acting.act(undoTurn(FOLDER, turn()));
  await world.settled();
  assert.deepEqual(folder.writes[1], {
    method: "session/redo",
    params: { sessionId: "one", whole: true, onConflict: "merge", dryRun: false },
  });
});

test("unsaved text is asked about; where nothing could be undone, that is said", async () => {
  const folder = answering(() => [outcome("app.py", "conflict", "changedSince")], ["applied", "applied"]);
  const world = new FakeWorld(folder);
  world.ui.documents = [unsavedDocument("app.py")];
  world.ui.choices = ["Skip"];
  await world.acting.act(undoTurn(FOLDER, turn()));
  await world.settled();
  assert.match(
    world.ui.notices[0]?.message ?? "",
    /^Undid nothing of the turn “Fix it”: no file was changed\. 1 file is in/,
  );
  assert.deepEqual(world.ui.notices[0]?.buttons, ["Details"]);
  const held = answering(() => [outcome("app.py", "restored")]);
  const other = new FakeWorld(held);
  other.ui.documents = [unsavedDocument("app.py")];
  assert.equal(await other.acting.act(undoTurn(FOLDER, turn())), false);
  assert.match(other.ui.asked[0]?.detail ?? "", /^To undo the turn “Fix it”, Snapd has to write this file\.$/);
  assert.deepEqual(held.writes, []);
});

test("each file in conflict is compared with what was before the first step that changed it", async () => {
  const files = [outcome("app.py", "conflict", "changedSince"), outcome("util.py", "conflict", "unsavedInEditor")];
  const folder = answering(() => files);
  const world = new FakeWorld(folder);
  world.ui.choices = ["app.py: Open Diff", "util.py: Open Diff", "util.py: Overwrite", "$(arrow-right) Go On"];
  await world.acting.act(undoTurn(FOLDER, turn()));
  await world.settled();
  assert.deepEqual(
    world.ui.compared.map((each) => ["file" in each && each.file, each.left, each.title]),
    [
      ["app.py", { hash: NOW }, "app.py (before the turn “Fix it” ↔ now)"],
      ["util.py", { hash: BEFORE }, "util.py (before the turn “Fix it” ↔ now)"],
    ],
  );
  assert.deepEqual(folder.writes[0]?.params["decisions"], { "util.py": "overwrite" });
});

test("a running turn is ended only after a question", async () => {
  const folder = answering(() => []);
  const open = step({ stepId: "s3", state: "open", messageId: "p" });
  folder.entries = [entryOf(open), ...ENTRIES];
  const world = new FakeWorld(folder);
  const target = { folder, turn: turn(folder.entries) };
  await undoWholeTurn(world.host, target);
  assert.deepEqual(folder.sent, []);
  assert.equal(world.ui.asked[0]?.message, "The turn “Fix it” is still running.");
  world.ui.answers = ["End and Undo"];
  await undoWholeTurn(world.host, target);
  assert.equal(folder.writes.length, 1);
  // it has ended since it was shown
  folder.entries = ENTRIES;
  await undoWholeTurn(world.host, target);
  assert.equal(world.ui.asked.length, 2);
  assert.equal(folder.writes.length, 2);
});

test("from the palette only turns that can be undone are listed", async () => {
  const folder = answering(() => []);
  const undone = step({ stepId: "s4", messageId: "undone", state: "undone" });
  const idle = step({ stepId: "s5", messageId: "idle", files: [] });
  folder.entries = [messageOf("asked", "And why?"), entryOf(undone), entryOf(idle), ...ENTRIES];
  const world = new FakeWorld(folder);
  world.ui.choices = ["Fix it"];
  await undoWholeTurn(world.host, undefined);
  assert.deepEqual(
    world.ui.lists[0]?.rows.map(({ label, description, detail }) => [label, description, detail]),
    [["Fix it", "2 steps", "app.py, util.py"]],
  );
  assert.deepEqual(folder.writes[0]?.params, { ...UNDO, dryRun: false });
  folder.entries = [];
  await assert.rejects(undoWholeTurn(world.host, undefined), /There is no such turn in web\./);
});

test("files and conversation go back to before a prompt, and the command can be typed", async () => {
  const summary = "goes on in a new session";
  const chat = { agent: "claude", kind: "copy", command: ["claude", "--resume"], cwd: "/web", drops: ["p"], summary };
  const files = answering(() => [outcome("app.py", "restored")]);
  const folder = new FakeFolder((method, params) => {
    if (method !== "session/rewindChat") return files.answer(method, params);
    return { chat: params["dryRun"] === true ? chat : { ...chat, line: "cd /web && claude --resume NEW" } };
  });
  folder.entries = [...ENTRIES];
  const world = new FakeWorld(folder);
  const target = { folder, turn: turn() };
  await rewind(world.host, target);
  assert.deepEqual(folder.writes, []);
  world.ui.answers = ["Go Back"];
  world.ui.buttons = [undefined, "Type in Terminal"];
  await rewind(world.host, target);
  await world.settled();
  assert.match(world.ui.asked[0]?.detail ?? "", /Conversation: goes on in a new session\./);
  assert.deepEqual(
    folder.sent.filter(({ params }) => params["dryRun"] !== true).map(({ method }) => method),
    ["session/revert", "session/rewindChat"],
  );
  assert.equal(world.ui.notices[0]?.message, "Went back to before the turn “Fix it”: 1 file restored.");
  assert.deepEqual(world.ui.typed, ["/web $ cd /web && claude --resume NEW"]);
});
