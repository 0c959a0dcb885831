/** `snapd web`, in a process of its own. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import readline from "node:readline";

export class Server {
  #process;
  /** What it wrote on stderr. */
  log = "";

  /**
   * @param {import("node:child_process").ChildProcess} process
   * @param {string} url The address with the token.
   * @param {string} token
   */
  constructor(process, url, token) {
    this.#process = process;
    this.url = url;
    this.token = token;
    this.origin = new URL(url).origin;
  }

  /**
   * Starts it, and waits until it is ready.
   *
   * @param {import("../../../vscode-extension/e2e/world.mjs").World} world
   * @param {{ port?: string, readOnly?: boolean }} options
   */
  static async start(world, { port = "0", readOnly = false }) {
    const args = ["web", "--json", "--port", port, ...(readOnly ? ["--read-only"] : [])];
    const child = spawn(world.snapd, args, {
      cwd: world.project,
      env: world.environment(),
      stdio: ["ignore", "pipe", "pipe"],
    });
    let log = "";
    child.stderr.setEncoding("utf8").on("data", (text) => (log += text));
    const [line] = await Promise.race([
      once(readline.createInterface(child.stdout), "line"),
      once(child, "exit").then(([code]) => {
        throw new Error(`snapd web ended with ${code}: ${log}`);
      }),
    ]);
    const { url, token } = JSON.parse(line);
    const server = new Server(child, url, token);
    server.log = log;
    child.stderr.on("data", (text) => (server.log += text));
    world.atEnd(() => server.stop());
    return server;
  }

  get port() {
    return new URL(this.url).port;
  }

  /**
   * Asks the API as a program does.
   *
   * @param {string} path
   * @returns {Promise<any>}
   */
  async get(path) {
    const answer = await fetch(`${this.origin}${path}`, { headers: { Authorization: `Bearer ${this.token}` } });
    return answer.json();
  }

  async stop() {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) {
      return;
    }
    const gone = once(this.#process, "exit");
    this.#process.kill("SIGTERM");
    await gone;
  }
}
