import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type RequestSource, Contents, GoneError, printOf } from "../../src/documents/contents";
import { FakeConnection } from "../model/fakeConnection";
import { hash } from "../model/making";

const FOLDER = "file:///work";

function contents() {
  const connection = new FakeConnection();
  const folder: RequestSource = { request: connection.request };
  return { connection, read: new Contents(() => Promise.resolve(folder)) };
}

function at(file: string) {
  return { folder: FOLDER, hash: hash(1), file };
}

describe("Contents", () => {
  it("gives exact bytes, and asks once", async () => {
    const { connection, read } = contents();
    const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    const content = Buffer.from(bytes).toString("base64");
    connection.answers.set("snapshot/fileAt", () => ({ encoding: "base64", content }));
    assert.deepEqual(new Uint8Array(await read.read(at("x.png"))), bytes);
    assert.deepEqual(new Uint8Array(await read.read({ ...at("x.png"), stepId: "s", side: "after" })), bytes);
    assert.equal(connection.asked.length, 1);
    connection.answers.set("snapshot/fileAt", () => ({ encoding: "utf-8", content: "ä\u0000" }));
    assert.deepEqual(Buffer.from(await read.read(at("ä.txt"))), Buffer.from("ä\u0000"));
  });

  it("is empty where there was no file, and asks nothing", async () => {
    const { connection, read } = contents();
    assert.equal((await read.read({ ...at("x"), hash: "" })).byteLength, 0);
    assert.equal(connection.asked.length, 0);
  });

  it("asks again for what failed", async () => {
    const { connection, read } = contents();
    connection.answers.set("snapshot/fileAt", () => {
      throw new Error("the snapshot has expired");
    });
    await assert.rejects(read.read(at("x")), /expired/);
    connection.answers.set("snapshot/fileAt", () => ({ encoding: "utf-8", content: "x" }));
    assert.equal(Buffer.from(await read.read(at("x"))).toString(), "x");
  });

  it("keeps no more than fits, what was used last longest", async () => {
    const { connection, read } = contents();
    const content = "x".repeat(10 * 1024 * 1024);
    connection.answers.set("snapshot/fileAt", () => ({ encoding: "utf-8", content }));
    for (const file of ["a", "b", "c"]) await read.read(at(file));
    await read.read(at("a"));
    await read.read(at("d"));
    assert.equal(connection.asked.length, 4);
    await read.read(at("a"));
    assert.equal(connection.asked.length, 4);
    await read.read(at("b"));
    assert.equal(connection.asked.length, 5);
  });

  it("finds a step's own text on a later page, and says where it is gone", async () => {
    const { connection, read } = contents();
    const diff = (file: string, before: string) => ({ file, before, after: "", encoding: "latin-1" });
    connection.answers.set("session/diff", ({ cursor }) =>
      cursor === undefined ? { diffs: [diff("a", "no")], nextCursor: "2" } : { diffs: [diff("b", "\u00ff")] },
    );
    const own = { ...at("b"), stepId: "step", side: "before" as const, own: "session" };
    assert.deepEqual([...(await read.read(own))], [0xff]);
    const params = { workspaceUri: undefined, sessionId: "session", stepId: "step", contents: true, cursor: "2" };
    assert.deepEqual({ workspaceUri: undefined, ...connection.asked.at(-1)?.params }, params);
    await assert.rejects(read.read({ ...own, file: "c" }), GoneError);
  });

  it("finds a turn's own text, and no other than the one that was meant", async () => {
    const { connection, read } = contents();
    const diff = (after: string) => ({
      file: "a",
      status: "modified" as const,
      additions: 1,
      deletions: 1,
      binary: false,
      before: "old",
      after,
    });
    connection.answers.set("session/diff", () => ({ diffs: [diff("one")] }));
    const placeWith = (after: string) => {
      const print = printOf(diff(after));
      return { ...at("a"), side: "after" as const, own: "session", messageId: "p", print };
    };
    assert.equal(Buffer.from(await read.read(placeWith("one"))).toString(), "one");
    assert.deepEqual(connection.asked.at(-1)?.params, { sessionId: "session", messageId: "p", contents: true });
    // a step more, and the turn left something else: the document of before is not that
    connection.answers.set("session/diff", () => ({ diffs: [diff("two")] }));
    assert.equal(Buffer.from(await read.read(placeWith("one"))).toString(), "one", "it was read before");
    assert.equal(Buffer.from(await read.read(placeWith("two"))).toString(), "two");
    await assert.rejects(read.read(placeWith("three")), GoneError);
  });
});
