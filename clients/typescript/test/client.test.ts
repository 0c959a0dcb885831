// The client against the real daemon.

import assert from "node:assert/strict";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { SnapdError } from "../src/index.js";
import { Folder, Place } from "./support/place.js";
import { Recorder } from "./support/recorder.js";
import { until } from "./support/until.js";

void test("track and diff", async (t) => {
  const place = await Place.make(t);
  const folder = await place.folder("w", { "a.txt": "one\n" });
  const client = await place.client([folder]);
  const { hash } = await client.request("snapshot/track", {});
  assert.ok(hash !== null);
  await folder.write("a.txt", "two\n");
  const { diff } = await client.request("snapshot/diff", { hash });
  assert.match(diff, /^-one\n\+two$/m);
  const { diffs } = await client.request("snapshot/diffFull", { from: hash });
  assert.deepEqual(
    diffs.map(({ file, status, before, after }) => ({ file, status, before, after })),
    [{ file: "a.txt", status: "modified", before: "one\n", after: "two\n" }],
  );
});

void test("errors have code, kind and data", async (t) => {
  const place = await Place.make(t);
  const client = await place.client([await place.folder("w")]);
  const hash = "0123456789abcdef0123456789abcdef01234567";
  await assert.rejects(client.request("snapshot/diff", { hash }), (error) => {
    assert.ok(error instanceof SnapdError);
    assert.equal(error.code, 1001);
    assert.equal(error.kind, "unknownSnapshot");
    const { hint } = error.data as { hint?: unknown };
    assert.equal(typeof hint, "string");
    assert.deepEqual(error.data, { kind: "unknownSnapshot", hint, hash });
    return true;
  });
  await assert.rejects(client.request("snapshot/diff", { hash: "x" }), { code: -32602, kind: "invalidParams" });
});

void test("a request is cancelled", async (t) => {
  const place = await Place.make(t);
  const folder = await place.folder("w", { "a.txt": "one\n" });
  await place.client([folder]);
  const client = await place.client([folder], { transport: { socketPath: place.socketPath } });
  const pid = await place.daemonPid();
  const abort = new AbortController();
  // while the daemon stands still, both the request and the cancellation reach it before it works on either
  process.kill(pid, "SIGSTOP");
  const request = client.request("snapshot/track", {}, { signal: abort.signal });
  abort.abort();
  const rejected = assert.rejects(request, (error) => error instanceof SnapdError && error.code === -32800);
  await new Promise((resolve) => setImmediate(resolve));
  process.kill(pid, "SIGCONT");
  await rejected;
  assert.equal((await client.request("snapshot/status", {})).lastHash, undefined);
});

void test("two clients are told the same in the same order", async (t) => {
  const place = await Place.make(t);
  const folder = await place.folder("w", { "a.txt": "0\n" });
  const [first, second] = [await place.client([folder]), await place.client([folder])];
  const [one, other] = [new Recorder(first), new Recorder(second)];
  const { sessionId } = await first.request("session/start", { agent: "a" });
  for (let i = 1; i <= 5; i += 1) {
    const { stepId } = await first.request("step/begin", { sessionId, tool: "Edit" });
    await folder.write("a.txt", `${String(i)}\n`);
    await (i % 2 === 0 ? first : second).request("step/end", { stepId });
  }
  await second.request("session/undo", { sessionId, count: 2 });
  const { latest } = await first.request("snapshot/events", { since: 0 });
  for (const recorder of [one, other]) {
    await until(() => (recorder.seqs(folder.uri).at(-1) ?? 0) >= latest, "everything has arrived");
  }
  const { events } = await first.request("snapshot/events", { since: 0 });
  assert.deepEqual(one.records, events);
  assert.deepEqual(other.records, events);
  assert.equal(await folder.read("a.txt"), "3\n");
});

void test("folders are opened and closed later", async (t) => {
  const place = await Place.make(t);
  const [first, second] = [await place.folder("one"), await place.folder("two")];
  const client = await place.client([first]);
  const other = await place.client([first, second]);
  const recorder = new Recorder(client);
  await other.request("snapshot/track", { workspaceUri: second.uri });
  await assert.rejects(client.request("snapshot/track", { workspaceUri: second.uri }), { kind: "workspaceNotOpen" });
  await client.changeFolders([second.uri], []);
  assert.deepEqual(client.folders, [first.uri, second.uri]);
  await second.write("b.txt", "b\n");
  const { hash } = await other.request("snapshot/track", { workspaceUri: second.uri });
  await until(() => recorder.tracked.length === 1, "the snapshot arrives");
  // what was before the folder was opened is not
  assert.deepEqual(recorder.tracked, [hash]);
  await client.changeFolders([], [second.uri]);
  await assert.rejects(client.request("snapshot/track", { workspaceUri: second.uri }), { kind: "workspaceNotOpen" });
  await other.request("snapshot/track", { workspaceUri: first.uri });
  await until(() => recorder.tracked.length === 2, "the other folder is told of");
});

void test("a folder that is reached by a symlink is told of by the name that it was given", async (t) => {
  const place = await Place.make(t);
  const folder = await place.folder("real");
  await symlink(folder.path, join(place.root, "link"));
  const link = new Folder(join(place.root, "link"));
  const client = await place.client([link]);
  const recorder = new Recorder(client);
  await client.request("snapshot/track", {});
  await until(() => recorder.records.length === 1, "the snapshot arrives");
  assert.deepEqual(recorder.seqs(link.uri), [1]);
});

void test("a folder that is refused fails what names it, and is told of once it is there", async (t) => {
  const place = await Place.make(t);
  const folder = new Folder(join(place.root, "later"));
  const client = await place.client([folder]);
  const recorder = new Recorder(client);
  await assert.rejects(client.request("snapshot/track", {}), { kind: "workspaceRefused" });
  await place.folder("later", { "a.txt": "a\n" });
  const { hash } = await client.request("snapshot/track", {});
  await until(() => recorder.tracked.length === 1, "the snapshot arrives");
  assert.deepEqual(recorder.tracked, [hash]);
});

void test("settings are changed, and a wrong one is logged", async (t) => {
  const place = await Place.make(t);
  const client = await place.client([await place.folder("w")], { settings: { snapshot: false } });
  assert.equal((await client.request("snapshot/track", {})).reason, "disabled");
  await client.changeSettings({ snapshot: true, nonsense: 1 });
  assert.notEqual((await client.request("snapshot/track", {})).hash, null);
  assert.ok(place.log.has("nonsense: unknown setting"));
});

void test("a file whose document holds unsaved text is not written", async (t) => {
  const place = await Place.make(t);
  const folder = await place.folder("w", { "a.txt": "one\n" });
  const client = await place.client([folder]);
  const { hash } = await client.request("snapshot/track", {});
  assert.ok(hash !== null);
  await folder.write("a.txt", "two\n");
  const uri = folder.fileUri("a.txt");
  const reasons = async (): Promise<unknown> =>
    (await client.request("snapshot/restore", { hash, dryRun: true })).files.map(
      ({ outcome, reason }) => reason ?? outcome,
    );
  client.documents.didOpen(uri, "plaintext", 1, "two\n");
  assert.deepEqual(await reasons(), ["restored"]);
  client.documents.didChange(uri, 2, "typed\n");
  assert.deepEqual(await reasons(), ["unsavedInEditor"]);
  await folder.write("a.txt", "typed\n");
  client.documents.didSave(uri);
  assert.deepEqual(await reasons(), ["restored"]);
  client.documents.didChange(uri, 3, "more\n");
  assert.deepEqual(await reasons(), ["unsavedInEditor"]);
  client.documents.didClose(uri);
  assert.deepEqual(await reasons(), ["restored"]);
  assert.throws(() => {
    client.documents.didChange(uri, 4, "x");
  }, /not open/);
});
