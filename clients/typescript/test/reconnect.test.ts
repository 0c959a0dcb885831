// A connection that is lost, against the real daemon.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { ConnectionLostError } from "../src/index.js";
import { Place, SNAPD } from "./support/place.js";
import { Proxy } from "./support/proxy.js";
import { Recorder } from "./support/recorder.js";
import { reached, until } from "./support/until.js";

void test("what was told while there was no connection is told then, once and in order", async (t) => {
  const place = await Place.make(t);
  const folders = [await place.folder("one"), await place.folder("two")];
  // this one never loses its connection: it says what is right
  const steady = await place.client(folders);
  const proxy = await Proxy.make(t, join(place.root, "proxy"), place.socketPath);
  const client = await place.client(folders, { transport: { socketPath: join(place.root, "proxy") } });
  const states: string[] = [];
  client.onDidChangeState((state) => states.push(state));
  const [expected, actual] = [new Recorder(steady), new Recorder(client)];
  let written = 0;
  const track = async (): Promise<void> => {
    for (const folder of folders) {
      await folder.write("a.txt", String((written += 1)));
      await steady.request("snapshot/track", { workspaceUri: folder.uri });
    }
  };
  for (let round = 0; round < 5; round += 1) {
    await track();
    const lost = reached(client, "reconnecting");
    proxy.cut();
    await lost;
    await track();
    await track();
    const attempts = proxy.attempts;
    await until(() => proxy.attempts > attempts, "it is tried again");
    // the catch-up and what happens meanwhile
    proxy.mend();
    await Promise.all([track(), reached(client, "ready")]);
  }
  for (const folder of folders) {
    const { latest } = await steady.request("snapshot/events", { workspaceUri: folder.uri, since: 0 });
    for (const recorder of [expected, actual]) {
      await until(() => recorder.seqs(folder.uri).at(-1) === latest, "everything has arrived");
    }
    const of = (recorder: Recorder): unknown =>
      recorder.records.filter((record) => record.method !== "reset" && record.params.workspaceUri === folder.uri);
    assert.deepEqual(of(actual), of(expected));
    const { events } = await steady.request("snapshot/events", { workspaceUri: folder.uri, since: 0 });
    assert.deepEqual(of(actual), events);
  }
  assert.deepEqual(actual.resets, []);
  assert.deepEqual(states.slice(0, 2), ["reconnecting", "ready"]);
});

void test("a daemon that was killed is started again, and told that nothing of before can be had", async (t) => {
  const place = await Place.make(t);
  const folder = await place.folder("w", { "a.txt": "one\n" });
  const client = await place.client([folder]);
  const recorder = new Recorder(client);
  const before = await client.request("snapshot/track", {});
  await until(() => recorder.tracked.length === 1, "the snapshot arrives");
  const pid = await place.daemonPid();
  const lost = reached(client, "reconnecting");
  process.kill(pid, "SIGKILL");
  await lost;
  // this one waits for the new connection
  await folder.write("a.txt", "two\n");
  const after = await client.request("snapshot/track", {});
  assert.notEqual(await place.daemonPid(), pid);
  await until(() => recorder.tracked.length === 2, "the next snapshot arrives");
  assert.deepEqual(
    recorder.records.filter(({ method }) => method !== "snapshot/didChange").map(({ method }) => method),
    ["snapshot/didTrack", "reset", "snapshot/didTrack"],
  );
  assert.deepEqual(recorder.tracked, [before.hash, after.hash]);
  assert.deepEqual(recorder.resets, [folder.uri]);
});

void test("more than is kept is a reset", async (t) => {
  const place = await Place.make(t);
  const folder = await place.folder("w");
  const steady = await place.client([folder]);
  const proxy = await Proxy.make(t, join(place.root, "proxy"), place.socketPath);
  const client = await place.client([folder], { transport: { socketPath: join(place.root, "proxy") } });
  const recorder = new Recorder(client);
  const lost = reached(client, "reconnecting");
  proxy.cut();
  await lost;
  // each is told twice: begun and ended
  for (let i = 0; i < 501; i += 1) {
    const { sessionId } = await steady.request("session/start", {});
    await steady.request("session/end", { sessionId });
  }
  proxy.mend();
  await reached(client, "ready");
  assert.deepEqual(recorder.records, [{ method: "reset", workspaceUri: folder.uri }]);
  const { latest } = await client.request("snapshot/events", { since: 0 });
  await steady.request("session/start", { sessionId: "last" });
  await until(() => recorder.records.length === 2, "the next one arrives");
  assert.deepEqual(recorder.seqs(folder.uri), [latest + 1]);
});

void test("what was under way is lost, and is not sent again", async (t) => {
  const place = await Place.make(t);
  const folder = await place.folder("w");
  await place.client([folder]);
  const client = await place.client([folder]);
  const pid = await place.daemonPid();
  process.kill(pid, "SIGSTOP");
  const rejected = assert.rejects(client.request("session/start", { sessionId: "s" }), ConnectionLostError);
  process.kill(pid, "SIGKILL");
  await rejected;
  assert.deepEqual((await client.request("session/list", {})).sessions, []);
});

void test("documents are told again, those of files that cannot be compared too", async (t) => {
  const place = await Place.make(t);
  const folder = await place.folder("w", { "a.txt": "one\n", "b.txt": "one\n", "c.txt": "one\n" });
  const latin1 = Buffer.from("caf\u00e9\n", "latin1");
  await folder.write("l.txt", latin1);
  const client = await place.client([folder]);
  const { hash } = await client.request("snapshot/track", {});
  assert.ok(hash !== null);
  for (const name of ["a.txt", "b.txt", "c.txt", "l.txt"]) {
    await folder.write(name, name === "l.txt" ? Buffer.from("th\u00e9\n", "latin1") : "two\n");
    const text = name === "l.txt" ? "th\u00e9\n" : "two\n";
    client.documents.didOpen(folder.fileUri(name), "plaintext", 1, text);
  }
  client.documents.didChange(folder.fileUri("a.txt"), 2, "typed\n");
  client.documents.didChange(folder.fileUri("l.txt"), 2, "th\u00e9 vert\n");
  const outcomes = async (): Promise<Record<string, string>> =>
    Object.fromEntries(
      (await client.request("snapshot/restore", { hash, dryRun: true })).files.map(({ file, outcome, reason }) => [
        file,
        reason ?? outcome,
      ]),
    );
  const before = { "a.txt": "unsavedInEditor", "b.txt": "restored", "c.txt": "restored", "l.txt": "unsavedInEditor" };
  assert.deepEqual(await outcomes(), before);
  const lost = reached(client, "reconnecting");
  process.kill(await place.daemonPid(), "SIGKILL");
  await lost;
  client.documents.didChange(folder.fileUri("b.txt"), 2, "typed meanwhile\n");
  assert.deepEqual(await outcomes(), { ...before, "b.txt": "unsavedInEditor" });
});

void test("folders and settings outlast a connection", async (t) => {
  const place = await Place.make(t);
  const [first, second] = [await place.folder("one"), await place.folder("two")];
  const client = await place.client([first]);
  await client.changeFolders([second.uri], []);
  await client.changeSettings({ snapshot: false });
  const lost = reached(client, "reconnecting");
  process.kill(await place.daemonPid(), "SIGKILL");
  await lost;
  const { hash, reason } = await client.request("snapshot/track", { workspaceUri: second.uri });
  assert.deepEqual([hash, reason], [null, "disabled"]);
});

void test("a client that is closed while it connects again leaves no process", async (t) => {
  const place = await Place.make(t);
  const folder = await place.folder("w");
  const [marker, started] = [join(place.root, "marker"), join(place.root, "started")];
  // once there is a marker, the command never says anything
  const silent = `touch '${started}'; exec '${process.execPath}' -e 'process.stdin.resume()'`;
  const script = `if [ -e '${marker}' ]; then ${silent}; else exec '${SNAPD}' connect; fi`;
  const client = await place.client([folder], { transport: { command: "sh", args: ["-c", script], env: place.env } });
  await writeFile(marker, "");
  process.kill(await place.daemonPid(), "SIGKILL");
  await until(() => existsSync(started), "it connects again");
  await client.close();
  assert.equal(client.state, "closed");
  assert.deepEqual(await place.children(), []);
});
