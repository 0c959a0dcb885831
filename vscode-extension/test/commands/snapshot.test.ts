import assert from "node:assert/strict";
import { test } from "node:test";
import { restoreWorkspace } from "../../src/commands/restore";
import { snapshotNow } from "../../src/commands/snapshot";
import { BEFORE, entryOf, FakeFolder, FakeWorld, NOW, outcome, step, unsavedDocument } from "../acting/fakes";

test("where snapshots are off, none is said to have been taken", async () => {
  const world = new FakeWorld(new FakeFolder(() => ({ hash: null, reason: "disabled", skipped: [] })));
  await assert.rejects(snapshotNow(world.host), /Snapshots are off for web\./);
});

test("a snapshot of everything is told by its hash alone; text outside of the folder is none of it", async () => {
  const world = new FakeWorld(new FakeFolder(() => ({ hash: NOW, skipped: [] })));
  world.ui.documents = [{ ...unsavedDocument("x"), paths: ["/work/website/x"] }];
  await snapshotNow(world.host);
  await world.settled();
  assert.deepEqual(world.ui.notices, [{ severity: "info", message: "Took snapshot cccccccccc of web.", buttons: [] }]);
  assert.deepEqual(world.flushes, [0]);
});

test("several skipped files are listed on demand", async () => {
  const skipped = [
    { file: "big", reason: "tooLarge" },
    { file: "pipe", reason: "special" },
  ];
  const world = new FakeWorld(new FakeFolder(() => ({ hash: NOW, skipped })));
  world.ui.buttons = ["Details"];
  world.ui.choices = ["pipe"];
  await snapshotNow(world.host);
  await world.settled();
  assert.deepEqual(world.ui.notices, [
    {
      severity: "warning",
      message: "Took snapshot cccccccccc of web. 2 files were skipped.",
      buttons: ["Details"],
    },
  ]);
  assert.deepEqual(world.ui.opened, ["pipe"]);
});

function restoring(): FakeFolder {
  const made = new FakeFolder((method, params) => {
    if (method === "snapshot/diffFull") return { diffs: [] };
    return { applied: params["dryRun"] !== true, before: NOW, after: NOW, files: [outcome("a", "restored")] };
  });
  made.entries = [entryOf(step())];
  return made;
}

test("a restore that is cancelled at any of its questions writes nothing", async () => {
  const answers = [
    { choices: [], answers: [], documents: [] },
    { choices: ["Step 3 “Edit app.py”"], answers: [], documents: [] },
    { choices: ["Step 3 “Edit app.py”", "$(history) Restore..."], answers: [], documents: [] },
    {
      choices: ["Step 3 “Edit app.py”", "$(history) Restore..."],
      answers: ["Restore"],
      documents: [unsavedDocument("a")],
    },
  ];
  for (const each of answers) {
    const folder = restoring();
    const world = new FakeWorld(folder);
    Object.assign(world.ui, each);
    await restoreWorkspace(world.host, undefined);
    await world.settled();
    assert.equal(folder.writes.length, 0);
    assert.equal(world.ui.notices.length, 0);
  }
});

test("a restore without later changes has one way, and leaves unsaved text of other editors alone", async () => {
  const folder = restoring();
  const world = new FakeWorld(folder);
  world.ui.choices = ["$(history) Restore..."];
  world.ui.answers = ["Restore"];
  await restoreWorkspace(world.host, { folder, step: step() });
  assert.deepEqual(folder.writes, [{ method: "snapshot/restore", params: { hash: BEFORE, dryRun: false } }]);
});

test("a restore that has nothing to do asks nothing", async () => {
  const folder = new FakeFolder(() => ({
    applied: false,
    before: NOW,
    after: NOW,
    files: [outcome("a", "unchanged")],
  }));
  const world = new FakeWorld(folder);
  await restoreWorkspace(world.host, { folder, step: step() });
  await world.settled();
  assert.equal(
    world.ui.notices[0]?.message,
    "web is as it was before step 3 “Edit app.py”: no file has to be changed.",
  );
  assert.deepEqual([world.ui.lists, world.ui.asked, folder.writes], [[], [], []]);
});

test("where there is no folder, the reason is told and nothing else is tried", async () => {
  const world = new FakeWorld();
  await assert.rejects(snapshotNow(world.host), /Snapd is turned off in the settings\./);
});
