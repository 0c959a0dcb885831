import assert from "node:assert/strict";
import { test } from "node:test";
import { revertFile, revertSelected } from "../../src/commands/revert";
import { AFTER, BEFORE, change, entryOf, FakeFolder, FakeWorld, FOLDER, outcome, step } from "../acting/fakes";

const HUNKS = [
  { index: 0, header: "@@ -1,2 +1,2 @@", lines: [" a", "-b", "+B"] },
  { index: 1, header: "@@ -9 +9 @@", lines: ["-i", "+I"] },
];
const SHOWN = ["a", "B", "c", "d", "e", "f", "g", "h", "I"];

function folder(hunks = HUNKS): FakeFolder {
  const made = new FakeFolder((method, params) => {
    if (method === "step/hunks") return { hunks };
    return { applied: params["dryRun"] !== true, before: BEFORE, after: AFTER, files: [outcome("app.py", "restored")] };
  });
  made.entries = [entryOf(step())];
  return made;
}

function shown(...selected: { first: number; last: number }[]) {
  return {
    folder: FOLDER,
    file: "app.py",
    stepId: "s3",
    focus: { side: "after" as const, lines: SHOWN, selected },
  };
}

test("the selected hunks are reverted, several selections too", async () => {
  const only = folder();
  const world = new FakeWorld(only);
  world.shown = shown({ first: 9, last: 9 }, { first: 2, last: 3 });
  await revertSelected(world.host, undefined);
  assert.deepEqual(only.writes, [
    {
      method: "step/revertHunks",
      params: { stepId: "s3", file: "app.py", hunks: [0, 1], onConflict: "merge", dryRun: false },
    },
  ]);
});

test("outside of every hunk the user is asked, with header and first lines, and may cancel", async () => {
  const only = folder();
  const world = new FakeWorld(only);
  world.shown = shown({ first: 5, last: 5 });
  await revertSelected(world.host, undefined);
  assert.equal(only.writes.length, 0);
  assert.deepEqual(
    world.ui.lists[0]?.rows.map(({ label, detail }) => [label, detail]),
    [
      ["@@ -1,2 +1,2 @@", "-b   +B"],
      ["@@ -9 +9 @@", "-i   +I"],
    ],
  );
  world.ui.choices = [[]];
  await revertSelected(world.host, undefined);
  assert.equal(only.writes.length, 0, "none chosen");
  world.ui.choices = [["@@ -9 +9 @@"]];
  await revertSelected(world.host, undefined);
  assert.deepEqual(only.writes[0]?.params["hunks"], [1]);
});

for (const [what, change_] of [
  ["other lines than the hunks tell of", { lines: ["x", ...SHOWN] }],
  ["no side of the step", undefined],
] as const) {
  test(`an editor that shows ${what} chooses nothing by itself`, async () => {
    const only = folder();
    const world = new FakeWorld(only);
    const { focus, ...rest } = shown({ first: 2, last: 2 });
    world.shown = change_ === undefined ? rest : { ...rest, focus: { ...focus, ...change_ } };
    await revertSelected(world.host, undefined);
    assert.equal(world.ui.lists.length, 1);
    assert.equal(only.writes.length, 0);
  });
}

test("lines of a file that may have been moved choose nothing by themselves", async () => {
  const only = folder();
  only.entries = [entryOf(step({ files: [change("app.py", "added"), change("old.py", "deleted")] }))];
  const world = new FakeWorld(only);
  world.shown = shown({ first: 2, last: 2 });
  await revertSelected(world.host, undefined);
  assert.equal(world.ui.lists.length, 1);
});

test("a file without hunks is told as such", async () => {
  const world = new FakeWorld(folder([]));
  world.shown = shown({ first: 2, last: 2 });
  await assert.rejects(revertSelected(world.host, undefined), /app\.py has no hunks/);
});

test("a file is reverted from an item, whatever the active editor shows", async () => {
  const only = folder();
  const world = new FakeWorld(only);
  world.shown = shown();
  const file = { file: "caf\uFFFD.py", uri: "file:///work/web/caf%E9.py" };
  await revertFile(world.host, { folder: only, step: step({ stepId: "s7" }), file });
  assert.deepEqual(only.writes, [
    {
      method: "step/revertFiles",
      params: { stepId: "s7", files: [file.uri], onConflict: "merge", dryRun: false },
    },
  ]);
});

test("several selected files of one step are reverted together", async () => {
  const only = folder();
  const world = new FakeWorld(only);
  const selected = ["app.py", "util.py"].map((file) => ({ folder: only, step: step(), file: { file } }));
  await revertFile(world.host, selected[0], selected);
  assert.deepEqual(
    only.writes.map(({ params }) => params["files"]),
    [["app.py", "util.py"]],
  );
});

test("of several selected items, all have to be files of one step: otherwise nothing is done", async () => {
  const [only, other] = [folder(), new FakeFolder(() => undefined, "file:///work/api", "api")];
  const world = new FakeWorld(only, other);
  const item = { folder: only, step: step(), file: { file: "app.py" } };
  const others = [
    { ...item, step: step({ stepId: "s9" }) },
    { ...item, folder: other },
    { folder: only, step: step() },
    { folder: only },
    { folder: only, file: { file: "app.py" } },
  ];
  for (const each of others) {
    for (const selected of [
      [item, each],
      [each, item],
    ]) {
      await assert.rejects(revertFile(world.host, item, selected), /files of one step at a time/);
    }
  }
  const outside = { folder: only, file: { file: "app.py" } };
  await assert.rejects(revertFile(world.host, outside, [outside, outside]), /files of one step at a time/);
  assert.deepEqual(only.sent, []);
});

test("a file is reverted from the diff editor of its step", async () => {
  const only = folder();
  const world = new FakeWorld(only);
  world.shown = { folder: FOLDER, file: "util.py", stepId: "s3" };
  await revertFile(world.host, undefined);
  assert.deepEqual(only.writes[0]?.params["files"], ["util.py"]);
  assert.deepEqual(world.ui.lists, []);
});

test("a step that the history has no more is refused", async () => {
  const world = new FakeWorld(folder());
  world.shown = { folder: FOLDER, file: "util.py", stepId: "s0" };
  await assert.rejects(revertFile(world.host, undefined), /no longer in the history/);
});

test("for a file on the disk the steps that changed it are listed", async () => {
  const only = folder();
  only.entries = [entryOf(step({ stepId: "s4", index: 3, files: [change("other.py")] })), entryOf(step())];
  const world = new FakeWorld(only);
  world.shown = { folder: FOLDER, file: "util.py" };
  world.ui.choices = ["Step 3 “Edit app.py”"];
  await revertFile(world.host, undefined);
  assert.equal(world.ui.lists[0]?.rows.length, 1);
  assert.deepEqual(only.writes[0]?.params["files"], ["util.py"]);
});

test("without anything to go by, step and file are asked for", async () => {
  const only = folder();
  const world = new FakeWorld(only);
  world.ui.choices = ["Step 3 “Edit app.py”", "app.py"];
  await revertFile(world.host, undefined);
  assert.deepEqual(only.writes[0]?.params["files"], ["app.py"]);
  await revertFile(world.host, undefined);
  assert.equal(only.writes.length, 1, "cancelled");
});
