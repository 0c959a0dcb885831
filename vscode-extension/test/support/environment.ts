// The environment of a daemon of the test's own.

import path from "node:path";

/** The snapd that is tested. */
export const SNAPD = process.env["SNAPD_COMMAND"] ?? path.resolve("..", ".venv", "bin", "snapd");

/** The environment without what sets snapd, and with these variables: it takes each one of its prefix for a setting. */
export function environment(more: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith("SNAPD_"));
  return { ...Object.fromEntries(kept), ...more };
}
