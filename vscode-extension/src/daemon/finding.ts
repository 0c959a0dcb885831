// Finds the snapd to run, and logs where it looked and what was there.

import path from "node:path";
import type { Logger } from "@snapd/client";

/** A snapd that runs. */
export interface SnapdProgram {
  /** Its executable. */
  readonly file: string;
  readonly version: string;
}

/** The inputs of the search. */
export interface Surroundings {
  readonly home: string;
  /** The setting `snapd.path`; empty where it is not set. */
  readonly setting: string;
  /** Whether that comes from the folder rather than from the user. */
  readonly settingFromWorkspace: boolean;
  /** The file system paths of the folders. */
  readonly folders: readonly string[];
  /** Whether what the folders bring may be run. */
  readonly trusted: boolean;
  /** The variable `PATH`. */
  readonly searchPath: string;
  /** The executable inside the extension; a build without one has no such file. */
  readonly bundled: string;
  /** The version of the extension, and of the executable inside. */
  readonly version: string;
}

/** How to look. */
export interface Probes {
  isFile(file: string): Promise<boolean>;
  /**
   * The version that an executable says it has.
   *
   * @throws Error - It is not a snapd that runs here; the message says why.
   */
  version(file: string): Promise<string>;
}

interface Candidate {
  /** In words, for the log. */
  readonly origin: string;
  readonly file: string;
  /** The oldest version that will do. */
  readonly least?: string;
}

/**
 * The first snapd that runs: the one of the setting, one on `PATH` that is as new as the extension, or the one inside it.
 *
 * @throws Error - None of them runs; the message says what to do.
 */
export async function findSnapd(around: Surroundings, probes: Probes, log: Logger): Promise<SnapdProgram> {
  const tried = new Set<string>();
  for (const candidate of [...ofSetting(around, log), ...ofSearchPath(around), ofExtension(around)]) {
    if (tried.has(candidate.file)) continue;
    tried.add(candidate.file);
    const version = await versionOf(candidate, probes, log);
    if (version === undefined) continue;
    log.info(`snapd ${version} is used: ${candidate.file} (${candidate.origin})`);
    return { file: candidate.file, version };
  }
  log.warn("no snapd was found");
  throw new Error(
    "no snapd that runs here was found; the log lists where the extension looked. Set snapd.path to one.",
  );
}

/** The version in what `snapd --version` prints; undefined for another program of this name. */
export function versionIn(output: string): string | undefined {
  return /^snapd (\d+\.\d+\S*)\s*$/.exec(output)?.[1];
}

async function versionOf({ origin, file, least }: Candidate, probes: Probes, log: Logger): Promise<string | undefined> {
  if (!(await probes.isFile(file))) {
    log.info(`${origin}: ${file} is not there`);
    return undefined;
  }
  try {
    const version = await probes.version(file);
    if (least === undefined || isAtLeast(version, least)) return version;
    log.info(`${origin}: ${file} is snapd ${version}, which is older than this extension (${least})`);
  } catch (error) {
    log.warn(`${origin}: ${file} cannot be used: ${error instanceof Error ? error.message : String(error)}`);
  }
  return undefined;
}

/** Compares the numbers of two versions; what follows them, as in 1.2.0rc1, does not count. */
function isAtLeast(version: string, least: string): boolean {
  const numbers = (text: string): number[] => (/^[\d.]+/.exec(text)?.[0] ?? "").split(".").map(Number);
  const [one, other] = [numbers(version), numbers(least)];
  for (let index = 0; index < Math.max(one.length, other.length); index += 1) {
    const difference = (one[index] ?? 0) - (other[index] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}

function ofSetting(around: Surroundings, log: Logger): Candidate[] {
  const { setting, home, folders } = around;
  const origin = "setting snapd.path";
  if (setting === "") {
    log.info(`${origin}: not set`);
    return [];
  }
  if (around.settingFromWorkspace && !around.trusted) {
    log.warn(`${origin}: it comes from a folder that is not trusted`);
    return [];
  }
  const file = setting.replace(/^~(?=[/\\])/, () => home).replaceAll("${workspaceFolder}", () => folders[0] ?? "");
  if (!path.isAbsolute(file)) {
    log.warn(`${origin}: ${setting} is not an absolute path`);
    return [];
  }
  return [{ origin, file }];
}

function ofSearchPath({ searchPath, version }: Surroundings): Candidate[] {
  // a relative entry would be looked for in whatever folder this process was started in
  const entries = searchPath.split(path.delimiter).filter((entry) => path.isAbsolute(entry));
  return entries.map((entry) => ({ origin: "PATH", file: path.join(entry, "snapd"), least: version }));
}

function ofExtension({ bundled }: Surroundings): Candidate {
  return { origin: "inside this extension", file: bundled };
}
