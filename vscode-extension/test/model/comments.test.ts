import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Comment, type Session, SnapdError } from "@snapd/client";
import { headingOf, remarksOf } from "../../src/model/comments";
import { FolderModel } from "../../src/model/folder";
import { FakeFolder, connectionOf } from "./fakeConnection";

const URI = "file:///work/app";
const AT = "2026-11-29T10:00:00.000Z";

function comment(commentId: string, more: Partial<Comment> = {}): Comment {
  return {
    commentId,
    file: "a.txt",
    start: 2,
    count: 1,
    lines: "two\n",
    text: "use the helper",
    at: AT,
    author: "user",
    state: "open",
    replies: [],
    ...more,
  };
}

/** A folder of which the daemon has these comments, one on each page. */
async function opened(all: Comment[], root?: FakeFolder["root"]) {
  const folder = new FakeFolder(URI);
  folder.root = root;
  const connection = connectionOf(folder);
  connection.answers.set("review/comments", ({ file, state, cursor = "0" }) => {
    const found = all.filter((each) => each.state === state && (file === undefined || each.file === file));
    const next = Number(cursor) + 1;
    return { comments: found.slice(Number(cursor), next), ...(next < found.length && { nextCursor: String(next) }) };
  });
  const model = new FolderModel(connection, URI, "app");
  await model.refresh();
  await model.comments.refresh();
  const ids = () => model.comments.all.map(({ commentId }) => commentId);
  return { connection, model, ids };
}

describe("CommentsModel", () => {
  it("has all that are open, and of followed files those that are resolved", async () => {
    const all = [
      comment("1", { at: "2026-11-29T10:00:01.000Z" }),
      comment("2", { at: "2026-11-29T10:00:02.000Z", state: "resolved" }),
      comment("3", { at: "2026-11-29T10:00:03.000Z", file: "b.txt" }),
      comment("4", { at: "2026-11-29T10:00:04.000Z", file: "b.txt", state: "resolved" }),
    ];
    const { model, ids } = await opened(all);
    assert.deepEqual(ids(), ["1", "3"]);
    model.comments.follow(new Set(["a.txt"]));
    await model.comments.refresh();
    assert.deepEqual(ids(), ["1", "2", "3"]);
    assert.deepEqual([model.comments.openOn("a.txt"), model.comments.openOn("c.txt")], [1, 0]);
    model.dispose();
  });

  it("follows the daemon, and says so only if something is another", async () => {
    const all = [comment("1")];
    const { connection, model, ids } = await opened(all);
    let changes = 0;
    model.comments.onDidChange(() => (changes += 1));
    await model.comments.refresh();
    assert.equal(changes, 0);
    all.push(comment("2"));
    const emitted = new Promise<void>((resolve) => model.comments.onDidChange(resolve));
    connection.emit("review/didChange", {
      workspaceUri: URI,
      seq: 1,
      pendingFiles: 0,
      additions: 0,
      deletions: 0,
      comments: 2,
    });
    await emitted;
    assert.deepEqual([ids(), changes], [["1", "2"], 1]);
    model.dispose();
  });

  it("keeps what it has if the daemon fails, and says why", async () => {
    const { connection, model, ids } = await opened([comment("1")]);
    connection.answers.set("review/comments", () => {
      throw new SnapdError("the disk is full", -32000, { kind: "ioError" });
    });
    await model.comments.refresh();
    assert.deepEqual([ids(), model.comments.problem?.message], [["1"], "the disk is full"]);
    model.dispose();
  });

  it("has only those in the folder of the window", async () => {
    const all = [comment("1", { file: "app/a.txt" }), comment("2", { file: "other/a.txt" })];
    const { model, ids } = await opened(all, { workspaceUri: "file:///work", within: "app" });
    assert.deepEqual(ids(), ["1"]);
    model.dispose();
  });
});

describe("words of comments", () => {
  const session = { sessionId: "s", agent: "claude", name: "x" } as Session;
  const folder = { session: (id: string) => (id === "s" ? session : undefined) };

  it("name whoever wrote a text, and make what is invisible in it visible", () => {
    const replies = [
      { text: "done\u202e\u0007\r\n\tnow", at: AT, author: "agent" as const, sessionId: "s" },
      { text: "thanks", at: AT, author: "user" as const },
      { text: "gone", at: AT, author: "agent" as const, sessionId: "purged" },
    ];
    assert.deepEqual(
      remarksOf(folder, comment("1", { replies })).map(({ author, text }) => [author, text]),
      [
        ["You", "use the helper"],
        ["Claude Code", "done\ufffd\ufffd\n\tnow"],
        ["You", "thanks"],
        ["an agent", "gone"],
      ],
    );
  });

  it("say to whom a comment goes, whether it is told, and whether its lines are gone", () => {
    const heading = (more: Partial<Comment>) => headingOf(folder, comment("1", more));
    assert.equal(heading({}), "For no agent");
    assert.equal(heading({ sessionId: "s" }), "For Claude Code, not told yet");
    assert.equal(heading({ sessionId: "s", deliveredAt: AT }), "For Claude Code, told");
    assert.equal(heading({ sessionId: "s", state: "resolved" }), "For Claude Code, resolved");
    const outdated = comment("1", { outdated: true, lines: "two\nthree\n" });
    assert.equal(headingOf(folder, outdated), "For no agent, outdated");
    assert.equal(remarksOf(folder, outdated)[0]?.text, "use the helper\n\nThe lines were:\n  two\n  three");
  });
});
