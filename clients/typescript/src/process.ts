import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import type { Channel } from "./channel.js";
import { ConnectError } from "./errors.js";
import type { Launch, Logger } from "./options.js";
import { Tail } from "./tail.js";
import { within } from "./time.js";

const GRACE_MS = 2000;
const STDERR_MS = 500;

/**
 * Starts a command that speaks on its stdin and stdout.
 *
 * @throws ConnectError - It cannot be started.
 */
export async function launch({ command, args = [], env, cwd }: Launch, logger: Logger): Promise<Channel> {
  const child = spawn(command, args, { env, cwd, stdio: "pipe", windowsHide: true });
  try {
    await once(child, "spawn");
  } catch (error) {
    throw new ConnectError(`cannot start ${command}: ${(error as Error).message}`, { cause: error });
  }
  return new LaunchedProcess(command, child, logger);
}

class LaunchedProcess implements Channel {
  readonly readable;
  readonly writable;
  readonly #command: string;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #stderr: Tail;
  readonly #exited: Promise<unknown>;
  readonly #closed: Promise<unknown>;

  constructor(command: string, child: ChildProcessWithoutNullStreams, logger: Logger) {
    this.#command = command;
    this.#child = child;
    this.readable = child.stdout;
    this.writable = child.stdin;
    this.#exited = new Promise((resolve) => child.once("exit", resolve));
    this.#closed = new Promise((resolve) => child.once("close", resolve));
    this.#stderr = new Tail((line) => {
      logger.warn(`${command}: ${line}`);
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr.take(text);
    });
    child.on("error", (error) => {
      logger.warn(`${command}: ${error.message}`);
    });
  }

  async close(): Promise<string | undefined> {
    // a command whose output nobody reads could not end
    this.readable.resume();
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      await this.#end();
    }
    // another process may have inherited the other end of stderr
    await within(STDERR_MS, this.#closed);
    for (const stream of this.#child.stdio) {
      stream?.destroy();
    }
    this.#stderr.end();
    return this.#describe();
  }

  async #end(): Promise<void> {
    this.writable.end();
    if (await within(GRACE_MS, this.#exited)) {
      return;
    }
    this.#child.kill("SIGTERM");
    if (await within(GRACE_MS, this.#exited)) {
      return;
    }
    this.#child.kill("SIGKILL");
    await this.#exited;
  }

  #describe(): string {
    const { exitCode, signalCode } = this.#child;
    const how = signalCode === null ? `exited with code ${String(exitCode)}` : `was ended by ${signalCode}`;
    const output = this.#stderr.text;
    return `${this.#command} ${how}${output === "" ? "" : `:\n${output}`}`;
  }
}
