import assert from "node:assert/strict";
import { test } from "node:test";
import { ConnectionLostError, type FileOutcome, SnapdError } from "@snapd/client";
import { revertFiles, revertHunks } from "../../src/acting/pieces";
import { redoStep, undoStep } from "../../src/acting/steps";
import { AFTER, BEFORE, FakeFolder, FakeWorld, FOLDER, NOW, outcome, step, unsavedDocument } from "./fakes";

const UNDO = { sessionId: "one", stepId: "s3", onConflict: "merge" };

/** A daemon that does what is asked, with this outcome of each file. */
function answering(files: readonly FileOutcome[], steps = [step({ state: "undone" })]): FakeFolder {
  return new FakeFolder((method, params) => {
    if (method === "snapshot/track") return { hash: AFTER, skipped: [] };
    const applied = params["dryRun"] !== true;
    const isTurn = method.startsWith("session/");
    return { applied, before: BEFORE, after: applied ? AFTER : BEFORE, files, ...(isTurn && { steps }) };
  });
}

test("an undo is foretold, done and told", async () => {
  const folder = answering([outcome("app.py", "restored"), outcome("util.py", "merged")]);
  const world = new FakeWorld(folder);
  assert.equal(await world.acting.act(undoStep(FOLDER, step())), true);
  await world.settled();
  assert.deepEqual(folder.sent, [
    { method: "session/undo", params: { ...UNDO, dryRun: true } },
    { method: "session/undo", params: { ...UNDO, dryRun: false } },
  ]);
  assert.deepEqual(world.flushes, [0, 1], "unsaved text is told before each request");
  assert.deepEqual(world.ui.told, [
    {
      severity: "info",
      message: "Undid step 3 “Edit app.py”: 1 file restored, 1 merged.",
      buttons: ["Undo", "Details"],
    },
  ]);
  assert.deepEqual(world.ui.asked, []);
});

test("unsaved text is asked about, by name; cancelled, nothing is written and nothing told", async () => {
  const folder = answering([outcome("app.py", "conflict", "unsavedInEditor"), outcome("util.py", "deleted")]);
  const world = new FakeWorld(folder);
  world.ui.documents = [unsavedDocument("app.py"), unsavedDocument("util.py"), unsavedDocument("other.py")];
  assert.equal(await world.acting.act(undoStep(FOLDER, step())), false);
  await world.settled();
  assert.deepEqual(world.ui.asked, [
    {
      message: "app.py and util.py have unsaved text.",
      detail: "To undo step 3 “Edit app.py”, Snapd has to write these files.",
      choices: ["Save and Continue", "Discard Changes and Continue"],
    },
  ]);
  assert.deepEqual(folder.writes, []);
  assert.deepEqual([world.ui.saved, world.ui.discarded, world.ui.told], [[], [], []]);
});

for (const [answer, kind] of [
  ["Save and Continue", "saved"],
  ["Discard Changes and Continue", "discarded"],
] as const) {
  test(`after "${answer}" it is foretold again, and then done`, async () => {
    const folder = answering([outcome("app.py", "restored")]);
    const world = new FakeWorld(folder);
    world.ui.documents = [unsavedDocument("app.py"), unsavedDocument("other.py")];
    world.ui.answers = [answer];
    assert.equal(await world.acting.act(undoStep(FOLDER, step())), true);
    assert.deepEqual(world.ui[kind], ["app.py"]);
    assert.deepEqual(
      folder.sent.map(({ params }) => params["dryRun"]),
      [true, true, false],
    );
    assert.equal(world.ui.asked[0]?.message, "app.py has unsaved text.");
  });
}

test("a document that becomes unsaved during the question is asked about as well", async () => {
  const folder = answering([outcome("app.py", "restored"), outcome("util.py", "restored")]);
  const world = new FakeWorld(folder);
  world.ui.documents = [unsavedDocument("app.py")];
  world.ui.answers = ["Save and Continue"];
  const save = world.ui.save.bind(world.ui);
  world.ui.save = async (documents) => {
    await save(documents);
    world.ui.documents = [unsavedDocument("util.py")];
  };
  assert.equal(await world.acting.act(undoStep(FOLDER, step())), false);
  assert.deepEqual(
    world.ui.asked.map(({ message }) => message),
    ["app.py has unsaved text.", "util.py has unsaved text."],
  );
  assert.deepEqual(folder.writes, []);
});

test("a document that cannot be saved ends it, and nothing is written", async () => {
  const folder = answering([outcome("app.py", "restored")]);
  const world = new FakeWorld(folder);
  world.ui.documents = [unsavedDocument("app.py")];
  world.ui.answers = ["Save and Continue"];
  world.ui.save = () => Promise.reject(new Error("disk full"));
  assert.equal(await world.acting.act(undoStep(FOLDER, step())), false);
  await world.settled();
  assert.deepEqual(folder.writes, []);
  assert.equal(world.ui.told[0]?.severity, "error");
  assert.match(world.ui.told[0].message, /could not undo step 3 “Edit app.py”: disk full/);
});

test("one file in conflict: kept, it stays as it is", async () => {
  const folder = answering([outcome("app.py", "conflict", "changedSince"), outcome("util.py", "restored")]);
  const world = new FakeWorld(folder);
  world.ui.buttons = ["Resolve..."];
  world.ui.choices = ["Keep"];
  await world.acting.act(undoStep(FOLDER, step()));
  await world.settled();
  assert.equal(folder.writes.length, 1);
  assert.deepEqual(world.ui.told[0], {
    severity: "warning",
    message:
      "Undid step 3 “Edit app.py”: 1 file restored. " +
      "1 file is in conflict and was left alone (app.py: it was changed since).",
    buttons: ["Resolve...", "Undo", "Details"],
  });
  const [list] = world.ui.lists;
  assert.equal(list?.placeholder, "Left alone: it was changed since");
  assert.deepEqual(
    list.rows.map(({ label }) => label),
    ["Keep", "Overwrite", "Open Diff"],
  );
});

test("one file in conflict: after a look the question is there again; overwritten, it alone is asked for", async () => {
  const conflict = outcome("app.py", "conflict", "changedSince");
  const folder = new FakeFolder((method, params) => ({
    applied: params["dryRun"] !== true,
    before: NOW,
    after: AFTER,
    files: method === "step/revertFiles" ? [outcome("app.py", "restored")] : [conflict, outcome("util.py", "restored")],
    steps: [step({ state: "undone" })],
  }));
  const world = new FakeWorld(folder);
  world.ui.buttons = ["Resolve...", "Resolve..."];
  world.ui.choices = ["Open Diff", "Overwrite"];
  await world.acting.act(undoStep(FOLDER, step()));
  await world.settled();
  assert.deepEqual(world.ui.compared, [
    {
      folder: FOLDER,
      file: "app.py",
      left: { hash: BEFORE },
      right: "current",
      title: "app.py (before step 3 “Edit app.py” ↔ now)",
    },
  ]);
  assert.deepEqual(folder.writes[1], {
    method: "step/revertFiles",
    params: { stepId: "s3", files: ["app.py"], onConflict: "overwrite", dryRun: false },
  });
  assert.equal(
    world.ui.told[2]?.message,
    "Overwrote app.py with what was there before step 3 “Edit app.py”: 1 file restored. " +
      "What was overwritten stays in snapshot cccccccccc.",
  );
});

test("of several files in conflict those that are chosen are overwritten, and asked about where unsaved", async () => {
  const conflicts = ["a", "b", "c"].map((file) => outcome(file, "conflict", "changedSince"));
  const all = step({ files: conflicts.map(({ file }) => ({ ...step().files?.[0], file })) as never });
  const folder = new FakeFolder((method, params) => ({
    applied: params["dryRun"] !== true,
    before: NOW,
    after: AFTER,
    files:
      method === "step/revertFiles"
        ? (params["files"] as string[]).map((file) => outcome(file, "restored"))
        : conflicts,
    steps: [all],
  }));
  const world = new FakeWorld(folder);
  world.ui.documents = [unsavedDocument("b")];
  world.ui.buttons = ["Resolve..."];
  world.ui.choices = ["a", "Overwrite", "b", "Overwrite", "a", "Keep", "c", "Overwrite", "Done: overwrite 2, keep 1"];
  await world.acting.act(undoStep(FOLDER, all));
  await world.settled();
  assert.deepEqual(
    world.ui.asked.map(({ message }) => message),
    ["b has unsaved text."],
  );
  assert.equal(folder.writes.length, 1, "cancelled: only the undo itself was sent");
  world.ui.answers = ["Discard Changes and Continue"];
  world.ui.buttons = ["Resolve..."];
  world.ui.choices = ["b", "Overwrite", "c", "Overwrite", "Done: overwrite 2, keep 1"];
  await world.acting.act(undoStep(FOLDER, all));
  await world.settled();
  assert.deepEqual(folder.writes.at(-1)?.params["files"], ["b", "c"]);
  assert.deepEqual(world.ui.discarded, ["b"]);
});

test("leaving the list of conflicts leaves all of them", async () => {
  const folder = answering(["app.py", "util.py"].map((file) => outcome(file, "conflict", "shared")));
  const world = new FakeWorld(folder);
  world.ui.buttons = ["Resolve..."];
  world.ui.choices = ["app.py", "Overwrite"];
  await world.acting.act(undoStep(FOLDER, step()));
  await world.settled();
  assert.equal(folder.writes.length, 1);
});

test("a file that others moved since cannot be overwritten by its new name", async () => {
  const folder = answering([outcome("moved.py", "conflict", "changedSince")]);
  const world = new FakeWorld(folder);
  world.ui.buttons = ["Resolve..."];
  await world.acting.act(undoStep(FOLDER, step()));
  await world.settled();
  assert.deepEqual(
    world.ui.lists[0]?.rows.map(({ label }) => label),
    ["Keep", "Open Diff"],
  );
});

test("nothing is overwritten that was not chosen", async () => {
  const folder = new FakeFolder((method, params) => ({
    applied: params["dryRun"] !== true,
    before: NOW,
    after: AFTER,
    files:
      method === "step/revertFiles"
        ? [outcome("app.py", "restored"), outcome("old.py", "restored")]
        : [outcome("app.py", "conflict", "changedSince")],
    steps: [step()],
  }));
  const world = new FakeWorld(folder);
  world.ui.buttons = ["Resolve..."];
  world.ui.choices = ["Overwrite"];
  await world.acting.act(undoStep(FOLDER, step()));
  await world.settled();
  assert.equal(folder.writes.length, 1);
  assert.match(world.ui.told[1]?.message ?? "", /did not overwrite app.py\. .*old.py would be written too/);
});

test("a conflict of a redo becomes what the step left; what another editor holds is overwritten by name only", async () => {
  for (const [reason, extra] of [
    ["changedSince", {}],
    ["unsavedInEditor", { onConflict: "overwrite" }],
  ] as const) {
    const folder = new FakeFolder((method, params) => ({
      applied: params["dryRun"] !== true,
      before: NOW,
      after: AFTER,
      files: [method === "snapshot/revert" ? outcome("app.py", "restored") : outcome("app.py", "conflict", reason)],
      steps: [step({ stepId: "part", parentStepId: "s3" }), step()],
    }));
    const world = new FakeWorld(folder);
    world.ui.buttons = ["Resolve..."];
    world.ui.choices = ["Overwrite"];
    await world.acting.act(redoStep(FOLDER, "one"));
    await world.settled();
    assert.match(world.ui.told[0]?.message ?? "", /^Redid step 3 “Edit app.py”: no file was changed\./);
    assert.deepEqual(folder.writes[1], {
      method: "snapshot/revert",
      params: { patches: [{ hash: AFTER, files: ["app.py"] }], ...extra, dryRun: false },
    });
  }
});

test("a conflict of hunks is overwritten with the same hunks", async () => {
  const folder = new FakeFolder((_, params) => ({
    applied: params["dryRun"] !== true,
    before: NOW,
    after: AFTER,
    files: [
      params["onConflict"] === "overwrite"
        ? outcome("app.py", "restored")
        : outcome("app.py", "conflict", "changedSince"),
    ],
  }));
  const world = new FakeWorld(folder);
  world.ui.buttons = ["Resolve..."];
  world.ui.choices = ["Overwrite"];
  await world.acting.act(revertHunks(FOLDER, step(), { file: "app.py" }, [1, 2]));
  await world.settled();
  assert.deepEqual(folder.writes[1], {
    method: "step/revertHunks",
    params: { stepId: "s3", file: "app.py", hunks: [1, 2], onConflict: "overwrite", dryRun: false },
  });
  assert.match(world.ui.told[1]?.message ?? "", /^Reverted 2 hunks of app.py .*stays in snapshot cccccccccc\.$/);
});

test("the undo of an undo is a redo, where that is of the same step; its own undo is an undo again", async () => {
  const folder = answering([outcome("app.py", "restored")]);
  const world = new FakeWorld(folder);
  world.ui.buttons = ["Undo", "Undo"];
  await world.acting.act(undoStep(FOLDER, step()));
  await world.settled();
  assert.deepEqual(
    folder.writes.map(({ method }) => method),
    ["session/undo", "session/redo", "session/undo"],
  );
  assert.deepEqual(
    world.ui.told.map(({ message }) => message.split(":")[0]),
    [
      "Undid step 3 “Edit app.py”",
      "Took back the undo of step 3 “Edit app.py”",
      "Took back the redo of step 3 “Edit app.py”",
    ],
  );
});

for (const [name, redo] of [
  ["has nothing to redo", () => Promise.reject(new SnapdError("nothing", 1010, { kind: "nothingToRedo" }))],
  ["would redo another step", () => ({ steps: [step({ stepId: "s9" })], files: [] })],
] as const) {
  test(`the undo of an undo brings back its files where the session ${name}`, async () => {
    const folder = new FakeFolder((method, params) => {
      if (method === "session/redo") return redo();
      if (method === "snapshot/track") return { hash: NOW, skipped: [] };
      if (method === "snapshot/diffFull") return { diffs: [{ file: "util.py" }] };
      const names = ["app.py", "util.py", "same.py"];
      const files =
        method === "snapshot/revert"
          ? [outcome("app.py", "restored")]
          : names.map((file) => outcome(file, file === "same.py" ? "unchanged" : "restored"));
      return {
        applied: params["dryRun"] !== true,
        before: BEFORE,
        after: AFTER,
        files,
        steps: method === "session/undo" ? [step()] : undefined,
      };
    });
    const world = new FakeWorld(folder);
    world.ui.buttons = ["Undo"];
    await world.acting.act(undoStep(FOLDER, step()));
    await world.settled();
    assert.deepEqual(folder.sent.find(({ method }) => method === "snapshot/diffFull")?.params, {
      from: AFTER,
      to: NOW,
      files: ["app.py", "util.py"],
      contents: false,
    });
    assert.deepEqual(folder.writes.at(-1), {
      method: "snapshot/revert",
      params: { patches: [{ hash: BEFORE, files: ["app.py"] }], onConflict: "merge", dryRun: false },
    });
    assert.equal(
      world.ui.told.at(-1)?.message,
      "Took back the undo of step 3 “Edit app.py”: 1 file restored. " +
        "1 file is in conflict and was left alone (util.py: it was changed since). " +
        "The session has continued, so its steps are listed as before.",
    );
  });
}

test("the undo of a revert is of the files that were written, and only of those", async () => {
  const folder = answering([outcome("app.py", "restored"), outcome("util.py", "conflict", "shared")]);
  const world = new FakeWorld(folder);
  world.ui.buttons = ["Undo"];
  await world.acting.act(revertFiles(FOLDER, step(), [{ file: "app.py" }, { file: "util.py" }]));
  await world.settled();
  assert.deepEqual(folder.writes[1]?.params["patches"], [{ hash: BEFORE, files: ["app.py"] }]);
});

test("details open what was done to a file, or the file; the buttons are there again afterwards", async () => {
  const folder = answering([outcome("app.py", "restored"), outcome("util.py", "conflict", "changedSince")]);
  const world = new FakeWorld(folder);
  world.ui.buttons = ["Details", "Details", undefined];
  world.ui.choices = ["app.py", "util.py"];
  await world.acting.act(undoStep(FOLDER, step()));
  await world.settled();
  assert.deepEqual(
    world.ui.lists[0]?.rows.map(({ label, description }) => [label, description]),
    [
      ["util.py", "In conflict: it was changed since"],
      ["app.py", "Restored"],
    ],
  );
  assert.deepEqual(world.ui.compared, [
    {
      folder: FOLDER,
      file: "app.py",
      left: { hash: BEFORE },
      right: { hash: AFTER },
      title: "app.py (Undid step 3 “Edit app.py”)",
    },
  ]);
  assert.deepEqual(world.ui.opened, ["util.py"]);
  assert.equal(world.ui.told.length, 3);
});

test("which notifications are wanted", async () => {
  const files = {
    info: [outcome("app.py", "restored")],
    warning: [outcome("app.py", "conflict", "changedSince")],
    error: [outcome("app.py", "failed", "EACCES")],
  };
  const expected = { all: ["info", "warning", "error"], problems: ["warning", "error"], off: ["error"] } as const;
  for (const wanted of ["all", "problems", "off"] as const) {
    const told: string[] = [];
    for (const each of Object.values(files)) {
      const world = new FakeWorld(answering(each));
      world.wanted = wanted;
      await world.acting.act(undoStep(FOLDER, step()));
      await world.settled();
      told.push(...world.ui.told.map(({ severity }) => severity));
      assert.match(world.logged.join(), /Undid step 3/, "the log has it all");
    }
    assert.deepEqual(told, expected[wanted]);
  }
});

const FAILURES: readonly (readonly [Error, RegExp])[] = [
  [
    new SnapdError("gone", 1010, { kind: "nothingToUndo" }),
    /^Snapd did not undo step 3 .* There is nothing left to undo\.$/,
  ],
  [new SnapdError("no space", 1008, { kind: "storageFull" }), /^Snapd could not undo step 3 “Edit app.py”: no space$/],
  [new SnapdError("no space", 1008, { kind: "storageFull", hint: "free some" }), /: no space \(free some\)$/],
  [
    new ConnectionLostError("lost"),
    /^The connection to snapd was lost\. Agent Steps will show whether it could undo step 3 /,
  ],
];

for (const [error, sentence] of FAILURES) {
  test(`an error is always told: ${error.message}`, async () => {
    const folder = new FakeFolder(() => Promise.reject(error));
    const world = new FakeWorld(folder);
    world.wanted = "off";
    world.ui.buttons = ["Show Log"];
    assert.equal(await world.acting.act(undoStep(FOLDER, step())), false);
    await world.settled();
    assert.equal(world.ui.told[0]?.severity, "error");
    assert.match(world.ui.told[0].message, sentence);
    assert.equal(world.ui.logShown, 1);
  });
}

test("actions come one after the other, also after one that failed", async () => {
  let under = 0;
  const folder = new FakeFolder(async (_, params) => {
    assert.equal(under, 0);
    under += 1;
    await new Promise(setImmediate);
    under -= 1;
    if (params["stepId"] === "bad") throw new Error("bad");
    return { applied: params["dryRun"] !== true, before: BEFORE, after: AFTER, files: [], steps: [step()] };
  });
  const world = new FakeWorld(folder);
  const done = ["bad", "s1", "s2"].map((stepId) => world.acting.act(undoStep(FOLDER, step({ stepId }))));
  assert.deepEqual(await Promise.all(done), [false, true, true]);
  assert.deepEqual(
    folder.writes.map(({ params }) => params["stepId"]),
    ["s1", "s2"],
  );
});
