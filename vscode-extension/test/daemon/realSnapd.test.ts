import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { SnapdClient } from "@snapd/client";
import { agentsOf, failuresOf, installArguments, STATUS_ARGUMENTS } from "../../src/daemon/agents";
import { Daemon } from "../../src/daemon/daemon";
import { doctorArguments, reportOf } from "../../src/daemon/doctor";
import { DocumentSync } from "../../src/daemon/documentSync";
import { findSnapd } from "../../src/daemon/finding";
import { PROBES } from "../../src/daemon/probing";
import { runProgram } from "../../src/daemon/processes";
import type { Settings } from "../../src/settings";
import { SNAPD, environment } from "../support/environment";
import { FakeDocument, FakeWindow } from "./fakeWindow";
import { RecordingLog } from "./recordingLog";

describe("with the daemon itself", { skip: process.platform === "win32" }, () => {
  const log = new RecordingLog();
  let daemonSettings: Settings["daemon"] = {};
  let root: string;
  let folder: string;
  let daemon: Daemon;

  before(async () => {
    root = await mkdtemp(path.join(os.tmpdir(), "snapd-"));
    folder = path.join(root, "project");
    await mkdir(folder);
    await mkdir(path.join(root, "run"), { mode: 0o700 });
    // a daemon and snapshots of its own; the daemon inherits the environment
    process.env = environment({
      SNAPD_RUNTIME_DIR: path.join(root, "run"),
      SNAPD_DATA_DIR: path.join(root, "data"),
      XDG_CONFIG_HOME: path.join(root, "config"),
    });

    daemon = new Daemon({
      clientInfo: { name: "test" },
      log,
      isTrusted: () => true,
      folders: () => [uri()],
      settings: () => ({
        enable: true,
        path: "",
        pathFromWorkspace: false,
        notifications: "all",
        blame: { line: false, hover: false },
        daemon: daemonSettings,
        unset: { maxFileSize: 67108864 },
      }),
      find: () => {
        const around = { home: root, setting: "", settingFromWorkspace: false, folders: [folder], trusted: true };
        return findSnapd({ ...around, searchPath: "", bundled: SNAPD, version: "0.1.0" }, PROBES, log);
      },
      connect: (options) => SnapdClient.connect(options),
      run: runProgram,
    });
    await daemon.update();
  });

  after(async () => {
    await client().close();
    await daemon.run(["stop"]);
    daemon.dispose();
    await rm(root, { recursive: true });
  });

  const uri = (): string => pathToFileURL(folder).href;
  const client = (): SnapdClient => {
    assert.ok(daemon.client !== undefined, log.lines.join("\n"));
    return daemon.client;
  };

  async function step(change: () => Promise<void>): Promise<string> {
    const { sessionId } = await client().request("session/start", {});
    const { stepId } = await client().request("step/begin", { sessionId });
    await change();
    await client().request("step/end", { stepId });
    return sessionId;
  }

  it("finds the snapd inside the extension and connects to it", () => {
    assert.equal(daemon.state, "ready");
    assert.ok(log.lines.some((line) => line.includes("inside this extension")));
  });

  it("lists the agents", async () => {
    const agents = agentsOf(await daemon.run(STATUS_ARGUMENTS));
    assert.ok(agents.some(({ name, title }) => name === "claude" && title === "Claude Code"));
  });

  it("says why an agent cannot be connected", async () => {
    const unknown = { name: "nobody", title: "Nobody", found: false, installed: false, hint: undefined };
    const finished = await daemon.run(installArguments([unknown]));
    assert.throws(() => failuresOf(finished), /nobody/);
  });

  it("knows the text that is unsaved, and no longer once it is saved", async () => {
    const window = new FakeWindow();
    const sync = new DocumentSync(window.editors, window);
    window.follow(client());
    const file = path.join(folder, "a.py");
    await writeFile(file, "before\n");
    const sessionId = await step(() => writeFile(file, "after\n"));

    const document = window.open(new FakeDocument("a.py", "after\n", "file", folder));
    window.type(document, "after\n");
    window.type(document, "after\ntyped");
    await sync.flush();
    const held = await client().request("session/undo", { sessionId });
    assert.deepEqual(held.files, [{ file: "a.py", outcome: "conflict", reason: "unsavedInEditor" }]);
    assert.equal(await readFile(file, "utf8"), "after\n");

    await writeFile(file, document.text);
    window.save(document);
    const next = await step(() => writeFile(file, "later\n"));
    const undone = await client().request("session/undo", { sessionId: next });
    assert.deepEqual(undone.files, [{ file: "a.py", outcome: "restored" }]);
    assert.equal(await readFile(file, "utf8"), "after\ntyped");
    sync.dispose();
  });

  it("applies what is set, and the default once it is not set any more", async () => {
    const skipped = async (): Promise<readonly string[]> =>
      (await client().request("snapshot/track", {})).skipped.map(({ file }) => file);
    await writeFile(path.join(folder, "large.bin"), "x".repeat(100));
    assert.deepEqual(await skipped(), []);
    daemonSettings = { maxFileSize: 50 };
    await daemon.update();
    assert.deepEqual(await skipped(), ["large.bin"]);
    daemonSettings = {};
    await daemon.update();
    assert.deepEqual(await skipped(), []);
  });

  it("says what is wrong with a setting, and does not connect", async () => {
    daemonSettings = { exclude: "*.bin" };
    await daemon.reconnect();
    assert.equal(daemon.state, "failed");
    assert.match(daemon.problem?.message ?? "", /exclude: expected a list of strings/);
    daemonSettings = {};
    await daemon.reconnect();
    assert.equal(daemon.state, "ready");
  });

  it("restarts the daemon and keeps what was there", async () => {
    const sessions = await client().request("session/list", {});
    const old = client();
    await daemon.restart();
    assert.equal(old.state, "closed");
    assert.deepEqual(await client().request("session/list", {}), sessions);
  });

  it("examines the folder", async () => {
    const report = reportOf(folder, await daemon.run(doctorArguments(folder)));
    assert.deepEqual(report.failed, []);
    assert.ok(report.lines.some((line) => line.startsWith("ok  version   snapd ")));
  });
});
