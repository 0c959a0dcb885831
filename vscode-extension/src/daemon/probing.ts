// Looks at this computer: how `findSnapd` finds out.

import { stat } from "node:fs/promises";
import { versionIn, type Probes } from "./finding";
import { runProgram } from "./processes";

/** The first run of the executable inside the extension unpacks it, onto a disk that may be slow. */
const VERSION_TIMEOUT = 120_000;

/** Looks at this computer. */
export const PROBES: Probes = { isFile, version: versionOfProgram };

async function versionOfProgram(file: string): Promise<string> {
  const { code, stdout, stderr } = await runProgram(file, ["--version"], { timeout: VERSION_TIMEOUT });
  if (code !== 0) throw new Error(`--version ended with code ${String(code)}: ${stderr.trim()}`);
  const version = versionIn(stdout);
  if (version === undefined)
    throw new Error(`it is not snapd: --version printed ${JSON.stringify(stdout.slice(0, 200))}`);
  return version;
}

async function isFile(file: string): Promise<boolean> {
  try {
    return (await stat(file)).isFile();
  } catch {
    // not there, or not to be looked at: either way it cannot be run
    return false;
  }
}
