// Every action, with a daemon of its own and files on the disk.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test, type TestContext } from "node:test";
import { pathToFileURL } from "node:url";
import { SnapdClient, type Step } from "@snapd/client";
import { redoLast, undoStep } from "../../src/acting/steps";
import { revertFiles } from "../../src/acting/pieces";
import { undoTurn } from "../../src/acting/turns";
import { redo, undoLast } from "../../src/commands/undo";
import { revertSelected } from "../../src/commands/revert";
import { keepAll, keepFile, undoFile } from "../../src/commands/review";
import { restoreWorkspace } from "../../src/commands/restore";
import { snapshotNow } from "../../src/commands/snapshot";
import { FolderModel } from "../../src/model/folder";
import { SNAPD, environment } from "../support/environment";
import { FakeWorld, unsavedDocument } from "./fakes";

type Files = Readonly<Record<string, string>>;

/** A folder in which an agent works, seen by a user who answers as told. */
class Room {
  readonly root: string;
  readonly uri: string;
  readonly folder: FolderModel;
  readonly world: FakeWorld;

  constructor(
    root: string,
    readonly client: SnapdClient,
  ) {
    this.root = root;
    this.uri = pathToFileURL(root).href;
    this.folder = new FolderModel(client, this.uri, "web");
    this.world = new FakeWorld(this.folder);
  }

  get ui() {
    return this.world.ui;
  }

  /** All files, by name. */
  files(): Files {
    const names = readdirSync(this.root, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
    return Object.fromEntries(
      names.map((each) => {
        const file = path.join(each.parentPath, each.name);
        return [path.relative(this.root, file), readFileSync(file, "latin1")];
      }),
    );
  }

  /** Writes files; a null deletes one. */
  write(files: Readonly<Record<string, string | null>>): void {
    for (const [name, text] of Object.entries(files)) {
      const file = path.join(this.root, name);
      mkdirSync(path.dirname(file), { recursive: true });
      if (text === null) rmSync(file);
      else writeFileSync(file, text, "latin1");
    }
  }

  /** A step of an agent that writes these files. */
  async step(description: string, files: Readonly<Record<string, string | null>>, sessionId = "one"): Promise<Step> {
    await this.client.request("session/start", { sessionId, agent: "tester" });
    const { stepId } = await this.client.request("step/begin", { sessionId, description });
    this.write(files);
    await this.client.request("step/end", { stepId });
    const { steps } = await this.client.request("session/steps", { sessionId });
    const found = steps.find((each) => each.stepId === stepId);
    assert.ok(found);
    return found;
  }

  async state(of: Step): Promise<Step["state"] | undefined> {
    const { steps } = await this.client.request("session/steps", { sessionId: of.sessionId });
    return steps.find(({ stepId }) => stepId === of.stepId)?.state;
  }

  /** What was told last. */
  get last(): string {
    return this.ui.notices.at(-1)?.message ?? "";
  }
}

async function room(context: TestContext, files: Files): Promise<Room> {
  const top = realpathSync(mkdtempSync(path.join(os.tmpdir(), "acting-")));
  const open: Room[] = [];
  context.after(async () => {
    for (const each of open) {
      each.folder.dispose();
      await each.client.close();
    }
    rmSync(top, { recursive: true, force: true });
  });
  const root = path.join(top, "web");
  mkdirSync(root);
  const env = environment({
    SNAPD_DATA_DIR: path.join(top, "data"),
    SNAPD_RUNTIME_DIR: path.join(top, "runtime"),
    HOME: top,
  });
  const client = await SnapdClient.connect({
    transport: { command: SNAPD, args: ["serve", "--stdio"], env },
    clientInfo: { name: "acting-test" },
    folders: [pathToFileURL(root).href],
    reconnect: false,
  });
  const made = new Room(root, client);
  open.push(made);
  made.write(files);
  return made;
}

const LINES = Array.from({ length: 30 }, (_, at) => `line ${at + 1}`);

function lines(changes: Readonly<Record<number, string>> = {}): string {
  return LINES.map((line, at) => `${changes[at + 1] ?? line}\n`).join("");
}

const START: Files = { "app.py": lines(), "old.bin": "\0\x01\xff", "sub/keep.txt": "keep\n" };

test("undo of the last step, its button, and that button's button", async (context) => {
  const at = await room(context, START);
  const step = await at.step("Edit", { "app.py": lines({ 2: "two" }), "new/x.txt": "x\n", "old.bin": null });
  const left = at.files();
  at.ui.buttons = ["Undo", "Undo"];
  await undoLast(at.world.host);
  await at.world.settled();
  assert.deepEqual(
    at.ui.notices.map(({ message }) => message),
    [
      "Undid step 1 “Edit”: 2 files restored, 1 deleted.",
      "Reversed the undo of step 1 “Edit”: 2 files restored, 1 deleted.",
      "Reversed the redo of step 1 “Edit”: 2 files restored, 1 deleted.",
    ],
  );
  assert.deepEqual(at.files(), START);
  assert.equal(await at.state(step), "undone");
  await redo(at.world.host);
  assert.deepEqual(at.files(), left);
  assert.equal(await at.state(step), "applied");
});

test("pressed twice, the last two steps are undone, of whichever session", async (context) => {
  const at = await room(context, START);
  await at.step("First", { "app.py": lines({ 2: "two" }) });
  await at.step("Second", { "app.py": lines({ 2: "two", 20: "twenty" }) }, "other");
  await Promise.all([undoLast(at.world.host), undoLast(at.world.host).then(() => undoLast(at.world.host))]);
  assert.deepEqual(at.files(), START);
});

test("undo of a middle step leaves later steps and what the user wrote, and so does its button", async (context) => {
  const at = await room(context, START);
  const middle = await at.step("Middle", { "app.py": lines({ 2: "two" }) });
  await at.step("Later", { "app.py": lines({ 2: "two", 20: "twenty" }) });
  at.write({ "app.py": lines({ 2: "two", 20: "twenty", 29: "mine" }) });
  await at.world.acting.act(undoStep(at.uri, middle));
  assert.equal(at.files()["app.py"], lines({ 20: "twenty", 29: "mine" }));
  at.write({ "app.py": lines({ 11: "mine too", 20: "twenty", 29: "mine" }) });
  await at.world.acting.act(redoLast(at.uri, "one"));
  assert.equal(at.files()["app.py"], lines({ 2: "two", 11: "mine too", 20: "twenty", 29: "mine" }));
});

test("redo does all that the last undo took back, and its button takes that back again", async (context) => {
  const at = await room(context, START);
  for (const messageId of ["p", "q"]) {
    await at.client.request("session/start", { sessionId: "one", agent: "tester" });
    await at.client.request("session/message", { sessionId: "one", messageId, text: messageId });
    await at.step(`First of ${messageId}`, { [`${messageId}1.txt`]: "1\n", "app.py": lines({ 2: messageId }) });
    await at.step(`Second of ${messageId}`, { [`${messageId}2.txt`]: "2\n" });
  }
  const left = at.files();
  await at.folder.refresh();
  for (const messageId of ["q", "p"]) {
    const turn = at.folder.turn({ sessionId: "one", messageId });
    assert.ok(turn);
    await at.world.acting.act(undoTurn(at.uri, turn));
  }
  assert.deepEqual(at.files(), START);
  await redo(at.world.host);
  assert.match(at.last, /^Redid 2 steps: /);
  assert.deepEqual(Object.keys(at.files()).sort(), [...Object.keys(START), "p1.txt", "p2.txt"].sort());
  const half = at.files();
  at.ui.buttons = ["Undo"];
  // the user presses the button when the test says so
  const notify = at.ui.notify.bind(at.ui);
  at.ui.notify = (notice) => pressed.then(() => notify(notice));
  let press = (): void => undefined;
  const pressed = new Promise<void>((resolve) => {
    press = resolve;
  });
  await redo(at.world.host);
  assert.deepEqual(at.files(), left);
  press();
  await at.world.settled();
  assert.match(at.last, /^Reversed the redo of 2 steps: /);
  assert.deepEqual(at.files(), half);
});

test("undo of a turn leaves what came before, between and after its steps; its button brings just these back", async (context) => {
  const at = await room(context, START);
  const { client } = at;
  await at.step("Before", { "app.py": lines({ 2: "two" }) });
  await client.request("session/message", { sessionId: "one", messageId: "p", text: "Do it" });
  await at.step("Within", { "app.py": lines({ 2: "two", 8: "eight" }), "new.txt": "n\n" });
  at.write({ "app.py": lines({ 2: "two", 8: "eight", 14: "mine" }) });
  const { stepId } = await client.request("step/begin", { sessionId: "one", tool: "Agent" });
  await client.request("session/start", { sessionId: "sub" });
  const part = await client.request("step/begin", { sessionId: "sub", parentStepId: stepId });
  at.write({ "sub/keep.txt": null });
  await client.request("step/end", { stepId: part.stepId });
  await client.request("step/end", { stepId });
  await client.request("session/message", { sessionId: "one", messageId: "q", text: "And now?" });
  await at.step("After", { "app.py": lines({ 2: "two", 8: "eight", 14: "mine", 20: "twenty" }) });
  const left = at.files();
  await at.folder.refresh();
  const turn = () => {
    const found = at.folder.turn({ sessionId: "one", messageId: "p" });
    assert.ok(found);
    return found;
  };
  const turnRows = async () => {
    const { messages } = await client.request("session/messages", { sessionId: "one" });
    return messages.map(({ messageId, state, steps }) => [messageId, state, steps]);
  };
  assert.deepEqual(await turnRows(), [
    ["p", "applied", 2],
    ["q", "applied", 1],
  ]);
  assert.deepEqual([turn().state, turn().steps.length], ["applied", 2]);

  // the user presses the button when the test says so
  let press = (): void => undefined;
  const pressed = new Promise<void>((resolve) => {
    press = resolve;
  });
  const notify = at.ui.notify.bind(at.ui);
  at.ui.notify = (notice) => pressed.then(() => notify(notice));
  at.ui.buttons = ["Undo"];
  await at.world.acting.act(undoTurn(at.uri, turn()));
  assert.deepEqual(at.files(), {
    ...START,
    "app.py": lines({ 2: "two", 14: "mine", 20: "twenty" }),
  });
  await at.folder.refresh();
  assert.deepEqual([(await turnRows())[0], turn().state], [["p", "undone", 2], "undone"]);
  press();
  await at.world.settled();
  assert.deepEqual(at.files(), left);
  assert.deepEqual((await turnRows())[0], ["p", "applied", 2], "with the part, which is another session's");
  assert.deepEqual(
    at.ui.notices.map(({ message }) => message),
    [
      "Undid the turn “Do it”: 1 file restored, 1 merged, 1 deleted.",
      "Reversed the undo of the turn “Do it”: 2 files restored, 1 deleted.",
    ],
  );
});

test("of the files of a turn in conflict each becomes what was decided; the button brings all back", async (context) => {
  for (const decision of ["Overwrite", "Keep", "Skip"]) {
    const at = await room(context, { ...START, "b.py": lines() });
    await at.client.request("session/start", { sessionId: "one" });
    await at.client.request("session/message", { sessionId: "one", messageId: "p", text: "Do it" });
    await at.step("First", { "app.py": lines({ 2: "two" }) });
    await at.step("Second", { "app.py": lines({ 2: "TWO" }), "b.py": lines({ 2: "two" }) });
    at.write({ "app.py": lines({ 2: "mine" }), "b.py": lines({ 2: "mine, too" }) });
    await at.folder.refresh();
    at.ui.buttons = ["Undo"];
    at.ui.choices = ["app.py: Overwrite", "b.py", decision, "$(arrow-right) Go On"];
    const turn = at.folder.turn({ sessionId: "one", messageId: "p" });
    assert.ok(turn);
    const before = at.files();
    const ended: Files[] = [];
    const act = at.world.acting.act.bind(at.world.acting);
    at.world.acting.act = async (action) => {
      const done = await act(action);
      ended.push(at.files());
      return done;
    };
    await at.world.acting.act(undoTurn(at.uri, turn));
    await at.world.settled();
    const undone = { ...before, "app.py": lines(), ...(decision === "Overwrite" && { "b.py": lines() }) };
    assert.deepEqual(ended, [undone, before]);
    assert.match(at.ui.lists[0]?.rows[1]?.detail ?? "", /^changed since by you, line 2: “mine” would become “/);
  }
});

test("of two files in conflict the one that was chosen is overwritten, and comes back exactly", async (context) => {
  const at = await room(context, { ...START, "b.py": lines() });
  const step = await at.step("Edit", { "app.py": lines({ 2: "two" }), "b.py": lines({ 2: "two" }), "new.txt": "n\n" });
  at.write({ "app.py": lines({ 2: "mine" }), "b.py": lines({ 2: "mine, too" }) });
  at.ui.buttons = ["Undo"];
  at.ui.choices = ["b.py: Overwrite", "$(arrow-right) Go On"];
  const before = at.files();
  await at.world.acting.act(undoStep(at.uri, step));
  await at.world.settled();
  const [undone] = at.ui.notices.map(({ message }) => message);
  const expected =
    /^Undid step 1 “Edit”: 1 file restored, 1 deleted\. 1 file is in conflict and was left alone \(app\.py: changed since\)\. What was overwritten in b\.py stays in snapshot [0-9a-f]{10}\.$/;
  assert.match(undone ?? "", expected);
  assert.deepEqual(at.files(), before);
});

test("a step of which every file is kept counts as undone; skipped, it stays as it was", async (context) => {
  for (const [decision, state] of [
    ["Skip", "applied"],
    ["Keep", "undone"],
  ] as const) {
    const at = await room(context, START);
    const step = await at.step("Edit", { "app.py": lines({ 2: "two" }) });
    at.write({ "app.py": lines({ 2: "mine" }) });
    at.ui.choices = [decision];
    await at.world.acting.act(undoStep(at.uri, step));
    await at.world.settled();
    assert.equal(await at.state(step), state);
    assert.equal(at.files()["app.py"], lines({ 2: "mine" }));
    if (decision === "Skip") {
      assert.match(at.last, /^Undid nothing of step 1 “Edit”/);
      assert.deepEqual(at.ui.notices[0]?.buttons, ["Details"]);
    }
  }
});

test("whoever leaves the list of conflicts has nothing done", async (context) => {
  const at = await room(context, { ...START, "b.py": lines() });
  const step = await at.step("Edit", { "app.py": lines({ 2: "two" }), "b.py": lines({ 2: "two" }) });
  at.write({ "app.py": lines({ 2: "mine" }) });
  const before = at.files();
  assert.equal(await at.world.acting.act(undoStep(at.uri, step)), false);
  assert.deepEqual(at.files(), before);
  assert.equal(await at.state(step), "applied");
});

test("a file that changes while it is decided about is asked about again", async (context) => {
  const at = await room(context, START);
  const step = await at.step("Edit", { "app.py": lines({ 2: "two" }) });
  at.write({ "app.py": lines({ 2: "mine" }) });
  const choose = at.ui.choose.bind(at.ui);
  at.ui.choose = (list) => {
    if (at.ui.lists.length === 0) at.write({ "app.py": lines({ 2: "mine, and newer" }) });
    return choose(list);
  };
  at.ui.choices = ["Overwrite", "Skip"];
  await at.world.acting.act(undoStep(at.uri, step));
  assert.match(at.ui.lists[1]?.placeholder ?? "", /^Something has changed since\. /);
  assert.equal(at.files()["app.py"], lines({ 2: "mine, and newer" }));
});

test("what is overwritten by a redo becomes what the step left", async (context) => {
  const at = await room(context, START);
  const step = await at.step("Edit", { "app.py": lines({ 2: "two" }) });
  await at.world.acting.act(undoStep(at.uri, step));
  await at.world.settled();
  at.write({ "app.py": lines({ 2: "mine" }) });
  at.ui.choices = ["Overwrite"];
  await at.world.acting.act(redoLast(at.uri, "one"));
  await at.world.settled();
  assert.equal(at.files()["app.py"], lines({ 2: "two" }));
});

test("hunks are chosen by the lines of either side; the button brings the bytes back", async (context) => {
  const at = await room(context, START);
  const after = lines({ 2: "two", 15: "fifteen", 28: "twenty-eight" });
  const step = await at.step("Edit", { "app.py": after });
  await at.folder.refresh();
  const shown = (side: "before" | "after", text: string, ...selected: { first: number; last: number }[]) => ({
    folder: at.uri,
    file: "app.py",
    stepId: step.stepId,
    focus: { side, lines: text.split("\n"), selected },
  });
  at.world.shown = shown("after", after, { first: 28, last: 28 }, { first: 1, last: 1 });
  at.ui.buttons = ["Undo"];
  await revertSelected(at.world.host, undefined);
  assert.equal(at.files()["app.py"], lines({ 15: "fifteen" }));
  await at.world.settled();
  assert.equal(at.files()["app.py"], after);
  at.world.shown = shown("before", lines(), { first: 15, last: 15 });
  await revertSelected(at.world.host, undefined);
  assert.equal(at.files()["app.py"], lines({ 2: "two", 28: "twenty-eight" }));
  assert.equal(await at.state(step), "applied");
  assert.deepEqual(at.ui.lists, [], "nobody was asked");
  // where no hunk is: the user is asked
  at.world.shown = shown("before", lines(), { first: 22, last: 22 });
  at.ui.choices = [["@@ -1,5 +1,5 @@"]];
  await revertSelected(at.world.host, undefined);
  assert.equal(at.files()["app.py"], lines({ 28: "twenty-eight" }));
});

test("a file of a step is reverted whatever it is, and the button keeps what was changed since", async (context) => {
  const at = await room(context, START);
  const step = await at.step("Edit", { "app.py": lines({ 2: "two" }), "new.txt": "new\n", "old.bin": "\0\x02" });
  const left = at.files();
  for (const [file, expected] of [
    ["app.py", lines()],
    ["new.txt", undefined],
    ["old.bin", "\0\x01\xff"],
  ] as const) {
    at.ui.buttons = [undefined];
    await at.world.acting.act(revertFiles(at.uri, step, [{ file }]));
    await at.world.settled();
    assert.deepEqual(at.files()[file], expected);
  }
  assert.equal(await at.state(step), "applied");
  at.write(left);
  at.ui.buttons = ["Undo"];
  await at.world.acting.act(revertFiles(at.uri, step, [{ file: "app.py" }, { file: "new.txt" }, { file: "old.bin" }]));
  await at.world.settled();
  assert.deepEqual(at.files(), left);
});

test("the button of a revert leaves alone what was changed since, also where a snapshot was taken since", async (context) => {
  for (const [tracked, decision] of [
    [false, "Skip"],
    [true, "Skip"],
    [true, "Overwrite"],
  ] as const) {
    const at = await room(context, { ...START, "b.py": lines() });
    const step = await at.step("Edit", { "app.py": lines({ 2: "two" }), "b.py": lines({ 2: "two" }) });
    const left = at.files();
    const notify = at.ui.notify.bind(at.ui);
    at.ui.buttons = ["Undo"];
    at.ui.choices = [decision];
    at.ui.notify = async (notice) => {
      const button = await notify(notice);
      if (at.ui.notices.length === 1) {
        at.write({ "app.py": lines({ 29: "mine" }) });
        if (tracked) await at.client.request("snapshot/track", {});
      }
      return button;
    };
    await at.world.acting.act(revertFiles(at.uri, step, step.files ?? []));
    await at.world.settled();
    const expected = decision === "Skip" ? { ...left, "app.py": lines({ 29: "mine" }) } : left;
    assert.deepEqual(at.files(), expected);
    assert.match(
      at.last,
      decision === "Skip" ? /: 1 file restored\. 1 file is in conflict .*app\.py: changed since/ : /2 files restored/,
    );
  }
});

test("the workspace goes back to before a step, as it was shown; the button brings everything back", async (context) => {
  const at = await room(context, START);
  const step = await at.step("Edit", { "app.py": lines({ 2: "two" }), "new.txt": "new\n" });
  await at.step("More", { "sub/keep.txt": null });
  at.write({ "mine.txt": "mine\n" });
  const now = at.files();
  await at.folder.refresh();
  const target = { folder: at.folder, step };
  await restoreWorkspace(at.world.host, target);
  at.ui.choices = ["$(history) Restore..."];
  await restoreWorkspace(at.world.host, target);
  assert.deepEqual(at.files(), now, "cancelled at both questions");
  assert.deepEqual(at.ui.asked, [
    {
      message: "Restore web to before step 1 “Edit”?",
      detail:
        "2 files to restore, 2 to delete. 1 file was changed since the last snapshot: mine.txt. " +
        "What is there now stays in a snapshot.",
      choices: ["Restore All", "Restore, Keep Later Changes"],
    },
  ]);
  at.ui.choices = ["app.py", "$(diff-multiple) Open All Changes", "$(history) Restore..."];
  at.ui.answers = ["Restore All"];
  at.ui.buttons = ["Undo"];
  const seen: Files[] = [];
  const notify = at.ui.notify.bind(at.ui);
  at.ui.notify = (notice) => {
    seen.push(at.files());
    return notify(notice);
  };
  await restoreWorkspace(at.world.host, target);
  await at.world.settled();
  assert.equal(at.ui.compared.length, 2);
  assert.deepEqual(seen, [START, now]);
});

test("a restore that keeps later changes, and one that is asked again because a file changed meanwhile", async (context) => {
  const at = await room(context, START);
  const step = await at.step("Edit", { "app.py": lines({ 2: "two" }) });
  at.write({ "app.py": lines({ 2: "two", 29: "mine" }), "mine.txt": "mine\n" });
  at.ui.choices = ["$(history) Restore..."];
  at.ui.answers = ["Restore, Keep Later Changes"];
  await restoreWorkspace(at.world.host, { folder: at.folder, step });
  await at.world.settled();
  assert.deepEqual(at.files(), { ...START, "app.py": lines({ 29: "mine" }), "mine.txt": "mine\n" });
  const ask = at.ui.ask.bind(at.ui);
  at.ui.ask = (question) => {
    if (at.ui.asked.length === 1) at.write({ "more.txt": "more\n" });
    return ask(question);
  };
  at.ui.choices = ["$(history) Restore...", "$(history) Restore..."];
  at.ui.answers = ["Restore All"];
  await restoreWorkspace(at.world.host, { folder: at.folder, step });
  await at.world.settled();
  const { detail } = at.ui.asked[2] ?? {};
  assert.match(detail ?? "", /^Something has changed since\. 1 file to restore, 2 to delete\..*more\.txt/);
  const now = { ...START, "app.py": lines({ 29: "mine" }), "mine.txt": "mine\n", "more.txt": "more\n" };
  assert.deepEqual(at.files(), now, "what was not shown was not done");
});

test("unsaved text is not written over, here or in another editor", async (context) => {
  const at = await room(context, START);
  const step = await at.step("Edit", { "app.py": lines({ 2: "two" }) });
  const left = at.files();
  at.ui.documents = [{ ...unsavedDocument("app.py"), paths: [path.join(at.root, "app.py")] }];
  await at.world.acting.act(undoStep(at.uri, step));
  assert.deepEqual(at.files(), left);
  assert.equal(at.ui.asked[0]?.message, "app.py has unsaved text.");
  assert.equal(await at.state(step), "applied");
  // another editor of the daemon
  at.ui.documents = [];
  const uri = pathToFileURL(path.join(at.root, "app.py")).href;
  at.client.documents.didOpen(uri, "python", 1, left["app.py"] ?? "");
  at.client.documents.didChange(uri, 2, "typed\n");
  at.ui.choices = ["Skip"];
  await at.world.acting.act(undoStep(at.uri, step));
  await at.world.settled();
  assert.match(at.last, /in conflict and was left alone \(app\.py: an editor has unsaved text of it\)/);
  assert.deepEqual(at.files(), left);
  at.client.documents.didClose(uri);
  await at.world.acting.act(undoStep(at.uri, step));
  await at.world.settled();
  assert.deepEqual(at.files(), START, "what conflicted is tried again");
});

test("what is pending is kept and undone as it was shown; the button makes it pending again", async (context) => {
  const at = await room(context, START);
  await at.step("One", { "app.py": lines({ 2: "two" }), "new.txt": "new\n" });
  await at.step("Other", { "app.py": lines({ 2: "two", 20: "twenty" }) }, "two");
  at.write({ "app.py": lines({ 2: "two", 20: "twenty", 29: "mine" }), "mine.txt": "mine\n" });
  const { review } = at.folder;
  const shown = async (): Promise<readonly string[]> => {
    await review.refresh();
    return review.files.map(({ file, additions, owners }) => [file, additions, owners.length].join(" "));
  };
  const target = (file: string) => {
    const pending = review.files.find((each) => each.file === file);
    assert.ok(pending);
    return { folder: at.folder, pending: { ...pending } };
  };
  await at.folder.refresh();
  assert.deepEqual(await shown(), ["app.py 2 2", "new.txt 1 1"]);
  const old = target("app.py");

  await keepFile(at.world.host, target("new.txt"));
  assert.deepEqual(await shown(), ["app.py 2 2"]);
  const left = at.files();
  at.ui.buttons = ["Undo"];
  await undoFile(at.world.host, target("app.py"));
  await at.world.settled();
  assert.deepEqual(at.files(), left, "the button brought it back");
  assert.deepEqual(
    at.ui.notices.map(({ message }) => message),
    [
      "Undid the pending changes of app.py: 1 file restored.",
      "Reversed the undo of the pending changes of app.py: 1 file restored.",
    ],
  );
  assert.deepEqual(await shown(), ["app.py 2 2"]);
  at.ui.answers = ["Keep All"];
  await keepAll(at.world.host);
  await at.world.settled();
  assert.deepEqual(await shown(), []);
  assert.deepEqual(at.files(), left, "what is kept stays as it is");

  const kept = lines({ 2: "two", 20: "twenty", 29: "mine" });
  await at.step("Again", { "app.py": kept.replace("line 5\n", "five\n") });
  await at.world.acting.attempt("keep it", () => keepFile(at.world.host, old));
  await at.world.settled();
  assert.match(at.last, /Snapd did not keep it: app\.py has changed since it was shown/);
  assert.deepEqual(await shown(), ["app.py 1 1"]);
  at.ui.buttons = ["Undo", "Undo"];
  await undoFile(at.world.host, target("app.py"));
  await at.world.settled();
  assert.equal(at.files()["app.py"], kept, "the button of the button undid it again");
  assert.match(at.last, /^Reversed the undo of the undo of the pending changes of app\.py: 1 file restored\.$/);
  assert.deepEqual(await shown(), []);
});

test("git goes back with the files, where that is wanted; the button does both again", async (context) => {
  const at = await room(context, START);
  const git = (...words: string[]) => {
    const person = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    return execFileSync("git", [...person, ...words], { cwd: at.root, env: environment({}), encoding: "utf8" });
  };
  git("init", "--quiet", "--initial-branch=main");
  git("add", ".");
  git("commit", "--quiet", "--message=Begin");
  git("branch", "topic");
  const before = git("for-each-ref");
  await at.client.request("session/start", { sessionId: "one", agent: "tester" });
  const { stepId } = await at.client.request("step/begin", { sessionId: "one", description: "Commit" });
  at.write({ "app.py": lines({ 2: "two" }) });
  git("commit", "--quiet", "--all", "--message=Two");
  git("branch", "--quiet", "-D", "topic");
  await at.client.request("step/end", { stepId });
  const after = git("for-each-ref");
  at.ui.answers = ["Files and Git"];
  at.ui.buttons = ["Undo"];
  const read = () => readFileSync(path.join(at.root, "app.py"), "utf8");
  const seen: string[][] = [];
  const notify = at.ui.notify.bind(at.ui);
  at.ui.notify = (notice) => {
    seen.push([git("for-each-ref"), read(), git("status", "--porcelain")]);
    return notify(notice);
  };
  await undoLast(at.world.host);
  await at.world.settled();
  const id = (refs: string) => refs.slice(0, 7);
  assert.deepEqual(at.ui.asked, [
    {
      message: "Undo step 1 “Commit”?",
      detail:
        `“Files Only” leaves git as it is: main ${id(before)} → ${id(after)}, branch topic deleted.\n` +
        `“Files and Git”: main ${id(after)} → ${id(before)}, branch topic created at ${id(before)}.`,
      choices: ["Files Only", "Files and Git"],
    },
  ]);
  assert.deepEqual(seen, [
    [before, lines(), ""],
    [after, lines({ 2: "two" }), ""],
  ]);

  at.ui.answers = ["Files Only"];
  at.ui.buttons = ["Undo"];
  await undoLast(at.world.host);
  await at.world.settled();
  assert.deepEqual(seen.slice(2), [
    [after, lines(), " M app.py\n"],
    [after, lines({ 2: "two" }), ""],
  ]);
  assert.equal(at.ui.asked.length, 2, "what was left is not asked about when the files come again");

  // a step that changed only git is offered before the one that changed files
  const commit = await at.client.request("step/begin", { sessionId: "one", description: "Tag" });
  git("tag", "v1");
  await at.client.request("step/end", { stepId: commit.stepId });
  const tagged = git("for-each-ref");
  at.ui.answers = ["Take It Back"];
  at.ui.buttons = ["Undo"];
  await undoLast(at.world.host);
  await at.world.settled();
  assert.match(at.ui.asked[2]?.message ?? "", /^Step 2 “Tag” changed only git\. Take it back\?$/);
  assert.deepEqual(
    seen.slice(4).map(([refs]) => refs),
    [after, tagged],
  );
});

test("a snapshot is named, with what was skipped and what is not saved", async (context) => {
  const at = await room(context, START);
  await at.client.changeSettings({ maxFileSize: 1000 });
  at.write({ "big.bin": "x".repeat(2000) });
  at.ui.documents = [{ ...unsavedDocument("app.py"), paths: [path.join(at.root, "app.py")] }];
  await snapshotNow(at.world.host);
  await at.world.settled();
  const { lastHash } = await at.client.request("snapshot/status", {});
  assert.equal(
    at.last,
    `Took snapshot ${lastHash?.slice(0, 10) ?? ""} of web. 1 file was skipped: big.bin (too large). ` +
      "It does not contain the unsaved text of app.py.",
  );
});
