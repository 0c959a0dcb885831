import { execFile, execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { TestContext } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { type ClientOptions, SnapdClient } from "../../src/index.js";
import { Log } from "./log.js";
import { until } from "./until.js";

const run = promisify(execFile);

/** The daemon's command. */
export const SNAPD = process.env["SNAPD_COMMAND"] ?? resolve("../../.venv/bin/snapd");

/** A daemon, its data and git folders of one test's own. All of it is gone after the test. */
export class Place {
  readonly root: string;
  readonly log = new Log();
  readonly #clients: SnapdClient[] = [];

  static async make(t: TestContext): Promise<Place> {
    const place = new Place(await realpath(await mkdtemp(join(tmpdir(), "snapd-client-"))));
    t.after(() => place.#remove());
    await mkdir(join(place.root, "run"), { mode: 0o700 });
    await mkdir(join(place.root, "data"));
    return place;
  }

  private constructor(root: string) {
    this.root = root;
  }

  get env(): NodeJS.ProcessEnv {
    // snapd takes every SNAPD_ variable for a setting
    const outer = Object.entries(process.env).filter(([name]) => !name.startsWith("SNAPD_"));
    return {
      ...Object.fromEntries(outer),
      SNAPD_DATA_DIR: join(this.root, "data"),
      SNAPD_RUNTIME_DIR: join(this.root, "run"),
      XDG_CONFIG_HOME: join(this.root, "config"),
      GIT_CONFIG_GLOBAL: join(this.root, "gitconfig"),
    };
  }

  get socketPath(): string {
    return join(this.root, "run", "daemon.sock");
  }

  /** A git folder. */
  async folder(name: string, files: Record<string, string> = {}): Promise<Folder> {
    const folder = new Folder(join(this.root, name));
    await mkdir(folder.path);
    execFileSync("git", ["init", "-q", folder.path], { env: this.env });
    for (const [file, text] of Object.entries(files)) {
      await folder.write(file, text);
    }
    return folder;
  }

  /** A client that is closed after the test. */
  async client(folders: readonly Folder[], options: Partial<ClientOptions> = {}): Promise<SnapdClient> {
    const client = await SnapdClient.connect({
      transport: { command: SNAPD, args: ["connect"], env: this.env },
      clientInfo: { name: "test" },
      folders: folders.map(({ uri }) => uri),
      logger: this.log,
      reconnect: { firstDelay: 5, longestDelay: 50 },
      ...options,
    });
    this.#clients.push(client);
    return client;
  }

  async daemonPid(): Promise<number> {
    return Number(await readFile(`${this.socketPath}.pid`, "ascii"));
  }

  /** The processes of this test that this one has started and that have not ended. */
  async children(): Promise<number[]> {
    const children: number[] = [];
    for (const pid of await processesOf(this.root)) {
      const status = await readFile(`/proc/${String(pid)}/status`, "utf8").catch(() => "");
      if (new RegExp(`^PPid:\\s*${String(process.pid)}$`, "m").test(status)) {
        children.push(pid);
      }
    }
    return children;
  }

  async #remove(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
    await until(async () => {
      if (existsSync(this.socketPath)) {
        await run(SNAPD, ["stop"], { env: this.env });
      }
      return (await processesOf(this.root)).length === 0;
    }, "all processes of the test have ended");
    await rm(this.root, { recursive: true });
  }
}

/** A git folder. */
export class Folder {
  readonly uri: string;

  constructor(readonly path: string) {
    this.uri = pathToFileURL(path).href;
  }

  async write(file: string, text: string | Uint8Array): Promise<void> {
    await writeFile(join(this.path, file), text);
  }

  read(file: string): Promise<string> {
    return readFile(join(this.path, file), "utf8");
  }

  fileUri(file: string): string {
    return pathToFileURL(join(this.path, file)).href;
  }
}

/** The processes that have a folder in their environment. */
export async function processesOf(root: string): Promise<number[]> {
  const found: number[] = [];
  for (const name of await readdir("/proc")) {
    const environment = /^\d+$/.test(name) ? await readFile(`/proc/${name}/environ`, "utf8").catch(() => "") : "";
    if (environment.includes(`SNAPD_RUNTIME_DIR=${root}/`)) {
      found.push(Number(name));
    }
  }
  return found;
}
