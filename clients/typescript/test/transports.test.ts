// How the daemon is reached, and what is said where it cannot be.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ConnectError, type Launch } from "../src/index.js";
import { Place, processesOf, SNAPD } from "./support/place.js";
import { until } from "./support/until.js";

void test("through a socket", async (t) => {
  const place = await Place.make(t);
  const folder = await place.folder("w");
  await place.client([folder]);
  const client = await place.client([folder], { transport: { socketPath: place.socketPath } });
  assert.equal(client.serverInfo?.name, "snapd");
  assert.notEqual((await client.request("snapshot/track", {})).hash, null);
});

void test("through a daemon of one's own, which has ended when the client is closed", async (t) => {
  const place = await Place.make(t);
  const folder = await place.folder("w");
  const transport = { command: SNAPD, args: ["serve", "--stdio"], env: place.env };
  const client = await place.client([folder], { transport });
  assert.notEqual((await client.request("snapshot/track", {})).hash, null);
  assert.equal((await processesOf(place.root)).length > 0, true);
  await client.close();
  await until(async () => (await processesOf(place.root)).length === 0, "its helpers have ended too");
});

void test("nobody listens", async (t) => {
  const place = await Place.make(t);
  const socketPath = join(place.root, "none");
  const connecting = place.client([], { transport: { socketPath } });
  await assert.rejects(connecting, (error) => error instanceof ConnectError && error.message.includes(socketPath));
});

async function refused(t: Parameters<typeof Place.make>[0], launch: Launch): Promise<string> {
  const place = await Place.make(t);
  const error: unknown = await place.client([], { transport: { env: place.env, ...launch } }).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ConnectError);
  assert.deepEqual(await processesOf(place.root), []);
  return error.message;
}

void test("there is no such command", async (t) => {
  assert.match(await refused(t, { command: "/nowhere/snapd" }), /\/nowhere\/snapd.*ENOENT/);
});

void test("a command that prints an error and ends", async (t) => {
  const script = "process.stderr.write('x'.repeat(100000) + '\\nno such module: snapd\\n'); process.exitCode = 3";
  const message = await refused(t, { command: process.execPath, args: ["-e", script] });
  assert.match(message, /exited with code 3/);
  assert.match(message, /no such module: snapd$/);
  assert.ok(message.length < 10_000);
});

/** It ends by itself at last, should the test be ended before it. */
const STUBBORN = "process.on('SIGTERM', () => {}); setTimeout(() => {}, 100000);";

void test("a command that says something else than the protocol, and would not end", async (t) => {
  const script = `${STUBBORN} process.stdout.write('Welcome!\\r\\n\\r\\n')`;
  assert.match(await refused(t, { command: process.execPath, args: ["-e", script] }), /was ended by SIGKILL/);
});

void test("an attempt is given up, and what was launched has ended", async (t) => {
  const place = await Place.make(t);
  const abort = new AbortController();
  const transport = { command: process.execPath, args: ["-e", "process.stdin.resume()"], env: place.env };
  const rejected = assert.rejects(place.client([], { transport, signal: abort.signal }), ConnectError);
  await until(async () => (await place.children()).length === 1, "the command is started");
  abort.abort();
  await rejected;
  assert.deepEqual(await place.children(), []);
  await assert.rejects(place.client([], { transport, signal: abort.signal }), ConnectError);
});

void test("the daemon refuses a wrong setting, with its reason", async (t) => {
  const place = await Place.make(t);
  const connecting = place.client([], { settings: { retention: "long" } });
  await assert.rejects(connecting, (error) => error instanceof ConnectError && error.message.includes("retention"));
});

void test("closing leaves the daemon to others, and nothing of its own", async (t) => {
  const place = await Place.make(t);
  const folder = await place.folder("w");
  const client = await place.client([folder]);
  assert.equal((await place.children()).length, 1);
  await Promise.all([client.close(), client.close()]);
  client.dispose();
  assert.deepEqual(await place.children(), []);
  assert.ok(existsSync(place.socketPath));
  assert.equal(client.state, "closed");
});
