import assert from "node:assert/strict";
import { test } from "node:test";
import type { Session } from "@snapd/client";
import { redo, undoLast, undoOne } from "../../src/commands/undo";
import { AFTER, BEFORE, entryOf, FakeFolder, FakeWorld, FOLDER, step } from "../acting/fakes";

function folder(uri = FOLDER, name = "web"): FakeFolder {
  return new FakeFolder(
    (_, params) => ({
      applied: params["dryRun"] !== true,
      before: BEFORE,
      after: AFTER,
      files: [],
      steps: [step({ state: "undone" })],
    }),
    uri,
    name,
  );
}

function session(sessionId: string, count: number): Session {
  const name = `agent ${sessionId}`;
  return { sessionId, agent: name, name, startedAt: "", stepCount: 1, undoable: 1, redoable: count };
}

test("the last step that changed something is undone, as the daemon has it now", async () => {
  const only = folder();
  only.entries = [entryOf(step({ stepId: "gone", state: "undone" })), entryOf(step()), entryOf(step({ stepId: "s2" }))];
  await undoLast(new FakeWorld(only).host);
  assert.equal(only.refreshed, 1);
  assert.deepEqual(
    only.writes.map(({ params }) => params["stepId"]),
    ["s3"],
  );
});

for (const answer of ["Take It Back", "Undo Earlier Step", undefined]) {
  test(`the last step changed only git, which is asked about: ${answer ?? "cancelled"}`, async () => {
    const only = folder();
    const git = { refs: [{ ref: "refs/heads/topic", before: "5".repeat(40) }] };
    only.entries = [entryOf(step({ stepId: "commit", files: [], git })), entryOf(step())];
    const world = new FakeWorld(only);
    if (answer !== undefined) world.ui.answers = [answer];
    await undoLast(world.host);
    assert.deepEqual(world.ui.asked, [
      {
        message: "Step 3 “Edit app.py” changed only git. Take it back?",
        detail: "Git: branch topic deleted.",
        choices: ["Take It Back", "Undo Earlier Step"],
      },
    ]);
    const undone = answer === undefined ? [] : answer === "Take It Back" ? [["commit", true]] : [["s3", undefined]];
    assert.deepEqual(
      only.writes.map(({ params }) => [params["stepId"], params["git"]]),
      undone,
    );
  });
}

test("of several folders it is that of the active editor; without one the user is asked, and may cancel", async () => {
  const [web, api] = [folder(), folder("file:///work/api", "api")];
  for (const each of [web, api]) each.entries = [entryOf(step())];
  const world = new FakeWorld(web, api);
  world.shown = { folder: api.uri, file: "x" };
  await undoLast(world.host);
  assert.deepEqual([web.writes.length, api.writes.length], [0, 1]);
  world.shown = undefined;
  world.ui.choices = ["web"];
  await undoLast(world.host);
  assert.deepEqual([web.writes.length, api.writes.length], [1, 1]);
  await undoLast(world.host);
  assert.deepEqual([web.writes.length, api.writes.length], [1, 1]);
  assert.equal(world.ui.lists.length, 2);
});

test("where nothing is left to undo or redo, that is said", async () => {
  const world = new FakeWorld(folder());
  await assert.rejects(undoLast(world.host), /No step is left to undo in web\./);
  await assert.rejects(redo(world.host), /No step is left to redo in web\./);
  await assert.rejects(undoLast(new FakeWorld().host), /turned off in the settings/);
});

test("a running step is ended only after a question", async () => {
  const only = folder();
  const open = step({ state: "open" });
  only.entries = [entryOf(open)];
  const world = new FakeWorld(only);
  await undoOne(world.host, { folder: only, step: open });
  assert.deepEqual(only.sent, []);
  assert.match(world.ui.asked[0]?.message ?? "", /^Step 3 “Edit app.py” is still running\.$/);
  world.ui.answers = ["End and Undo"];
  await undoOne(world.host, { folder: only, step: open });
  assert.equal(only.writes.length, 1);
});

test("a step that has ended since it was shown needs no question", async () => {
  const only = folder();
  only.entries = [entryOf(step())];
  const world = new FakeWorld(only);
  await undoOne(world.host, { folder: only, step: step({ state: "open" }) });
  assert.equal(only.writes.length, 1);
});

test("from the palette only steps that can be undone are listed", async () => {
  const only = folder();
  only.entries = [
    entryOf(step({ stepId: "open", index: 5, state: "open" })),
    entryOf(step({ stepId: "undone", index: 4, state: "undone" })),
    entryOf(step({ stepId: "empty", index: 3, files: [] })),
    entryOf(step()),
  ];
  const world = new FakeWorld(only);
  world.ui.choices = ["Step 3 “Edit app.py”"];
  await undoOne(world.host, undefined);
  assert.equal(world.ui.lists[0]?.rows.length, 1);
  assert.deepEqual(
    only.writes.map(({ params }) => params["stepId"]),
    ["s3"],
  );
});

test("where several sessions have something to redo, the user is asked; the newest undo is on top", async () => {
  const only = folder();
  only.sessions = [session("a", 1), session("b", 2), session("c", 0)];
  only.entries = [
    { kind: "undo", at: "2026-11-21T10:05:00.000Z", sessionId: "b", steps: ["s3"], before: BEFORE, files: [] },
    { kind: "undo", at: "2026-11-21T10:01:00.000Z", sessionId: "a", steps: ["s9"], before: BEFORE, files: [] },
    entryOf(step({ state: "undone" })),
  ];
  const world = new FakeWorld(only);
  await redo(world.host);
  assert.deepEqual(only.sent, [], "cancelled");
  assert.deepEqual(
    world.ui.lists[0]?.rows.map(({ label, description }) => [label, description]),
    [
      ["agent b", "undone last: step 3 “Edit app.py”"],
      ["agent a", ""],
    ],
  );
  world.ui.choices = ["agent a"];
  await redo(world.host);
  assert.deepEqual(
    [...only.writes],
    [{ method: "session/redo", params: { sessionId: "a", whole: true, onConflict: "merge", dryRun: false } }],
  );
  only.sessions = [session("b", 1)];
  await redo(world.host);
  assert.deepEqual(
    only.writes.map(({ params }) => params["sessionId"]),
    ["a", "b"],
  );
  assert.equal(world.ui.lists.length, 2, "one session alone needs no question");
});
