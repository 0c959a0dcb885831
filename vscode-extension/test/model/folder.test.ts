import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { FolderModel } from "../../src/model/folder";
import { WorkspaceModel } from "../../src/model/workspace";
import { FakeFolder, connectionOf } from "./fakeConnection";
import { change, hash, message, openStep, operation, session, step, stepEntry, time, userEntry } from "./making";

const URI = "file:///work/app";

function opened(folder: FakeFolder) {
  const connection = connectionOf(folder);
  const workspace = new WorkspaceModel();
  workspace.setConnection(connection);
  workspace.setFolders([{ uri: folder.uri, name: "app" }]);
  const [model] = workspace.folders;
  assert.ok(model);
  return { connection, workspace, model };
}

/** Waits until something holds, looked at whenever the model changes. */
function until(model: Pick<FolderModel, "onDidChange">, holds: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (!holds()) return;
      subscription.dispose();
      resolve();
    };
    const subscription = model.onDidChange(look);
    look();
  });
}

function didChange(sessionId: string, made: ReturnType<typeof step>) {
  return { workspaceUri: URI, seq: 1, session: session(sessionId), step: made };
}

describe("FolderModel", () => {
  it("reads sessions and history once", async () => {
    const folder = new FakeFolder(URI);
    folder.sessions.push(session("old"), session("s", { startedAt: time(5) }));
    folder.entries.push(stepEntry(step("b", 2)), userEntry(1), stepEntry(step("a", 0)));
    const { connection, workspace, model } = opened(folder);
    await until(model, () => model.loaded);
    assert.deepEqual(model.entries, folder.entries);
    assert.deepEqual(
      model.sessions.map(({ sessionId }) => sessionId),
      ["s", "old"],
    );
    assert.equal(model.lastStep()?.stepId, "b");
    assert.equal(model.step("a")?.index, 0);
    assert.deepEqual(connection.asked.map(({ method }) => method).sort(), [
      "session/history",
      "session/list",
      "snapshot/status",
    ]);
    workspace.dispose();
    assert.equal(connection.listeners, 0);
  });

  it("shows what concerns the folder of the window, and names files as the folder around it does", async () => {
    const folder = new FakeFolder(`${URI}/src`);
    folder.root = { workspaceUri: "file:///real/app", within: "src" };
    folder.sessions.push(session("here"), session("elsewhere"));
    const here = stepEntry(step("a", 0, { sessionId: "here", files: [change("src/a.ts"), change("b.ts")] }));
    const elsewhere = stepEntry(step("b", 1, { sessionId: "elsewhere", files: [change("srcs/a.ts")] }));
    folder.entries.push(elsewhere, here);
    const { connection, workspace, model } = opened(folder);
    await until(model, () => model.loaded);
    assert.deepEqual(model.entries, [here]);
    assert.deepEqual(
      model.sessions.map(({ sessionId }) => sessionId),
      ["here"],
    );
    assert.equal(model.lastStep()?.stepId, "a");
    assert.equal(model.uri, URI);
    assert.equal(workspace.folderOf(`${URI}/b.ts`), model);
    assert.ok(connection.asked.every(({ params }) => params["workspaceUri"] === folder.uri));
    folder.root = { workspaceUri: "file:///real/app", within: "other" };
    await model.refresh();
    assert.equal(model.uri, "file:///real/app", "the window's folder is a link");
    workspace.dispose();
  });

  it("knows turns, those that concern the folder of the window with all their steps", async () => {
    const folder = new FakeFolder(`${URI}/src`);
    folder.root = { workspaceUri: "file:///real/app", within: "src" };
    folder.sessions.push(session("s"));
    const made = (stepId: string, at: number, messageId: string, file: string) =>
      stepEntry(step(stepId, at, { messageId, files: [change(file)] }));
    folder.entries.push(
      message("r", 60, "Only asked"),
      stepEntry(openStep("d", 55, { messageId: "open" })),
      message("open", 50, "Under way"),
      made("c", 45, "q", "docs/c.md"),
      message("q", 40, "Elsewhere"),
      made("b", 30, "p", "docs/b.md"),
      made("a", 20, "p", "src/a.ts"),
      message("p", 10, "Here"),
    );
    const { connection, workspace, model } = opened(folder);
    await until(model, () => model.loaded);
    assert.deepEqual(
      model.turns.map(({ text, steps }) => [text, steps.map(({ stepId }) => stepId).join()]),
      [
        ["Under way", "d"],
        ["Here", "b,a"],
      ],
    );
    assert.deepEqual(
      model.entries.map(({ kind, text, step: of }) => (kind === "message" ? text : of?.stepId)),
      ["d", "Under way", "a", "Here"],
    );
    assert.equal(model.turn({ sessionId: "s", messageId: "q" })?.text, "Elsewhere");
    assert.equal(connection.count("session/history"), 1);
    assert.equal(connection.count("session/messages"), 0);
    folder.problem = new Error("gone");
    await model.refresh();
    assert.deepEqual([model.turns, model.turn({ sessionId: "s", messageId: "p" })], [[], undefined]);
    workspace.dispose();
  });

  it("shows a message as soon as it is told of, with one reading", async () => {
    const folder = new FakeFolder(URI);
    folder.sessions.push(session("s"));
    for (let at = 0; at < 120; at += 1) folder.entries.unshift(stepEntry(step(`step${at}`, at)));
    const { connection, workspace, model } = opened(folder);
    await model.refresh();
    const before = connection.count("session/history");
    folder.entries.unshift(message("p", 200, "Go"));
    connection.emit("session/didChange", { workspaceUri: URI, seq: 1, session: session("s") });
    await until(model, () => model.turns.length === 1);
    assert.equal(connection.count("session/history"), before + 1);
    workspace.dispose();
  });

  it("makes few requests of many notifications", async () => {
    const folder = new FakeFolder(URI);
    folder.sessions.push(session("s"));
    const { connection, workspace, model } = opened(folder);
    await model.refresh();
    const before = connection.asked.length;
    for (let at = 0; at < 200; at += 1) {
      const made = step(`step${at}`, at);
      folder.entries.unshift(stepEntry(made));
      connection.emit("snapshot/didTrack", { workspaceUri: URI, seq: 1, hash: hash(at + 1), previous: hash(at) });
      connection.emit("session/didChange", didChange("s", made));
    }
    await until(model, () => model.entries.length === 200);
    assert.deepEqual(model.entries, folder.entries);
    const made = connection.asked.length - before;
    assert.ok(made <= 12, `${made} requests`);
    workspace.dispose();
  });

  it("tells many changes of the work tree few times, and asks nothing for them", async () => {
    const { connection, workspace, model } = opened(new FakeFolder(URI));
    await model.refresh();
    // what they ask at the beginning, too
    await Promise.all([model.review.refresh(), model.comments.refresh()]);
    const before = connection.asked.length;
    let count = 0;
    model.onDidChange(() => (count += 1));
    for (let at = 0; at < 200; at += 1) {
      const files = [change(`f${at}`)];
      connection.emit("snapshot/didChange", { workspaceUri: URI, seq: 1, base: hash(1), files });
    }
    await until(model, () => model.pending[0]?.file === "f199" && count > 0);
    assert.ok(count <= 3, `${count} times`);
    assert.equal(connection.asked.length, before);
    workspace.dispose();
  });

  it("asks for no history after a snapshot in which nothing is new", async (context) => {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const { connection, workspace, model } = opened(new FakeFolder(URI));
    await until(model, () => model.loaded);
    await turn();
    // nothing waits any more: what is asked for now is asked at once
    context.mock.timers.tick(1000);
    const before = connection.count("session/history");
    connection.emit("snapshot/didChange", { workspaceUri: URI, seq: 1, base: hash(1), files: [change("a")] });
    connection.emit("snapshot/didTrack", { workspaceUri: URI, seq: 2, hash: hash(1), previous: hash(1) });
    assert.deepEqual(model.pending, []);
    assert.equal(connection.count("session/history"), before);
    connection.emit("snapshot/didTrack", { workspaceUri: URI, seq: 3, hash: hash(2), previous: hash(1) });
    assert.ok(connection.count("session/history") > before);
    workspace.dispose();
  });

  it("reads no more of a long history than may look different", async () => {
    const folder = new FakeFolder(URI);
    for (let at = 0; at < 700; at += 1) folder.entries.unshift(stepEntry(step(`step${at}`, at)));
    const { connection, workspace, model } = opened(folder);
    await until(model, () => model.loaded);
    assert.deepEqual(model.entries, folder.entries.slice(0, 500));
    assert.equal(connection.count("session/history"), 10);

    const made = step("new", 700);
    folder.entries.unshift(stepEntry(made));
    connection.emit("session/didChange", didChange("s", made));
    await until(model, () => model.step("new") !== undefined);
    assert.equal(connection.count("session/history"), 11);
    assert.deepEqual(model.entries, folder.entries.slice(0, 500));

    const deep = step("step600", 600, { state: "undone" });
    folder.entries[100] = stepEntry(deep);
    folder.entries.unshift(operation("undo", 701, { steps: ["step600"], sessionId: "s" }));
    connection.emit("session/didChange", didChange("s", deep));
    await until(model, () => model.step("step600")?.state === "undone");
    assert.equal(connection.count("session/history"), 14);
    assert.deepEqual(model.entries, folder.entries.slice(0, 500));
    workspace.dispose();
  });

  it("keeps the objects of entries that look as before", async () => {
    const folder = new FakeFolder(URI);
    folder.entries.push(stepEntry(step("b", 2)), stepEntry(step("a", 0)));
    const { workspace, model } = opened(folder);
    await model.refresh();
    const [first, second] = model.entries;
    folder.entries[0] = stepEntry(step("b", 2, { state: "undone" }));
    await model.refresh();
    assert.notEqual(model.entries[0], first);
    assert.equal(model.entries[1], second);
    workspace.dispose();
  });

  it("reads everything anew after a reset and after a reconnect", async () => {
    const folder = new FakeFolder(URI);
    for (let at = 0; at < 120; at += 1) folder.entries.unshift(stepEntry(step(`step${at}`, at)));
    const { connection, workspace, model } = opened(folder);
    await model.refresh();
    folder.entries[110] = stepEntry(step("step9", 9, { state: "undone" }));
    connection.reset(URI);
    await until(model, () => model.step("step9")?.state === "undone");

    connection.become("reconnecting");
    folder.problem = new Error("the connection was lost");
    connection.emit("session/didChange", didChange("s", step("step119", 119)));
    await Promise.resolve();
    folder.entries[111] = stepEntry(step("step8", 8, { state: "undone" }));
    await model.refresh();
    assert.equal(model.problem, undefined);
    assert.equal(model.entries.length, 120);
    folder.problem = undefined;
    connection.become("ready");
    await until(model, () => model.step("step8")?.state === "undone");
    assert.deepEqual(model.entries, folder.entries);
    workspace.dispose();
  });

  it("shows an error of one folder as its problem, and goes on with the others", async () => {
    const [bad, good] = [new FakeFolder("file:///work/bad"), new FakeFolder(URI)];
    bad.problem = new Error("somebody else's folder");
    good.entries.push(stepEntry(step("a", 0)));
    const workspace = new WorkspaceModel();
    workspace.setFolders([bad, good].map(({ uri }) => ({ uri, name: uri })));
    assert.equal(workspace.folders.length, 0);
    workspace.setConnection(connectionOf(bad, good));
    await workspace.refresh();
    const problems = () => workspace.folders.map(({ problem }) => problem?.message);
    assert.deepEqual(problems(), ["somebody else's folder", undefined]);
    assert.deepEqual(workspace.folderOf(URI)?.entries, good.entries);
    bad.problem = undefined;
    await workspace.refresh();
    assert.deepEqual(problems(), [undefined, undefined]);
    workspace.dispose();
    assert.equal(workspace.folders.length, 0);
  });

  it("hears of a folder that the daemon calls by another name", async () => {
    const folder = new FakeFolder(URI);
    const { connection, workspace, model } = opened(folder);
    connection.answers.set("snapshot/status", () => ({ enabled: true, workspaceUri: "file:///real/app" }));
    await model.refresh();
    folder.entries.push(stepEntry(step("a", 0)));
    connection.emit("session/didChange", { ...didChange("s", step("a", 0)), workspaceUri: "file:///real/%61pp" });
    await until(model, () => model.entries.length === 1);
    const count = connection.asked.length;
    connection.emit("session/didChange", { ...didChange("s", step("a", 0)), workspaceUri: "file:///real/app2" });
    assert.equal(connection.asked.length, count);
    workspace.dispose();
  });

  it("reads what an older step shows of its running part", async () => {
    const folder = new FakeFolder(URI);
    folder.entries.push(stepEntry(openStep("part", 100, { parentStepId: "whole" })));
    for (let at = 99; at > 0; at -= 1) folder.entries.push(stepEntry(step(`step${at}`, at)));
    folder.entries.push(stepEntry(step("whole", 0)));
    const { connection, workspace, model } = opened(folder);
    await model.refresh();
    folder.entries[100] = stepEntry(step("whole", 0, { files: [change("a.txt"), change("b.txt")] }));
    connection.emit("snapshot/didTrack", { workspaceUri: URI, seq: 1, hash: hash(2), previous: hash(1) });
    await until(model, () => model.step("whole")?.files?.length === 2);
    assert.deepEqual(model.entries, folder.entries);
    workspace.dispose();
  });

  it("tells moved files as one, asked once", async () => {
    const files = [change("new.txt", { status: "added" }), change("old.txt", { status: "deleted" }), change("z.txt")];
    const folder = new FakeFolder(URI);
    folder.entries.push(stepEntry(step("a", 0, { files })));
    const { connection, workspace, model } = opened(folder);
    await model.refresh();
    const [entry] = model.entries;
    assert.ok(entry);
    connection.answers.set("snapshot/diffFull", () => {
      throw new Error("the snapshot has expired");
    });
    await assert.rejects(model.changedFiles(entry), /expired/);
    const diff = { file: "new.txt", status: "modified", renamedFrom: "old.txt", additions: 2, deletions: 1 };
    connection.answers.set("snapshot/diffFull", () => ({ diffs: [{ ...diff, binary: false, before: "", after: "" }] }));
    const moved = await model.changedFiles(entry);
    assert.deepEqual(moved, [
      { file: "new.txt", status: "modified", additions: 2, deletions: 1, binary: false, movedFrom: files[1] },
      files[2],
    ]);
    assert.equal(await model.changedFiles(entry), moved);
    assert.equal(connection.count("snapshot/diffFull"), 2);
    assert.deepEqual(connection.asked.at(-1)?.params["files"], ["new.txt", "old.txt"]);
    workspace.dispose();
  });
});

describe("WorkspaceModel", () => {
  it("finds the innermost folder of a file, however its name is escaped", () => {
    const uris = ["file:///work/app", "file:///work/app/inner", "file:///work/a%C3%A4%20b"];
    const workspace = new WorkspaceModel();
    workspace.setConnection(connectionOf());
    workspace.setFolders(uris.map((uri) => ({ uri, name: uri })));
    const of = (uri: string) => workspace.folderOf(uri)?.uri;
    assert.equal(of("file:///work/app/x"), uris[0]);
    assert.equal(of("file:///work/app/inner/x"), uris[1]);
    assert.equal(of("file:///work/app/inner"), uris[1]);
    assert.equal(of("file:///work/app/inner2"), uris[0]);
    assert.equal(of("file:///work/app2/x"), undefined);
    assert.equal(of("file:///work/%61%c3%a4%20b/x"), uris[2]);
    workspace.dispose();
  });

  it("keeps the folders that stay", () => {
    const workspace = new WorkspaceModel();
    const connection = connectionOf();
    workspace.setConnection(connection);
    workspace.setFolders([{ uri: URI, name: "app" }]);
    const [kept] = workspace.folders;
    workspace.setFolders([
      { uri: "file:///other", name: "other" },
      { uri: URI, name: "app" },
    ]);
    assert.equal(workspace.folders[1], kept);
    workspace.setFolders([]);
    assert.equal(connection.listeners, 0);
    workspace.dispose();
  });
});
