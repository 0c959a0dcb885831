import type { Logger } from "./options.js";

/** Where warnings and errors go that nobody else takes. */
export const STDERR: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: (message) => {
    console.warn(`@snapd/client: ${message}`);
  },
  error: (message) => {
    console.error(`@snapd/client: ${message}`);
  },
};

const LEVELS: Readonly<Record<number, keyof Logger>> = { 1: "error", 2: "warn", 3: "info", 4: "debug", 5: "debug" };

/** Logs what the daemon says by `window/logMessage` and `window/showMessage`; anything else is noted for debugging. */
export function logMessage(logger: Logger, method: string, params: unknown): void {
  if ((method === "window/logMessage" || method === "window/showMessage") && isMessage(params)) {
    logger[LEVELS[params.type] ?? "info"](`snapd: ${params.message}`);
  } else {
    logger.debug(`a notification that is not known: ${method}`);
  }
}

function isMessage(params: unknown): params is { type: number; message: string } {
  return (
    typeof params === "object" &&
    params !== null &&
    "type" in params &&
    typeof params.type === "number" &&
    "message" in params &&
    typeof params.message === "string"
  );
}
