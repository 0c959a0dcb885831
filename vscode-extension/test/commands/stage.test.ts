import assert from "node:assert/strict";
import { test } from "node:test";
import { stageStep } from "../../src/commands/stage";
import { change, entryOf, FakeFolder, FakeWorld, FOLDER, step } from "../acting/fakes";

const ROOT = "/work/web";
const EMPTY = {
  applied: true,
  repository: ROOT,
  files: [],
  left: [],
  alreadyStaged: 0,
  openSteps: [],
  message: "Do it",
};

function worldOf(answer: object): FakeWorld {
  const folder = new FakeFolder(() => ({}));
  folder.entries = [entryOf(step()), entryOf(step({ stepId: "s4", index: 3, description: "Go on" }))];
  const world = new FakeWorld(folder);
  world.printed = JSON.stringify(answer);
  return world;
}

function target(more: Parameters<typeof step>[0] = {}): { folder: { uri: string }; step: ReturnType<typeof step> } {
  return { folder: { uri: FOLDER }, step: step(more) };
}

test("a step is staged, and the message of the commit proposed", async () => {
  const world = worldOf({ ...EMPTY, files: [change("app.py"), change("util.py")] });
  await stageStep(world.host, target());
  await world.settled();
  assert.deepEqual(world.ran, [["stage", "--json", "--here", "-C", ROOT, "s3"]]);
  assert.equal(world.ui.commitMessage, "Do it");
  const message =
    "Staged what step 3 “Edit app.py” changed: app.py and util.py. A commit message is ready in Source Control.";
  assert.deepEqual(world.ui.notices, [{ severity: "info", message, buttons: [] }]);
});

test("several that are selected are staged together, and a message of the user's own stays", async () => {
  const world = worldOf({ ...EMPTY, files: [change("app.py")], alreadyStaged: 1 });
  world.ui.commitMessage = "my own";
  const other = target({ stepId: "s4" });
  await stageStep(world.host, target(), [target(), other]);
  await world.settled();
  assert.deepEqual(world.ran[0]?.slice(-2), ["s3", "s4"]);
  assert.equal(world.ui.commitMessage, "my own");
  assert.equal(
    world.ui.notices[0]?.message,
    "Staged what 2 steps changed: app.py. 1 other file was staged already and will be in the commit, too.",
  );
});

test("without a row, the user is asked for the step", async () => {
  const world = worldOf({ ...EMPTY, files: [change("app.py")] });
  world.ui.choices = ["Step 4 “Go on”"];
  await stageStep(world.host, undefined);
  assert.equal(world.ran[0]?.at(-1), "s4");
  await stageStep(world.host, undefined);
  assert.equal(world.ran.length, 1, "whoever cancels stages nothing");
});

test("what was left out is told, and that there was nothing to stage", async () => {
  const world = worldOf({ ...EMPTY, left: [{ file: "out.log", reason: "ignored" }] });
  await stageStep(world.host, target());
  await world.settled();
  assert.equal(world.ui.commitMessage, "");
  assert.deepEqual(world.ui.notices, [
    {
      severity: "warning",
      message:
        "There was nothing to stage: everything that step 3 “Edit app.py” changed is in the index already, or was undone. " +
        "Left out, because git ignores it or the same lines have changed since: out.log.",
      buttons: [],
    },
  ]);
});

test("a refusal is told with what to do, and an answer that is none as what was printed", async () => {
  const error = {
    kind: "stagingConflict",
    message: "nothing was staged: 2 files are in conflict",
    hint: "commit first",
  };
  const world = worldOf({ error: { ...error, files: [{ file: "a" }, { file: "b" }] } });
  await assert.rejects(stageStep(world.host, target()), {
    name: "Refused",
    message: "Nothing was staged: 2 files are in conflict (a and b). Commit first.",
  });
  world.printed = "usage: snapd";
  await assert.rejects(stageStep(world.host, target()), /snapd stage gave no answer: usage: snapd/);
});
