import type { Logger } from "../../src/index.js";

/** Keeps what is logged. */
export class Log implements Logger {
  readonly lines: string[] = [];

  debug(message: string): void {
    this.lines.push(`debug ${message}`);
  }

  info(message: string): void {
    this.lines.push(`info ${message}`);
  }

  warn(message: string): void {
    this.lines.push(`warn ${message}`);
  }

  error(message: string): void {
    this.lines.push(`error ${message}`);
  }

  /** Whether something was logged that has this in it. */
  has(text: string): boolean {
    return this.lines.some((line) => line.includes(text));
  }
}
