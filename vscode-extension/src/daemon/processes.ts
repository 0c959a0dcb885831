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
  /** Ends it when aborted. */
  readonly signal?: AbortSignal;
  /** Is told each line of its output as it comes. */
  readonly onLine?: (line: string) => void;
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
    options.signal?.throwIfAborted();
    // a group of its own: pip and venv start more programs, which end with it
    const isGroup = process.platform !== "win32";
    const child = spawn(file, args, { stdio: ["ignore", "pipe", "pipe"], detached: isGroup, windowsHide: true });
    let failure: Error | undefined;
    const end = (reason: Error): void => {
      failure ??= reason;
      endGroup(child.pid, isGroup);
    };
    const cancel = (): void => {
      end(new Error(`${file} was cancelled`));
    };
    const timer =
      options.timeout === undefined
        ? undefined
        : setTimeout(() => {
            end(new Error(`${file} did not end within ${String(options.timeout)} ms`));
          }, options.timeout);
    options.signal?.addEventListener("abort", cancel, { once: true });

    const stdout = collect(child.stdout, options.onLine);
    const stderr = collect(child.stderr, options.onLine);
    const done = (): void => {
      clearTimeout(timer);
      options.signal?.removeEventListener("abort", cancel);
    };
    child.once("error", (error) => {
      done();
      reject(error);
    });
    child.once("close", (code) => {
      done();
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

function collect(stream: NodeJS.ReadableStream, onLine: ((line: string) => void) | undefined): () => string {
  let text = "";
  let rest = "";
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => {
    text += chunk;
    if (onLine === undefined) return;
    const lines = (rest + chunk).split(/\r?\n/);
    rest = lines.pop() ?? "";
    lines.forEach(onLine);
  });
  stream.on("end", () => {
    if (rest !== "") onLine?.(rest);
  });
  return () => text;
}
