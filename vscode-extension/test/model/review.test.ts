import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { PendingFile, ReviewFileResult } from "@snapd/client";
import { SnapdError } from "@snapd/client";
import { FolderModel } from "../../src/model/folder";
import { REVIEW_PAGE } from "../../src/model/review";
import { FakeFolder, connectionOf } from "./fakeConnection";
import { hash } from "./making";

const URI = "file:///work/app";

/** What the daemon has of pending changes; each file's version is its id. */
class FakeReview {
  readonly files = new Map<string, string>();
  problem: Error | undefined;

  list(params: Record<string, unknown>) {
    if (this.problem !== undefined) throw this.problem;
    const names = [...this.files.keys()].sort();
    const start = Number(params["cursor"] ?? 0);
    const end = start + Number(params["limit"]);
    return {
      files: names.slice(start, end).map((file) => this.pending(file)),
      pendingFiles: names.length,
      additions: names.length * 2,
      deletions: names.length,
      ...(end < names.length && { nextCursor: String(end) }),
    };
  }

  pending(file: string): PendingFile {
    const owners = [{ sessionId: "s", stepId: "a" }];
    const id = this.files.get(file) ?? "";
    return { file, id, status: "modified", additions: 2, deletions: 1, binary: false, hunks: 1, owners };
  }

  file({ file }: Record<string, unknown>): ReviewFileResult {
    const name = String(file);
    if (!this.files.has(name)) {
      throw new SnapdError(`${name} has no pending changes`, -32602, { kind: "invalidParams" });
    }
    return { ...this.pending(name), before: "old\n", after: "new\n", hunks: [] };
  }
}

async function opened(root?: FakeFolder["root"]) {
  const folder = new FakeFolder(URI);
  folder.root = root;
  const review = new FakeReview();
  const connection = connectionOf(folder);
  connection.answers.set("review/list", (params) => review.list(params));
  connection.answers.set("review/file", (params) => review.file(params));
  const model = new FolderModel(connection, URI, "app");
  const read = async () => {
    await model.review.refresh();
    return model.review.files.map(({ file }) => file);
  };
  await model.refresh();
  return { connection, model, review, read };
}

describe("ReviewModel", () => {
  it("lists what is pending, and how much of it there is", async () => {
    const { model, review, read } = await opened();
    review.files.set("b.txt", "1").set("a.txt", "1");
    assert.deepEqual(await read(), ["a.txt", "b.txt"]);
    assert.deepEqual(model.review.totals, { files: 2, additions: 4, deletions: 2 });
    assert.equal(model.review.isComplete, true);
    model.dispose();
  });

  it("keeps the objects of files that are as before", async () => {
    const { model, review, read } = await opened();
    review.files.set("a.txt", "1").set("b.txt", "1");
    await read();
    const [before] = model.review.files;
    review.files.set("b.txt", "2");
    await read();
    assert.equal(model.review.files[0], before);
    assert.equal(model.review.files[1]?.id, "2");
    model.dispose();
  });

  it("asks for one page, and for more only when somebody wants more", async () => {
    const { connection, model, review, read } = await opened();
    for (let at = 0; at < 2 * REVIEW_PAGE + 1; at += 1) review.files.set(`${String(at).padStart(4, "0")}.txt`, "1");
    const asked = connection.count("review/list");
    assert.equal((await read()).length, REVIEW_PAGE);
    assert.equal(connection.count("review/list"), asked + 1);
    assert.equal(model.review.isComplete, false);
    assert.equal(model.review.totals.files, 2 * REVIEW_PAGE + 1);
    await model.review.showMore();
    assert.equal(model.review.files.length, 2 * REVIEW_PAGE);
    await model.review.showMore();
    assert.equal(model.review.files.length, 2 * REVIEW_PAGE + 1);
    assert.equal(model.review.isComplete, true);
    assert.equal((await model.review.all()).length, 2 * REVIEW_PAGE + 1);
    model.dispose();
  });

  it("reads hunks of followed files alone, and again only where they are others", async () => {
    const { connection, model, review, read } = await opened();
    review.files.set("a.txt", "1").set("b.txt", "1").set("c.txt", "1");
    await read();
    model.review.follow(new Set(["a.txt", "b.txt", "not-pending.txt"]));
    await read();
    const files = () => connection.asked.filter(({ method }) => method === "review/file").map((each) => each.params);
    assert.deepEqual(
      files().map(({ file }) => file),
      ["a.txt", "b.txt"],
    );
    const known = model.review.shown("a.txt");
    assert.equal(known?.id, "1");
    assert.equal(model.review.shown("c.txt"), undefined);
    review.files.set("b.txt", "2");
    await read();
    assert.equal(files().length, 3);
    assert.equal(model.review.shown("b.txt")?.id, "2");
    assert.equal(model.review.shown("a.txt"), known);
    review.files.delete("a.txt");
    await read();
    assert.equal(model.review.shown("a.txt"), undefined);
    model.dispose();
  });

  it("knows a followed file that is not listed yet", async () => {
    const { model, review, read } = await opened();
    for (let at = 0; at <= REVIEW_PAGE; at += 1) review.files.set(`${String(at).padStart(4, "0")}.txt`, "1");
    review.files.set("z.txt", "7");
    model.review.follow(new Set(["z.txt", "zz.txt"]));
    await read();
    assert.equal(model.review.isComplete, false);
    assert.equal(model.review.shown("z.txt")?.id, "7");
    assert.equal(model.review.shown("zz.txt"), undefined);
    review.files.set("z.txt", "8");
    await read();
    assert.equal(model.review.shown("z.txt")?.id, "8");
    model.dispose();
  });

  it("reads again when something happened, and tells once", async () => {
    const { connection, model, review, read } = await opened();
    await read();
    let count = 0;
    const changed = new Promise<void>((resolve) => {
      model.review.onDidChange(() => {
        count += 1;
        resolve();
      });
    });
    review.files.set("a.txt", "1");
    const asked = connection.count("review/list");
    connection.emit("snapshot/didChange", { workspaceUri: URI, seq: 1, base: hash(1), files: [] });
    connection.emit("snapshot/didTrack", { workspaceUri: URI, seq: 2, hash: hash(2), previous: hash(2) });
    connection.emit("snapshot/didTrack", { workspaceUri: "file:///other", seq: 3, hash: hash(2), previous: hash(2) });
    connection.emit("review/didChange", {
      workspaceUri: URI,
      seq: 4,
      pendingFiles: 1,
      additions: 2,
      deletions: 1,
      comments: 0,
    });
    await changed;
    assert.equal(count, 1);
    assert.equal(connection.count("review/list"), asked + 1);
    assert.equal(model.review.files.length, 1);
    model.dispose();
  });

  it("reads again when the daemon says that more or less is pending", async () => {
    const { connection, model, review, read } = await opened();
    await read();
    const changed = new Promise<void>((resolve) => model.review.onDidChange(resolve));
    review.files.set("a.txt", "1");
    connection.emit("review/didChange", {
      workspaceUri: URI,
      seq: 4,
      pendingFiles: 1,
      additions: 2,
      deletions: 1,
      comments: 0,
    });
    await changed;
    assert.equal(model.review.files.length, 1);
    model.dispose();
  });

  it("shows what lies in the folder of the window, and counts only that", async () => {
    const { model, review, read } = await opened({ workspaceUri: "file:///work", within: "app" });
    for (let at = 0; at <= REVIEW_PAGE; at += 1) review.files.set(`aaa/${at}.txt`, "1");
    review.files.set("app/here.txt", "1").set("apple/there.txt", "1");
    assert.deepEqual(await read(), ["app/here.txt"]);
    assert.deepEqual(model.review.totals, { files: 1, additions: 2, deletions: 1 });
    model.dispose();
  });

  it("keeps what it knows while the connection is gone, and says what else went wrong", async () => {
    const { connection, model, review, read } = await opened();
    review.files.set("a.txt", "1");
    await read();
    connection.become("reconnecting");
    review.problem = new Error("no connection");
    assert.deepEqual(await read(), ["a.txt"]);
    connection.state = "ready";
    assert.deepEqual(await read(), []);
    assert.equal(model.review.problem?.message, "no connection");
    review.problem = undefined;
    assert.deepEqual(await read(), ["a.txt"]);
    assert.equal(model.review.problem, undefined);
    model.dispose();
  });

  it("says what is wrong with a file, and not that nothing is pending", async () => {
    const { connection, model } = await opened();
    connection.answers.set("review/file", () => {
      throw new SnapdError("damaged", -32001, { kind: "storeCorrupt" });
    });
    await assert.rejects(model.review.file("a.txt"), /damaged/);
    model.dispose();
  });
});
