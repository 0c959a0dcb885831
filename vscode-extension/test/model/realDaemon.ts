// A daemon of the test's own, with folders of its own.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as later } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { SnapdClient } from "@snapd/client";
import { SNAPD, environment } from "../support/environment";

const SILENT = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** Runs `snapd serve` below a temporary folder. */
export class RealDaemon {
  readonly root: string;
  readonly #clients: SnapdClient[] = [];
  #process: ChildProcess | undefined;

  private constructor(root: string) {
    this.root = root;
  }

  static async start(): Promise<RealDaemon> {
    const daemon = new RealDaemon(await realpath(await mkdtemp(path.join(tmpdir(), "snapd-looking-"))));
    await daemon.serve();
    return daemon;
  }

  /** Starts the process; after `kill` again, on the same store and socket. */
  async serve(): Promise<void> {
    const below = (name: string) => path.join(this.root, name);
    await mkdir(below("home"), { recursive: true });
    await mkdir(below("run"), { recursive: true, mode: 0o700 });
    await rm(this.#socket, { force: true });
    const child = spawn(SNAPD, ["serve", "--socket", this.#socket], {
      env: environment({ SNAPD_DATA_DIR: below("data"), SNAPD_RUNTIME_DIR: below("run"), HOME: below("home") }),
      stdio: "ignore",
    });
    this.#process = child;
    const failed = new Promise<never>((_, reject) => {
      child.once("error", reject);
      child.once("exit", (code) => {
        reject(new Error(`${SNAPD} ended with ${code ?? "a signal"}`));
      });
    });
    // it is expected to end once it has served
    failed.catch(() => undefined);
    await Promise.race([this.#answers(), failed]);
  }

  async #answers(): Promise<void> {
    for (;;) {
      const socket = createConnection(this.#socket);
      try {
        await once(socket, "connect");
        return;
      } catch {
        // it does not listen yet
        await later(20);
      } finally {
        socket.destroy();
      }
    }
  }

  /** Ends the process at once. */
  async kill(): Promise<void> {
    const child = this.#process;
    if (child?.exitCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  /** Makes a folder; the answer is its path. */
  async folder(name: string): Promise<string> {
    const made = path.join(this.root, name);
    await mkdir(made, { recursive: true });
    return made;
  }

  async connect(...folders: readonly string[]): Promise<SnapdClient> {
    const client = await SnapdClient.connect({
      transport: { socketPath: this.#socket },
      clientInfo: { name: "looking-test" },
      folders: folders.map((folder) => pathToFileURL(folder).href),
      logger: SILENT,
      reconnect: { firstDelay: 20, longestDelay: 100 },
    });
    this.#clients.push(client);
    return client;
  }

  async dispose(): Promise<void> {
    for (const client of this.#clients) client.dispose();
    await this.kill();
    await rm(this.root, { recursive: true, force: true });
  }

  get #socket(): string {
    return path.join(this.root, "run", "test.sock");
  }
}
