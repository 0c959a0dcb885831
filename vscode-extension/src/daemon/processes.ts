// Runs other programs to their end.

import { spawn } from "node:child_process";

/** How a program ended. */
export interface Finished {
  /** Its exit code; null where it was ended by a signal. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** What may go with a run. */
export interface RunOptions {
  /** Milliseconds after which it is ended. */
  readonly timeout?: number;
}

/** Runs a program; see `runProgram`. */
export type Run = (file: string, args: readonly string[], options?: RunOptions) => Promise<Finished>;

/**
 * Runs a program, without a shell and without input, and waits for its end.
 *
 * @throws Error - It could not be started, did not end in time, or was cancelled.
 */
export const runProgram: Run = (file, args, options = {}) =>
  new Promise((resolve, reject) => {
    // a group of its own: what it has started ends with it
    const isGroup = process.platform !== "win32";
    const child = spawn(file, args, { stdio: ["ignore", "pipe", "pipe"], detached: isGroup, windowsHide: true });
    let failure: Error | undefined;
    const timer =
      options.timeout === undefined
        ? undefined
        : setTimeout(() => {
            failure = new Error(`${file} did not end within ${String(options.timeout)} ms`);
            endGroup(child.pid, isGroup);
          }, options.timeout);
    const stdout = collect(child.stdout);
    const stderr = collect(child.stderr);
    child.once("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.once("close", (code) => {
      clearTimeout(timer);
      if (failure === undefined) resolve({ code, stdout: stdout(), stderr: stderr() });
      else reject(failure);
    });
  });

function endGroup(pid: number | undefined, isGroup: boolean): void {
  if (pid === undefined) return;
  try {
    process.kill(isGroup ? -pid : pid, "SIGKILL");
  } catch (error) {
    // it has just ended by itself
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function collect(stream: NodeJS.ReadableStream): () => string {
  let text = "";
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => {
    text += chunk;
  });
  return () => text;
}
