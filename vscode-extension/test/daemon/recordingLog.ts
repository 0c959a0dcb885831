import type { Logger } from "@snapd/client";

/** A log that keeps what it is told. */
export class RecordingLog implements Logger {
  readonly lines: string[] = [];
  readonly warnings: string[] = [];
  readonly errors: string[] = [];

  debug(message: string): void {
    this.lines.push(message);
  }

  info(message: string): void {
    this.lines.push(message);
  }

  warn(message: string): void {
    this.lines.push(message);
    this.warnings.push(message);
  }

  error(message: string): void {
    this.lines.push(message);
    this.errors.push(message);
  }
}
