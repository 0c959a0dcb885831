// Keeping and undoing pending changes, with a daemon that the test plays.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type PendingFile, SnapdError } from "@snapd/client";
import { keepAll, keepFile, keepHunk, undoFile, undoHunk } from "../../src/commands/review";
import { AFTER, BEFORE, change, FakeFolder, FakeWorld, FOLDER, outcome, unsavedDocument } from "./fakes";

function pending(file: string, id = `id of ${file}`): PendingFile {
  return { ...change(file), id, hunks: 1, owners: [] };
}

function room(files: readonly PendingFile[], answer?: (method: string) => unknown) {
  const folder = new FakeFolder((method, params) => {
    const found = answer?.(method);
    if (found !== undefined) return found;
    if (method === "review/keep") return { files: [], pendingFiles: 0, additions: 0, deletions: 0 };
    return { applied: params["dryRun"] !== true, before: BEFORE, after: AFTER, files: [outcome("app.py", "restored")] };
  });
  folder.review.files = files;
  const world = new FakeWorld(folder);
  return { folder, world, ui: world.ui };
}

/** Runs a command as VS Code would: it shows what goes wrong. */
async function run(world: FakeWorld, command: () => Promise<void>): Promise<string | undefined> {
  await world.acting.attempt("do it", command);
  await world.settled();
  return world.ui.notices.at(-1)?.message;
}

function target(file: PendingFile) {
  return { folder: { uri: FOLDER }, pending: file };
}

test("a file is kept with the id that was shown, after all that is typed was told", async () => {
  const { folder, world } = room([]);
  await run(world, () => keepFile(world.host, target(pending("app.py", "7"))));
  assert.deepEqual(folder.sent, [{ method: "review/keep", params: { files: ["app.py"], expect: { "app.py": "7" } } }]);
  assert.deepEqual(world.flushes, [0]);
  assert.equal(folder.review.refreshed, 1);
});

test("a file whose name is no UTF-8 goes by its URI", async () => {
  const { folder, world } = room([]);
  const uri = `${FOLDER}/%FF`;
  await run(world, () => keepFile(world.host, target({ ...pending("\ufffd", "7"), uri })));
  assert.deepEqual(folder.sent[0]?.params, { files: [uri], expect: { [uri]: "7" } });
});

test("a file is undone as every action: foretold, done and told, with a button that takes it back", async () => {
  const { folder, world, ui } = room([]);
  const text = await run(world, () => undoFile(world.host, target(pending("app.py", "7"))));
  const params = { files: ["app.py"], expect: { "app.py": "7" }, onConflict: "merge" };
  assert.deepEqual(folder.sent, [
    { method: "review/revert", params: { ...params, details: "counts", dryRun: true } },
    { method: "review/revert", params: { ...params, dryRun: false } },
  ]);
  assert.equal(text, "Undid the pending changes of app.py: 1 file restored.");
  assert.deepEqual(ui.notices[0]?.buttons, ["Undo", "Details"]);
  assert.equal(folder.review.refreshed, 1);
});

for (const [name, command] of [["kept", keepFile] as const, ["undone", undoFile] as const]) {
  test(`a file with unsaved text is not ${name}, and the message names it`, async () => {
    const { folder, world, ui } = room([]);
    ui.documents = [unsavedDocument("app.py")];
    const text = await run(world, () => command(world.host, target(pending("app.py"))));
    assert.match(text ?? "", /app\.py has unsaved text\. Save it first/);
    assert.deepEqual(folder.writes, []);
    ui.documents = [unsavedDocument("other.py")];
    await run(world, () => command(world.host, target(pending("app.py"))));
    assert.equal(folder.writes.length, 1);
  });

  test(`a file that has changed since it was shown is not ${name}: a message says so, and the list is read again`, async () => {
    const { folder, world } = room([], () => {
      throw new SnapdError("app.py has changed since it was shown", 1017, { kind: "fileChanged", file: "app.py" });
    });
    const text = await run(world, () => command(world.host, target(pending("app.py"))));
    assert.match(
      text ?? "",
      /Snapd did not .*: app\.py has changed since it was shown\. Look at the changes as they are now/,
    );
    assert.equal(folder.review.refreshed, 1);
  });
}

test("from the palette it is the file of the active editor, or one that the user is asked for", async () => {
  const { folder, world, ui } = room([pending("app.py", "1"), pending("util.py", "2")]);
  world.shown = { folder: FOLDER, file: "util.py" };
  await run(world, () => keepFile(world.host, undefined));
  assert.deepEqual(folder.sent.at(-1)?.params, { files: ["util.py"], expect: { "util.py": "2" } });
  world.shown = { folder: FOLDER, file: "other.py" };
  ui.choices = ["app.py"];
  await run(world, () => keepFile(world.host, undefined));
  assert.deepEqual(folder.sent.at(-1)?.params, { files: ["app.py"], expect: { "app.py": "1" } });
  await run(world, () => keepFile(world.host, undefined));
  assert.equal(folder.sent.length, 2, "cancelled, nothing is kept");
});

test("all is kept that was listed, and no file that came since; the user hears how much it is", async () => {
  const { folder, world, ui } = room([pending("app.py", "1"), pending("util.py", "2")]);
  await run(world, () => keepAll(world.host));
  assert.deepEqual(folder.sent, [], "cancelled, nothing is kept");
  ui.answers = ["Keep All"];
  const text = await run(world, () => keepAll(world.host));
  assert.match(ui.asked[0]?.message ?? "", /Keep all pending changes of 2 files\?/);
  assert.match(ui.asked[0]?.detail ?? "", /^2 lines added, 2 removed\. The files stay/);
  assert.deepEqual(folder.sent, [
    { method: "review/keep", params: { files: ["app.py", "util.py"], expect: { "app.py": "1", "util.py": "2" } } },
  ]);
  assert.equal(text, "Kept the pending changes of 2 files.");
});

test("all means the files that are not listed too", async () => {
  const { folder, world, ui } = room([pending("app.py", "1")]);
  folder.review.unlisted = [pending("more.py", "3")];
  ui.answers = ["Keep All"];
  await run(world, () => keepAll(world.host));
  assert.deepEqual(folder.sent[0]?.params["files"], ["app.py", "more.py"]);
});

test("where nothing is pending, that is said", async () => {
  const { folder, world } = room([]);
  assert.match((await run(world, () => keepAll(world.host))) ?? "", /Nothing is pending in web\./);
  assert.match((await run(world, () => undoFile(world.host, undefined))) ?? "", /Nothing is pending in web\./);
  assert.deepEqual(folder.sent, []);
});

test("a hunk is kept or undone by its index, with the id that was shown: that of the lens, or of the cursor", async () => {
  const { folder, world } = room([]);
  const lens = { ...target(pending("app.py", "7")), hunks: [2] };
  await run(world, () => keepHunk(world.host, lens));
  const params = { file: "app.py", hunks: [2], expect: { "app.py": "7" } };
  assert.deepEqual(folder.writes, [{ method: "review/keep", params }]);
  world.hunk = lens;
  const text = await run(world, () => undoHunk(world.host, undefined));
  assert.deepEqual(folder.writes.at(-1)?.params, { ...params, onConflict: "merge", dryRun: false });
  assert.equal(text, "Undid 1 hunk of app.py: 1 file restored.");
});

test("the only hunk of a new file stands for the file", async () => {
  const { folder, world } = room([]);
  await run(world, () => undoHunk(world.host, target(pending("app.py", "7"))));
  assert.deepEqual(folder.writes[0]?.params["files"], ["app.py"]);
});

test("without a hunk at the cursor nothing is done, and a message says what to do", async () => {
  const { folder, world } = room([pending("app.py")]);
  assert.match((await run(world, () => keepHunk(world.host, undefined))) ?? "", /in no pending hunk/);
  assert.deepEqual(folder.sent, []);
});
