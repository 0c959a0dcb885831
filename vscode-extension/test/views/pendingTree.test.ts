import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Owner, PendingFile } from "@snapd/client";
import type { FolderModel } from "../../src/model/folder";
import { LiveTree } from "../../src/views/liveTree";
import { type PendingItem, pendingInWords, pendingTree, presentPending } from "../../src/views/pendingTree";
import { change, message, session, step, stepEntry } from "../model/making";
import { folder as fake } from "./fakeModel";

function pending(file: string, more: Partial<PendingFile> = {}): PendingFile {
  return { ...change(file), id: `id of ${file}`, hunks: 1, owners: [], ...more };
}

function owner(stepId: string, sessionId = "s"): Owner {
  return { sessionId, stepId };
}

function folder(files: readonly PendingFile[], more: object = {}, unlisted = 0): FolderModel {
  const sessions = [session("s", { agent: "claude" }), session("t", { title: "My session" })];
  const entries = [
    stepEntry(step("b", 2, { sessionId: "t" })),
    stepEntry(step("a", 1, { messageId: "m", description: "Edit it" })),
    message("m", 0, "Fix the <b>tests</b>\nplease"),
  ];
  const totals = { files: files.length + unlisted, additions: files.length, deletions: 0 };
  return fake(sessions, entries, {
    session: (id: string) => sessions.find(({ sessionId }) => sessionId === id),
    review: { files, totals, isComplete: unlisted === 0 },
    ...more,
  });
}

function rows(...folders: FolderModel[]): readonly string[] {
  return pendingTree(folders).flatMap(({ item, below }) => [
    presentPending(item).label,
    ...below.map((each) => `  ${presentPending(each.item).label}`),
  ]);
}

function lookOf(file: PendingFile) {
  const [row] = pendingTree([folder([file])]);
  assert.ok(row);
  return presentPending(row.item);
}

describe("the view of what is pending", () => {
  it("lists the files of the only folder", () => {
    assert.deepEqual(rows(folder([pending("a.txt"), pending("sub/b.txt")])), ["a.txt", "b.txt"]);
    assert.deepEqual(rows(folder([])), []);
    assert.deepEqual(rows(), []);
  });

  it("lists those of several folders below them, and no folder in which nothing is pending", () => {
    const web = folder([pending("a.txt")], { id: "file:///web", name: "web" });
    const docs = folder([], { id: "file:///docs", name: "docs" });
    assert.deepEqual(rows(web, docs), ["web", "  a.txt"]);
  });

  it("says who changed a file, where it is, and how much", () => {
    const look = lookOf(pending("src/a.txt", { owners: [owner("a"), owner("b", "t"), owner("a")], deletions: 3 }));
    assert.equal(look.description, "src · +1 −3 · Claude Code, My session");
    assert.equal(look.spoken, "a.txt, in src, modified, 1 line added, 3 removed, by Claude Code, My session");
    assert.deepEqual(look.tooltip.split("\n"), [
      "src/a.txt",
      "Modified, 1 line added, 3 removed",
      "Claude Code, step 2 “Edit it”, for the turn “Fix the <b>tests</b>”",
      "My session, step 3",
    ]);
  });

  it("says how many comments are open", () => {
    const openOn = (name: string) => (name === "src/a.txt" ? 2 : 0);
    const file = pending("src/a.txt", { owners: [owner("a")] });
    const [row, other] = pendingTree([folder([file, pending("b.txt")], { comments: { openOn } })]);
    assert.ok(row && other);
    assert.equal(presentPending(row.item).description, "src · +1 −0 · Claude Code · 2 comments");
    assert.match(presentPending(row.item).spoken, /, 2 comments$/);
    assert.doesNotMatch(presentPending(other.item).description, /comment/);
  });

  it("says what it can of steps that are older than the history that is known", () => {
    assert.equal(lookOf(pending("a.txt", { owners: [owner("gone")] })).description, "+1 −0 · Claude Code");
    assert.equal(lookOf(pending("a.txt", { owners: [owner("gone", "gone")] })).description, "+1 −0 · an agent");
  });

  it("tells a renamed file as such", () => {
    const look = lookOf(pending("new.txt", { renamedFrom: "old.txt", additions: 0 }));
    assert.match(look.description, /^← old\.txt/);
    assert.match(look.spoken, /renamed from old\.txt/);
    assert.match(look.mark ?? "", /\?R$/);
  });

  it("ends with a row for the files that are not listed", () => {
    assert.deepEqual(rows(folder([pending("a.txt")], {}, 300)), ["a.txt", "Show more of 301 files"]);
  });

  it("draws anew only what looks different, and hands out the file as it is shown", () => {
    const tree = new LiveTree<PendingItem>();
    const update = (...files: PendingFile[]) =>
      tree.update(pendingTree([folder(files)]))?.map((item) => presentPending(item).label);
    assert.equal(update(pending("a.txt"), pending("b.txt")), undefined);
    const [first] = tree.top;
    assert.deepEqual(update(pending("a.txt", { id: "2" }), pending("b.txt", { additions: 9 })), ["b.txt"]);
    assert.equal(tree.top[0], first);
    assert.equal(first?.kind === "pending" ? first.pending.id : undefined, "2");
    assert.deepEqual(update(pending("a.txt", { id: "2" }), pending("b.txt", { additions: 9 })), []);
  });

  it("sums up what is pending", () => {
    assert.equal(
      pendingInWords([folder([pending("a")]), folder([pending("b"), pending("c")])]),
      "3 files, 3 lines added, 0 removed",
    );
    assert.equal(pendingInWords([]), "0 files");
  });
});
