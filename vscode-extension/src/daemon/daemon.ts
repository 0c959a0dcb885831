// The connection of this window to snapd: finds the program, connects, and sends folders and settings.

import { isDeepStrictEqual } from "node:util";
import type { ClientOptions, Disposable, Logger, SnapdClient } from "@snapd/client";
import { Signal } from "../model/signal";
import type { Settings } from "../settings";
import type { SnapdProgram } from "./finding";
import type { Finished, Run } from "./processes";

/** The state of snapd in this window. */
export type DaemonState = "starting" | "ready" | "reconnecting" | "stopped" | "failed" | "untrusted" | "disabled";

/** What the daemon needs of the window, and of this computer. */
export interface DaemonHost {
  readonly clientInfo: ClientOptions["clientInfo"];
  readonly log: Logger;
  isTrusted(): boolean;
  /** The `file:` URIs of the folders. */
  folders(): readonly string[];
  settings(): Settings;
  /** @throws Error - There is none. */
  find(): Promise<SnapdProgram>;
  connect(options: ClientOptions): Promise<SnapdClient>;
  readonly run: Run;
}

const RUN_TIMEOUT = 60_000;

/** snapd, as this window has it: one client for all folders. */
export class Daemon implements Disposable {
  readonly #host: DaemonHost;
  readonly #changed = new Signal();
  #state: DaemonState = "stopped";
  #problem: Error | undefined;
  #client: SnapdClient | undefined;
  #watching: Disposable | undefined;
  #found: SnapdProgram | undefined;
  #path = "";
  #sent: Settings["daemon"] = {};
  #disposed = false;
  /** Runs one task at a time. */
  #last: Promise<void> = Promise.resolve();

  constructor(host: DaemonHost) {
    this.#host = host;
  }

  /** Calls the listener when the state, or the client, is another. */
  readonly onDidChange = this.#changed.listen;

  get state(): DaemonState {
    return this.#state;
  }

  /** The connection; undefined unless the state is `ready` or `reconnecting`. */
  get client(): SnapdClient | undefined {
    return this.#client;
  }

  /** The snapd of this window; undefined unless the state is `ready` or `reconnecting`. */
  get found(): SnapdProgram | undefined {
    return this.#client === undefined ? undefined : this.#found;
  }

  /** Why the state is `failed`. */
  get problem(): Error | undefined {
    return this.#problem;
  }

  /** Makes the connection what trust, settings and folders ask for. A failure becomes the state, and is not tried again. */
  update(): Promise<void> {
    return this.#enqueue(() => this.#update());
  }

  /** Looks for snapd and connects anew, also where it is connected. */
  reconnect(): Promise<void> {
    return this.#enqueue(async () => {
      await this.#disconnect();
      await this.#update();
    });
  }

  /**
   * Ends the daemon, which all programs of this user share, and connects to a new one.
   *
   * @throws Error - The old one did not end. The window is connected all the same.
   */
  restart(): Promise<void> {
    return this.#enqueue(async () => {
      const old = this.#found;
      await this.#disconnect();
      this.#become("starting");
      try {
        if (old !== undefined && this.#unwanted() === undefined) await this.#stopDaemon(old);
      } finally {
        await this.#update();
      }
    });
  }

  /**
   * Runs the snapd of this window with these arguments.
   *
   * @throws Error - There is none, or it could not be started or did not end within a minute.
   */
  async run(args: readonly string[]): Promise<Finished> {
    await this.#last;
    if (!this.#host.isTrusted()) throw new Error("the workspace is not trusted");
    const found = this.#found ?? (await this.#host.find());
    return this.#host.run(found.file, args, { timeout: RUN_TIMEOUT });
  }

  dispose(): void {
    this.#disposed = true;
    this.#watching?.dispose();
    this.#client?.dispose();
    this.#client = undefined;
  }

  #enqueue(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(() => (this.#disposed ? undefined : work()));
    this.#last = done.catch(() => undefined);
    return done;
  }

  /** The state that explains why there is no connection; undefined if there is one. */
  #unwanted(): DaemonState | undefined {
    if (!this.#host.isTrusted()) return "untrusted";
    if (!this.#host.settings().enable) return "disabled";
    return this.#host.folders().length === 0 ? "stopped" : undefined;
  }

  async #update(): Promise<void> {
    const unwanted = this.#unwanted();
    if (unwanted !== undefined) {
      await this.#disconnect();
      this.#become(unwanted);
      return;
    }
    const settings = this.#host.settings();
    if (this.#client === undefined || this.#path !== settings.path) {
      await this.#disconnect();
      await this.#connect(settings);
    } else {
      await this.#synchronize(this.#client, settings);
    }
  }

  async #connect(settings: Settings): Promise<void> {
    this.#become("starting");
    try {
      this.#found = undefined;
      this.#found = await this.#host.find();
      this.#path = settings.path;
      this.#sent = settings.daemon;
      const client = await this.#host.connect({
        transport: { command: this.#found.file, args: ["connect"] },
        clientInfo: this.#host.clientInfo,
        folders: this.#host.folders(),
        findRoot: true,
        settings: settings.daemon,
        logger: this.#host.log,
      });
      this.#take(client);
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #fail(problem: Error): void {
    this.#host.log.error(`no connection to snapd: ${problem.message}`);
    this.#problem = problem;
    this.#become("failed");
  }

  #take(client: SnapdClient): void {
    if (this.#disposed) {
      client.dispose();
      return;
    }
    this.#client = client;
    this.#watching = client.onDidChangeState(() => {
      this.#follow(client);
    });
    this.#host.log.info(
      `connected to ${client.serverInfo?.name ?? "snapd"} ${client.serverInfo?.version ?? ""}`.trim(),
    );
    this.#follow(client);
  }

  #follow(client: SnapdClient): void {
    if (client.state === "closed") {
      this.#client = undefined;
      this.#watching?.dispose();
      this.#fail(new Error("the connection was closed"));
    } else {
      this.#become(client.state === "ready" ? "ready" : "reconnecting");
    }
  }

  async #synchronize(client: SnapdClient, settings: Settings): Promise<void> {
    const folders = this.#host.folders();
    const added = folders.filter((folder) => !client.folders.includes(folder));
    const removed = client.folders.filter((folder) => !folders.includes(folder));
    if (added.length > 0 || removed.length > 0) await client.changeFolders(added, removed);
    // the daemon keeps a setting until it gets another value
    const gone = Object.entries(settings.unset).filter(([name]) => name in this.#sent);
    const values = { ...Object.fromEntries(gone), ...settings.daemon };
    if (!isDeepStrictEqual(this.#sent, values)) {
      this.#sent = values;
      await client.changeSettings(values);
    }
  }

  async #disconnect(): Promise<void> {
    const client = this.#client;
    this.#watching?.dispose();
    this.#watching = undefined;
    this.#client = undefined;
    if (client === undefined) return;
    this.#become("stopped");
    try {
      await client.close();
    } catch (error) {
      // it is let go of either way
      this.#host.log.warn(`closing the connection: ${error instanceof Error ? error.message : String(error)}`);
      client.dispose();
    }
  }

  async #stopDaemon(found: SnapdProgram): Promise<void> {
    const { code, stderr } = await this.#host.run(found.file, ["stop"], { timeout: RUN_TIMEOUT });
    if (code !== 0) throw new Error(`the daemon could not be stopped: ${stderr.trim()}`);
  }

  #become(state: DaemonState): void {
    if (state !== "failed") this.#problem = undefined;
    this.#state = state;
    this.#changed.emit();
  }
}
