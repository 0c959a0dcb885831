// What goes over the wire, against a daemon that the tests play.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ConnectionLostError, SnapdError } from "../src/index.js";
import { FakeDaemon } from "./support/fake.js";
import { reached, until } from "./support/until.js";

void test("initialize names folders, settings and token, and close says shutdown and exit", async (t) => {
  const daemon = await FakeDaemon.make(t);
  const client = await daemon.client(t, {
    clientInfo: { name: "editor", version: "9" },
    folders: ["file:///a%20b", "file:///c"],
    settings: { snapshot: false },
    token: "secret",
  });
  const { params } = await daemon.got(({ method }) => method === "initialize");
  assert.deepEqual(params?.["clientInfo"], { name: "editor", version: "9" });
  assert.deepEqual(params["initializationOptions"], { snapshot: false, token: "secret" });
  assert.deepEqual(
    (params["workspaceFolders"] as { uri: string }[]).map(({ uri }) => uri),
    ["file:///a%20b", "file:///c"],
  );
  assert.deepEqual(client.serverInfo, { name: "fake" });
  await client.close();
  await daemon.got(({ method }) => method === "exit");
  assert.deepEqual(
    daemon.messages.slice(-2).map(({ method }) => method),
    ["shutdown", "exit"],
  );
  assert.equal(client.state, "closed");
});

void test("an abort is sent, and what the daemon answers is the outcome", async (t) => {
  const daemon = await FakeDaemon.make(t);
  const client = await daemon.client(t);
  for (const answer of [{ error: { code: -32800, message: "cancelled" } }, { result: { hash: "h", skipped: [] } }]) {
    const abort = new AbortController();
    const request = client.request("snapshot/track", {}, { signal: abort.signal });
    const outcome = request.catch((error: unknown) => error);
    const { id } = await daemon.got(({ method }) => method === "snapshot/track");
    abort.abort();
    await daemon.got(({ method, params }) => method === "$/cancelRequest" && params?.["id"] === id);
    daemon.send({ id, ...answer });
    daemon.messages.length = 0;
    const found = await outcome;
    if ("error" in answer) {
      assert.ok(found instanceof SnapdError);
      assert.equal(found.code, -32800);
    } else {
      assert.deepEqual(found, answer.result);
    }
  }
});

void test("a request whose signal was aborted before is not sent", async (t) => {
  const daemon = await FakeDaemon.make(t);
  const client = await daemon.client(t);
  const request = client.request("snapshot/track", {}, { signal: AbortSignal.abort() });
  await assert.rejects(request, (error) => error instanceof SnapdError && error.code === -32800);
  await client.close();
  assert.ok(!daemon.messages.some(({ method }) => method === "snapshot/track"));
});

void test("progress goes to the request that it belongs to", async (t) => {
  const daemon = await FakeDaemon.make(t);
  const client = await daemon.client(t);
  const received: unknown[] = [];
  const request = client.request("snapshot/track", {}, { onProgress: (progress) => received.push(progress) });
  const { id, params } = await daemon.got(({ method }) => method === "snapshot/track");
  const token = params?.["workDoneToken"];
  const send = (value: object): void => {
    daemon.send({ method: "$/progress", params: { token, value } });
  };
  send({ kind: "begin", title: "snapshot/track" });
  send({ kind: "report", message: "reading", percentage: 40 });
  daemon.send({ method: "$/progress", params: { token: "another", value: { kind: "report", message: "no" } } });
  send({ kind: "end" });
  daemon.send({ id, result: { hash: null, reason: "disabled", skipped: [] } });
  assert.deepEqual(await request, { hash: null, reason: "disabled", skipped: [] });
  assert.deepEqual(received, [{}, { message: "reading", percentage: 40 }]);
});

void test("what the daemon says goes to the log, and what it asks is answered", async (t) => {
  const daemon = await FakeDaemon.make(t);
  await daemon.client(t);
  daemon.send({ method: "window/logMessage", params: { type: 2, message: "settings.x: unknown" } });
  daemon.send({ method: "window/showMessage", params: { type: 1, message: "no space" } });
  daemon.send({ id: 77, method: "window/showMessageRequest", params: { type: 1, message: "yes or no" } });
  const { error } = await daemon.got(({ id, method }) => id === 77 && method === undefined);
  assert.equal(error?.code, -32601);
  assert.ok(daemon.log.lines.includes("warn snapd: settings.x: unknown"));
  assert.ok(daemon.log.lines.includes("error snapd: no space"));
});

void test("an error of a kind that only a newer daemon has keeps its kind", async (t) => {
  const daemon = await FakeDaemon.make(t);
  const client = await daemon.client(t);
  const request = client.request("session/list", {});
  const { id } = await daemon.got(({ method }) => method === "session/list");
  daemon.send({ id, error: { code: 1099, message: "new", data: { kind: "toString" } } });
  await assert.rejects(request, (error) => {
    assert.ok(error instanceof SnapdError);
    assert.deepEqual(
      [error.code, error.kind, error.data, error.message],
      [1099, "toString", { kind: "toString" }, "new"],
    );
    return true;
  });
});

void test("an answer that came before the end counts, and a request without one is lost and not sent again", async (t) => {
  const daemon = await FakeDaemon.make(t);
  const client = await daemon.client(t);
  const answered = [1, 2, 3].map(() => client.request("snapshot/track", {}));
  const lost = client.request("session/list", {});
  const rejected = assert.rejects(lost, ConnectionLostError);
  await daemon.got(({ method }) => method === "session/list");
  for (const { id } of daemon.messages.filter(({ method }) => method === "snapshot/track")) {
    daemon.send({ id, result: { hash: String(id), skipped: [] } });
  }
  daemon.drop();
  assert.equal(new Set((await Promise.all(answered)).map(({ hash }) => hash)).size, 3);
  await rejected;
  await until(() => client.state === "ready", "the connection was made again");
  assert.equal(daemon.connections, 2);
  assert.equal(daemon.messages.filter(({ method }) => method === "session/list").length, 1);
});

void test("what is no message ends the connection, and it is made again", async (t) => {
  const daemon = await FakeDaemon.make(t);
  const client = await daemon.client(t);
  daemon.write("Content-Length: 5\r\n\r\n{{{{{");
  await until(() => daemon.connections === 2 && client.state === "ready", "the connection was made again");
});

void test("without reconnecting, the end of the connection closes the client", async (t) => {
  const daemon = await FakeDaemon.make(t);
  const client = await daemon.client(t, { reconnect: false });
  const states: string[] = [];
  client.onDidChangeState((state) => states.push(state));
  daemon.drop();
  await until(() => client.state === "closed", "the client is closed");
  await assert.rejects(client.request("session/list", {}), ConnectionLostError);
  assert.deepEqual(states, ["closed"]);
});

void test("a request that waits for the connection can be cancelled, and closing rejects the others", async (t) => {
  const daemon = await FakeDaemon.make(t);
  const client = await daemon.client(t, { reconnect: { firstDelay: 1e8, longestDelay: 1e8 } });
  const gone = reached(client, "reconnecting");
  daemon.drop();
  await gone;
  const abort = new AbortController();
  const cancelled = assert.rejects(
    client.request("session/list", {}, { signal: abort.signal }),
    (error) => error instanceof SnapdError && error.code === -32800,
  );
  const waiting = assert.rejects(client.request("session/list", {}), ConnectionLostError);
  abort.abort();
  await cancelled;
  client.dispose();
  client.dispose();
  await client.close();
  await waiting;
});

void test("folders and settings that change while there is no connection go with the next one", async (t) => {
  const daemon = await FakeDaemon.make(t);
  const client = await daemon.client(t, { settings: { snapshot: true, retention: 3 } });
  const gone = reached(client, "reconnecting");
  daemon.messages.length = 0;
  daemon.drop();
  await gone;
  await client.changeFolders(["file:///new"], ["file:///w"]);
  await client.changeSettings({ retention: 9, exclude: ["x"], snapshot: null });
  const { params } = await daemon.got(({ method }) => method === "initialize");
  assert.deepEqual(params?.["initializationOptions"], { snapshot: true, retention: 9, exclude: ["x"] });
  assert.deepEqual(params["workspaceFolders"], [{ uri: "file:///new", name: "new" }]);
  await reached(client, "ready");
  assert.deepEqual(client.folders, ["file:///new"]);
  assert.deepEqual(changes(daemon), []);
});

void test("those that change while the daemon is being introduced are told after it", async (t) => {
  const daemon = await FakeDaemon.make(t);
  const client = await daemon.client(t);
  daemon.messages.length = 0;
  daemon.held.add("initialize");
  daemon.drop();
  const { id } = await daemon.got(({ method }) => method === "initialize");
  await client.changeFolders(["file:///a"], []);
  await client.changeFolders(["file:///b"], ["file:///a", "file:///w"]);
  await client.changeSettings({ retention: 9 });
  assert.deepEqual(changes(daemon), []);
  daemon.send({ id, result: { capabilities: {} } });
  await reached(client, "ready");
  const folder = (name: string): object => ({ uri: `file:///${name}`, name });
  assert.deepEqual(changes(daemon), [
    { event: { added: [folder("a")], removed: [] } },
    { event: { added: [folder("b")], removed: [folder("w"), folder("a")] } },
    { settings: { retention: 9 } },
  ]);
  const asked = daemon.messages.filter(({ method }) => method === "snapshot/events");
  assert.deepEqual(
    asked.map(({ params }) => params?.["workspaceUri"]),
    ["file:///b"],
  );
});

void test("a listener that fails does not keep the others from being told", async (t) => {
  const daemon = await FakeDaemon.make(t);
  const client = await daemon.client(t);
  const received: number[] = [];
  client.onNotification("snapshot/didTrack", () => {
    throw new Error("no use");
  });
  const gone = client.onNotification("snapshot/didTrack", () => assert.fail("it was disposed"));
  client.onNotification("snapshot/didTrack", ({ seq }) => received.push(seq));
  gone.dispose();
  daemon.send({ method: "snapshot/didTrack", params: { workspaceUri: "file:///w", seq: 1, hash: "h" } });
  await until(() => received.length === 1, "the other one arrives");
  assert.ok(daemon.log.has("no use"));
});

void test("a notification of a newer daemon counts, though nobody here knows it", async (t) => {
  const daemon = await FakeDaemon.make(t);
  const client = await daemon.client(t);
  const received: number[] = [];
  client.onNotification("snapshot/didTrack", ({ seq }) => received.push(seq));
  daemon.messages.length = 0;
  daemon.send({ method: "snapshot/didLater", params: { workspaceUri: "file:///w", seq: 1 } });
  daemon.send({ method: "snapshot/didTrack", params: { workspaceUri: "file:///w", seq: 2, hash: "h" } });
  await until(() => received.length === 1, "the next one arrives");
  assert.deepEqual(daemon.messages, []);
});

/** What the daemon was told of folders and settings. */
function changes(daemon: FakeDaemon): unknown[] {
  return daemon.messages.filter(({ method }) => method?.startsWith("workspace/")).map(({ params }) => params);
}
