import assert from "node:assert/strict";
import { test } from "node:test";
import { ConnectionLostError, type Contested, type FileOutcome, type GitOutcome, SnapdError } from "@snapd/client";
import { revertFiles, revertHunks } from "../../src/acting/pieces";
import { redoLast, undoStep } from "../../src/acting/steps";
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
    { method: "session/undo", params: { ...UNDO, details: "counts", dryRun: true } },
    { method: "session/undo", params: { ...UNDO, dryRun: false } },
  ]);
  assert.deepEqual(world.flushes, [0, 1], "unsaved text is told before each request");
  assert.deepEqual(world.ui.notices, [
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
  assert.deepEqual([world.ui.saved, world.ui.discarded, world.ui.notices], [[], [], []]);
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
  assert.equal(world.ui.notices[0]?.severity, "error");
  assert.match(world.ui.notices[0].message, /could not undo step 3 “Edit app.py”: disk full/);
});

const CONFLICTS = ["app.py", "util.py"].map((file) => outcome(file, "conflict", "changedSince"));

/** A daemon that has these conflicts, and does with each file what was decided. */
function contending(files: readonly FileOutcome[] = CONFLICTS, contested: readonly Contested[] = []): FakeFolder {
  return new FakeFolder((_, params) => {
    const decisions = (params["decisions"] ?? {}) as Record<string, string>;
    const done = files.map((file) => {
      const decision = file.outcome === "conflict" ? decisions[file.file] : undefined;
      return decision === "overwrite"
        ? outcome(file.file, "restored")
        : decision === "keep"
          ? outcome(file.file, "kept", file.reason)
          : file;
    });
    return {
      applied: params["dryRun"] !== true,
      before: NOW,
      after: AFTER,
      files: done,
      plan: JSON.stringify(done),
      details: { additions: 0, deletions: 0, contested },
      steps: [step({ state: "partly" })],
    };
  });
}

test("conflicts are decided file by file before anything is written, and then exactly that is done", async () => {
  const folder = contending([...CONFLICTS, outcome("calm.py", "restored")]);
  const world = new FakeWorld(folder);
  world.ui.choices = ["app.py", "Overwrite", "util.py", "Keep", "$(arrow-right) Go On"];
  await world.acting.act(undoStep(FOLDER, step()));
  await world.settled();
  const decisions = { "app.py": "overwrite", "util.py": "keep" };
  const { plan } = (await folder.answer("session/undo", { ...UNDO, decisions })) as { plan: string };
  assert.deepEqual(folder.writes, [
    { method: "session/undo", params: { ...UNDO, decisions, dryRun: false, expect: plan } },
  ]);
  assert.deepEqual(
    world.ui.lists.map(({ title }) => title),
    [
      "Undo step 3 “Edit app.py”: 2 files in conflict",
      "Undo step 3 “Edit app.py”: app.py",
      "Undo step 3 “Edit app.py”: 2 files in conflict",
      "Undo step 3 “Edit app.py”: util.py",
      "Undo step 3 “Edit app.py”: 2 files in conflict",
    ],
  );
  assert.deepEqual(
    world.ui.lists.at(-1)?.rows.map(({ label, description }) => [label, description]),
    [
      ["$(arrow-right) Go On", "skip 0, overwrite 1, keep 1"],
      ["app.py", "Overwrite"],
      ["util.py", "Keep"],
    ],
  );
  assert.equal(
    world.ui.notices[0]?.message,
    "Undid step 3 “Edit app.py”: 2 files restored. 1 file was kept (util.py: changed since). " +
      "What was overwritten in app.py stays in snapshot cccccccccc.",
  );
});

test("the list of conflicts says who changed the file, and in which lines", async () => {
  const folder = contending(CONFLICTS, [
    {
      file: "app.py",
      name: "s3",
      by: [{ author: "user" }, { author: "step", agent: "codex" }, { author: "step", agent: "amp", elsewhere: true }],
      dispute: { line: 12, now: ["  mine"], left: ["theirs"], wanted: ["before"] },
    },
    { file: "util.py", name: "s3", by: [{ author: "operation", kind: "restore" }] },
  ]);
  const world = new FakeWorld(folder);
  assert.equal(await world.acting.act(undoStep(FOLDER, step())), false);
  assert.deepEqual(
    world.ui.lists[0]?.rows.map(({ detail }) => detail),
    [undefined, "changed since by you and Codex, line 12: “mine” would become “before”", "changed since by a restore"],
  );
  assert.deepEqual(folder.writes, [], "whoever leaves the list has nothing done");
  assert.deepEqual(world.ui.notices, []);
});

test("the icons of a row decide without another list, and the keys stay at the row", async () => {
  const folder = contending();
  const world = new FakeWorld(folder);
  world.ui.choices = ["util.py: Overwrite", "util.py: Open Diff", "$(arrow-right) Go On"];
  await world.acting.act(undoStep(FOLDER, step()));
  const [first, second, third] = world.ui.lists.map(({ rows }) => rows[2]);
  assert.deepEqual(
    first?.buttons?.map(({ tooltip }) => tooltip),
    ["Overwrite", "Keep", "Open Diff"],
  );
  assert.deepEqual(
    second?.buttons?.map(({ tooltip }) => tooltip),
    ["Skip", "Keep", "Open Diff"],
  );
  assert.deepEqual(
    [first, second, third].map((row) => row?.isActive),
    [false, true, true],
  );
  assert.deepEqual(folder.writes[0]?.params["decisions"], { "util.py": "overwrite" });
});

test("about the only file in conflict there is one question; it is there again after a look", async () => {
  const folder = contending([outcome("app.py", "conflict", "changedSince")]);
  const world = new FakeWorld(folder);
  world.ui.choices = ["Open Diff", "Overwrite"];
  await world.acting.act(undoStep(FOLDER, step()));
  assert.deepEqual(
    world.ui.lists.map(({ rows }) => rows.map(({ label }) => label)),
    [
      ["Skip", "Overwrite", "Keep", "Open Diff"],
      ["Skip", "Overwrite", "Keep", "Open Diff"],
    ],
  );
  assert.equal(world.ui.lists[0]?.rows[1]?.description, "make it what it was before step 3 “Edit app.py”");
  assert.deepEqual(world.ui.compared, [
    {
      folder: FOLDER,
      file: "app.py",
      left: { hash: BEFORE },
      right: "current",
      title: "app.py (before step 3 “Edit app.py” ↔ now)",
    },
  ]);
  assert.deepEqual(folder.writes[0]?.params["decisions"], { "app.py": "overwrite" });
});

test("what is skipped stays in conflict, and the message says so", async () => {
  const world = new FakeWorld(
    contending([outcome("app.py", "conflict", "changedSince"), outcome("util.py", "restored")]),
  );
  world.ui.choices = ["Skip"];
  await world.acting.act(undoStep(FOLDER, step()));
  await world.settled();
  assert.deepEqual(world.ui.notices[0], {
    severity: "warning",
    message:
      "Undid step 3 “Edit app.py”: 1 file restored. " +
      "1 file is in conflict and was left alone (app.py: changed since).",
    buttons: ["Undo", "Details"],
  });
});

test("if a file changed while a person decided, it is asked again", async () => {
  const folder = contending();
  const world = new FakeWorld(folder);
  let version = 0;
  const { answer } = folder;
  Object.assign(folder, {
    answer: (method: string, params: Record<string, unknown>) => {
      const result = answer(method, params) as { plan: string };
      return { ...result, plan: `${result.plan}${version}` };
    },
  });
  const choose = world.ui.choose.bind(world.ui);
  world.ui.choose = (list) => {
    if (world.ui.lists.length === 0) version += 1;
    return choose(list);
  };
  world.ui.choices = ["app.py: Overwrite", "$(arrow-right) Go On", "app.py: Keep", "$(arrow-right) Go On"];
  await world.acting.act(undoStep(FOLDER, step()));
  assert.match(world.ui.lists[2]?.placeholder ?? "", /^Something has changed since\. /);
  assert.deepEqual(
    folder.writes.map(({ params }) => params["decisions"]),
    [{ "app.py": "keep" }],
  );
});

test("unsaved text of a file to overwrite is asked about", async () => {
  const folder = contending();
  const world = new FakeWorld(folder);
  world.ui.documents = [unsavedDocument("util.py")];
  world.ui.choices = ["app.py: Overwrite", "util.py: Overwrite", "$(arrow-right) Go On"];
  world.ui.answers = ["Discard Changes and Continue"];
  assert.equal(await world.acting.act(undoStep(FOLDER, step())), true);
  assert.deepEqual(
    world.ui.asked.map(({ message }) => message),
    ["util.py has unsaved text."],
  );
  assert.deepEqual(world.ui.discarded, ["util.py"]);
});

test("a conflict of hunks is overwritten with the same hunks; keeping it would differ in nothing", async () => {
  const folder = contending([outcome("app.py", "conflict", "changedSince")]);
  const world = new FakeWorld(folder);
  world.ui.choices = ["Overwrite"];
  await world.acting.act(revertHunks(FOLDER, step(), { file: "app.py" }, [1, 2]));
  await world.settled();
  const { hunks, decisions } = folder.writes[0]?.params ?? {};
  assert.deepEqual([hunks, decisions], [[1, 2], { "app.py": "overwrite" }]);
  assert.deepEqual(
    world.ui.lists[0]?.rows.map(({ label }) => label),
    ["Skip", "Overwrite", "Open Diff"],
  );
  assert.match(world.ui.notices[0]?.message ?? "", /^Reverted 2 hunks of app.py .*stays in snapshot cccccccccc\.$/);
});

test("what is overwritten by a redo becomes what the step left", async () => {
  const world = new FakeWorld(contending([outcome("app.py", "conflict", "changedSince")]));
  world.ui.choices = ["Overwrite"];
  await world.acting.act(redoLast(FOLDER, "one"));
  assert.equal(world.ui.lists[0]?.rows[1]?.description, "make it what it was after step 3 “Edit app.py”");
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
    world.ui.notices.map(({ message }) => message.split(":")[0]),
    [
      "Undid step 3 “Edit app.py”",
      "Reversed the undo of step 3 “Edit app.py”",
      "Reversed the redo of step 3 “Edit app.py”",
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
    world.ui.choices = ["Skip"];
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
      world.ui.notices.at(-1)?.message,
      "Reversed the undo of step 3 “Edit app.py”: 1 file restored. " +
        "1 file is in conflict and was left alone (util.py: changed since). " +
        "The session has continued, so its steps are listed as before.",
    );
  });
}

test("the undo of a revert is of the files that were written, and only of those", async () => {
  const folder = answering([outcome("app.py", "restored"), outcome("util.py", "conflict", "shared")]);
  const world = new FakeWorld(folder);
  world.ui.buttons = ["Undo"];
  world.ui.choices = ["Skip", "Skip"];
  await world.acting.act(revertFiles(FOLDER, step(), [{ file: "app.py" }, { file: "util.py" }]));
  await world.settled();
  assert.deepEqual(folder.writes[1]?.params["patches"], [{ hash: BEFORE, files: ["app.py"] }]);
});

test("details open what was done to a file, or the file; the buttons are there again afterwards", async () => {
  const folder = answering([outcome("app.py", "restored"), outcome("util.py", "conflict", "changedSince")]);
  const world = new FakeWorld(folder);
  world.ui.buttons = ["Details", "Details", undefined];
  world.ui.choices = ["Skip", "app.py", "util.py"];
  await world.acting.act(undoStep(FOLDER, step()));
  await world.settled();
  assert.deepEqual(
    world.ui.lists[1]?.rows.map(({ label, description }) => [label, description]),
    [
      ["util.py", "In conflict: changed since"],
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
  assert.equal(world.ui.notices.length, 3);
});

test("which notifications are wanted", async () => {
  const files = {
    info: [outcome("app.py", "restored")],
    warning: [outcome("app.py", "conflict", "changedSince")],
    error: [outcome("app.py", "failed", "EACCES")],
  };
  const expected = { all: ["info", "warning", "error"], problems: ["warning", "error"], off: ["error"] } as const;
  for (const wanted of ["all", "problems", "off"] as const) {
    const severities: string[] = [];
    for (const each of Object.values(files)) {
      const world = new FakeWorld(answering(each));
      world.wanted = wanted;
      world.ui.choices = ["Skip"];
      await world.acting.act(undoStep(FOLDER, step()));
      await world.settled();
      severities.push(...world.ui.notices.map(({ severity }) => severity));
      assert.match(world.logged.join(), /Undid step 3/, "the log has it all");
    }
    assert.deepEqual(severities, expected[wanted]);
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
    assert.equal(world.ui.notices[0]?.severity, "error");
    assert.match(world.ui.notices[0].message, sentence);
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

const MOVED = { refs: [{ ref: "refs/heads/topic", before: "5".repeat(40) }] };
const BACK = { refs: [{ ref: "refs/heads/topic", after: "5".repeat(40) }] };

/** A daemon whose step also deleted a branch; its plans have these names. */
function withBranch(
  reasons: GitOutcome["reasons"],
  plan = (git: boolean): string => (git ? "with git" : "files only"),
) {
  return new FakeFolder((_, { git, dryRun }) => {
    const outcomes = git === true ? { changes: BACK, ...(reasons && { reasons }) } : { changes: MOVED, left: true };
    const foretold = dryRun === true && { plan: plan(git === true) };
    const steps = [step({ state: "undone" })];
    return { applied: dryRun !== true, before: BEFORE, after: AFTER, files: [], steps, git: outcomes, ...foretold };
  });
}

const QUESTION = {
  message: "Undo step 3 “Edit app.py”?",
  detail:
    "“Files Only” leaves git as it is: branch topic deleted.\n“Files and Git”: branch topic created at 5555555.\n" +
    "Left in git: refs/heads/main: it has changed since.",
  choices: ["Files Only", "Files and Git"],
};

for (const [answer, sent, severity, message] of [
  [
    "Files and Git",
    { git: true, expect: "with git" },
    "warning",
    "Git: branch topic created at 5555555. Left in git: refs/heads/main: it has changed since.",
  ],
  ["Files Only", { expect: "files only" }, "info", "Git stays as it is: branch topic deleted."],
] as const) {
  test(`where a step changed git, it is asked whether that goes back: ${answer}`, async () => {
    const folder = withBranch([{ part: "refs/heads/main", reason: "moved" }]);
    const world = new FakeWorld(folder);
    world.ui.answers = [answer];
    world.ui.buttons = ["Undo"];
    assert.equal(await world.acting.act(undoStep(FOLDER, step())), true);
    await world.settled();
    assert.deepEqual(world.ui.asked[0], QUESTION);
    assert.deepEqual(folder.writes[0]?.params, { ...UNDO, dryRun: false, ...sent });
    const done = `Undid step 3 “Edit app.py”: no file had to be changed. ${message}`;
    assert.deepEqual(world.ui.notices[0], { severity, message: done, buttons: ["Undo"] });
    assert.equal(
      folder.sent.find(({ method }) => method === "session/redo")?.params["git"],
      "git" in sent || undefined,
    );
  });
}

test("cancelled, neither files nor git change; and what is not as it was shown is asked again", async () => {
  const cancelled = withBranch(undefined);
  const world = new FakeWorld(cancelled);
  assert.equal(await world.acting.act(undoStep(FOLDER, step())), false);
  assert.deepEqual(cancelled.writes, []);
  let count = 0;
  const moving = withBranch(undefined, () => `plan ${Math.min((count += 1), 4)}`);
  const other = new FakeWorld(moving);
  other.ui.answers = ["Files and Git", "Files and Git"];
  assert.equal(await other.acting.act(undoStep(FOLDER, step())), true);
  assert.match(other.ui.asked[1]?.detail ?? "", /^Something has changed since\. “Files Only”/);
  assert.deepEqual(
    moving.writes.map(({ params }) => [params["git"], params["expect"]]),
    [[true, "plan 4"]],
  );
});
