import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClientOptions, ConnectionState, SnapdClient } from "@snapd/client";
import { Daemon, type DaemonHost } from "../../src/daemon/daemon";
import type { Finished } from "../../src/daemon/processes";
import type { Settings } from "../../src/settings";
import { RecordingLog } from "./recordingLog";

const SETTINGS: Settings = {
  enable: true,
  path: "",
  pathFromWorkspace: false,
  notifications: "all",
  blame: { line: false, hover: false },
  daemon: {},
  unset: { exclude: [] },
};

/** A client that keeps what it is told. */
class FakeClient {
  state: ConnectionState = "ready";
  readonly serverInfo = { name: "snapd", version: "1.0" };
  folders: readonly string[];
  readonly sent: unknown[] = [];
  readonly #listeners = new Set<() => void>();

  constructor(readonly options: ClientOptions) {
    this.folders = options.folders;
  }

  onDidChangeState(listener: () => void): { dispose(): void } {
    this.#listeners.add(listener);
    return { dispose: () => this.#listeners.delete(listener) };
  }

  become(state: ConnectionState): void {
    this.state = state;
    for (const listener of this.#listeners) listener();
  }

  changeFolders(added: readonly string[], removed: readonly string[]): Promise<void> {
    this.sent.push({ added, removed });
    this.folders = [...this.folders.filter((folder) => !removed.includes(folder)), ...added];
    return Promise.resolve();
  }

  changeSettings(settings: Record<string, unknown>): Promise<void> {
    this.sent.push(settings);
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.become("closed");
    return Promise.resolve();
  }

  dispose(): void {
    this.become("closed");
  }
}

/** A window whose parts can be changed. */
class Host implements DaemonHost {
  readonly clientInfo = { name: "test" };
  readonly log = new RecordingLog();
  readonly clients: FakeClient[] = [];
  readonly calls: string[] = [];
  trusted = true;
  open: string[] = ["file:///p"];
  current = SETTINGS;
  found = { file: "/bin/snapd", version: "1.0" };
  notFound: Error | undefined;
  refusal: Error | undefined;
  stopped: Finished = { code: 0, stdout: "", stderr: "" };

  isTrusted = (): boolean => this.trusted;
  folders = (): string[] => this.open;
  settings = (): Settings => this.current;
  find: DaemonHost["find"] = () => {
    this.calls.push("find");
    return this.notFound === undefined ? Promise.resolve(this.found) : Promise.reject(this.notFound);
  };
  connect: DaemonHost["connect"] = (options) => {
    this.calls.push("connect");
    if (this.refusal !== undefined) return Promise.reject(this.refusal);
    const client = new FakeClient(options);
    this.clients.push(client);
    return Promise.resolve(client as unknown as SnapdClient);
  };
  run: DaemonHost["run"] = (file, args) => {
    this.calls.push([file, ...args].join(" "));
    return Promise.resolve(this.stopped);
  };

  get client(): FakeClient {
    const client = this.clients.at(-1);
    assert.ok(client !== undefined);
    return client;
  }

  take(): string[] {
    return this.calls.splice(0);
  }
}

async function connected(): Promise<{ host: Host; daemon: Daemon; client: FakeClient }> {
  const host = new Host();
  const daemon = new Daemon(host);
  await daemon.update();
  host.take();
  return { host, daemon, client: host.client };
}

describe("Daemon", () => {
  it("launches the snapd that was found, with all folders and what is set", async () => {
    const host = new Host();
    host.open = ["file:///p", "file:///q"];
    host.current = { ...SETTINGS, daemon: { exclude: ["x"] } };
    const daemon = new Daemon(host);
    const states: string[] = [];
    daemon.onDidChange(() => states.push(daemon.state));
    await daemon.update();
    assert.deepEqual(states, ["starting", "ready"]);
    assert.deepEqual(host.client.options.transport, { command: "/bin/snapd", args: ["connect"] });
    assert.deepEqual(host.client.options.folders, host.open);
    assert.deepEqual(host.client.options.settings, { exclude: ["x"] });
    assert.equal(daemon.client, host.client);
  });

  it("looks for nothing and starts nothing without trust, where it is off, and without a folder", async () => {
    for (const [change, state] of [
      [{ trusted: false }, "untrusted"],
      [{ current: { ...SETTINGS, enable: false } }, "disabled"],
      [{ open: [] }, "stopped"],
    ] as const) {
      const host = new Host();
      Object.assign(host, change);
      const daemon = new Daemon(host);
      await daemon.update();
      await daemon.restart();
      assert.equal(daemon.state, state);
      assert.deepEqual(host.calls, []);
    }
  });

  it("starts when trust is given", async () => {
    const host = new Host();
    host.trusted = false;
    const daemon = new Daemon(host);
    await daemon.update();
    await assert.rejects(daemon.run(["doctor"]), /not trusted/);
    host.trusted = true;
    await daemon.update();
    assert.equal(daemon.state, "ready");
  });

  it("does not try again by itself where none is found or it does not start", async () => {
    const host = new Host();
    host.notFound = new Error("no snapd was found");
    const daemon = new Daemon(host);
    await daemon.update();
    assert.deepEqual([daemon.state, daemon.problem?.message], ["failed", "no snapd was found"]);
    assert.deepEqual([daemon.found, host.take()], [undefined, ["find"]]);
    host.notFound = undefined;
    host.refusal = new Error("no space left");
    await daemon.update();
    assert.deepEqual([daemon.state, daemon.problem?.message], ["failed", "no space left"]);
    assert.deepEqual(host.take(), ["find", "connect"]);
    assert.ok(host.log.errors.some((line) => line.includes("no space left")));
    host.refusal = undefined;
    await daemon.reconnect();
    assert.deepEqual([daemon.state, daemon.problem], ["ready", undefined]);
  });

  it("tells the client which folders came and went", async () => {
    const { host, daemon, client } = await connected();
    host.open = ["file:///q"];
    await daemon.update();
    await daemon.update();
    assert.deepEqual(client.sent, [{ added: ["file:///q"], removed: ["file:///p"] }]);
    assert.deepEqual(host.calls, []);
  });

  it("tells the client what is set, and the default of what is not set any more", async () => {
    const { host, daemon, client } = await connected();
    host.current = { ...SETTINGS, daemon: { exclude: ["x"] }, unset: {} };
    await daemon.update();
    host.current = { ...host.current, notifications: "off" };
    await daemon.update();
    assert.deepEqual(client.sent, [{ exclude: ["x"] }]);
    host.current = SETTINGS;
    await daemon.update();
    await daemon.update();
    assert.deepEqual(client.sent.slice(1), [{ exclude: [] }]);
    assert.equal(host.client, client);
  });

  it("connects anew to another path, and lets go when it is turned off", async () => {
    const { host, daemon, client } = await connected();
    host.current = { ...SETTINGS, path: "/other/snapd" };
    await daemon.update();
    assert.deepEqual([client.state, host.take()], ["closed", ["find", "connect"]]);
    host.current = { ...host.current, enable: false };
    await daemon.update();
    assert.deepEqual([daemon.state, daemon.client, host.client.state], ["disabled", undefined, "closed"]);
  });

  it("follows the client as it loses its connection and makes it again", async () => {
    const { daemon, client } = await connected();
    client.become("reconnecting");
    assert.deepEqual([daemon.state, daemon.client], ["reconnecting", client]);
    client.become("ready");
    assert.equal(daemon.state, "ready");
    client.become("closed");
    assert.deepEqual([daemon.state, daemon.client], ["failed", undefined]);
  });

  it("ends the daemon on restart, between two connections", async () => {
    const { host, daemon, client } = await connected();
    await daemon.restart();
    assert.deepEqual(host.take(), ["/bin/snapd stop", "find", "connect"]);
    assert.deepEqual([client.state, daemon.state], ["closed", "ready"]);
  });

  it("connects again also where the old daemon did not end, and says so", async () => {
    const { host, daemon } = await connected();
    host.stopped = { code: 1, stdout: "", stderr: "not yours\n" };
    await assert.rejects(daemon.restart(), /could not be stopped: not yours$/);
    assert.equal(daemon.state, "ready");
  });

  it("does one thing after another", async () => {
    const host = new Host();
    const daemon = new Daemon(host);
    await Promise.all([daemon.update(), daemon.update(), daemon.reconnect()]);
    assert.deepEqual(host.take(), ["find", "connect", "find", "connect"]);
    assert.deepEqual(
      host.clients.map(({ state }) => state),
      ["closed", "ready"],
    );
  });

  it("runs the snapd of the window with any arguments", async () => {
    const { host, daemon } = await connected();
    await daemon.run(["doctor", "-C", "/a b"]);
    assert.deepEqual(host.take(), ["/bin/snapd doctor -C /a b"]);
    assert.equal(daemon.found, host.found);
    host.notFound = new Error("no snapd was found");
    await daemon.reconnect();
    await assert.rejects(daemon.run(["doctor"]), /no snapd was found/);
  });

  it("leaves no connection behind when it is disposed while connecting", async () => {
    const host = new Host();
    const daemon = new Daemon(host);
    const { connect } = host;
    host.connect = (options) => {
      daemon.dispose();
      return connect(options);
    };
    await daemon.update();
    assert.equal(host.client.state, "closed");
    assert.equal(daemon.client, undefined);
  });
});
