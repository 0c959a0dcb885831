// Finds the snapd to run, and logs where it looked and what was there.

import path from "node:path";
import type { Logger } from "@snapd/client";

/** A snapd that runs. */
export interface Found {
  /** Its executable. */
  readonly file: string;
  readonly version: string;
}

/** What is known before looking. */
export interface Surroundings {
  readonly platform: NodeJS.Platform;
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
}

/** How to look. */
export interface Probes {
  isFile(file: string): Promise<boolean>;
  /**
   * The version that an executable says it has.
   *
   * @throws Error - It is no snapd that runs; the message says why.
   */
  version(file: string): Promise<string>;
  /** The Python interpreters that the user has selected for the folders. */
  selectedPythons(): Promise<readonly string[]>;
  /** The executable of the environment that this extension has made. */
  installed(): Promise<string | undefined>;
}

interface Candidate {
  /** In words, for the log. */
  readonly origin: string;
  readonly file: string;
}

/** The first snapd that runs: of the setting, the selected Python, the folders, PATH, or the one installed here. */
export async function findSnapd(around: Surroundings, probes: Probes, log: Logger): Promise<Found | undefined> {
  const tried = new Set<string>();
  const origins = [
    () => Promise.resolve(ofSetting(around, log)),
    () => ofSelectedPythons(around, probes, log),
    () => Promise.resolve(ofFolders(around, log)),
    () => Promise.resolve(ofSearchPath(around)),
    () => ofInstalled(probes, log),
  ];
  for (const candidatesOf of origins) {
    for (const candidate of await candidatesOf()) {
      if (tried.has(candidate.file)) continue;
      tried.add(candidate.file);
      const version = await versionOf(candidate, probes, log);
      if (version === undefined) continue;
      log.info(`snapd ${version} is used: ${candidate.file} (${candidate.origin})`);
      return { file: candidate.file, version };
    }
  }
  log.warn("no snapd was found");
  return undefined;
}

/** The version in what `snapd --version` prints; undefined for another program of this name. */
export function versionIn(output: string): string | undefined {
  return /^snapd (\d+\.\d+\S*)\s*$/.exec(output)?.[1];
}

/** The name that programs of a Python environment have; `snapd` itself is a script for `sh`, which Windows lacks. */
export function scriptName(platform: NodeJS.Platform, name: string): string {
  if (platform !== "win32") return name;
  return name === "snapd" ? "snapd-python.exe" : `${name}.exe`;
}

/** The folder in a Python environment where its programs are. */
export function scriptsFolder(platform: NodeJS.Platform): string {
  return platform === "win32" ? "Scripts" : "bin";
}

async function versionOf({ origin, file }: Candidate, probes: Probes, log: Logger): Promise<string | undefined> {
  if (!(await probes.isFile(file))) {
    log.info(`${origin}: ${file} is not there`);
    return undefined;
  }
  try {
    return await probes.version(file);
  } catch (error) {
    log.warn(`${origin}: ${file} cannot be used: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
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
  if (!paths(around).isAbsolute(file)) {
    log.warn(`${origin}: ${setting} is not an absolute path`);
    return [];
  }
  return [{ origin, file }];
}

async function ofSelectedPythons(around: Surroundings, probes: Probes, log: Logger): Promise<Candidate[]> {
  const origin = "selected Python environment";
  if (!around.trusted) {
    log.info(`${origin}: not looked at, the workspace is not trusted`);
    return [];
  }
  const pythons = await probes.selectedPythons();
  if (pythons.length === 0) log.info(`${origin}: none is selected`);
  const name = scriptName(around.platform, "snapd");
  const names = paths(around);
  // on Windows the interpreter of an installation lies above its Scripts, that of an environment in it
  const beside = around.platform === "win32" ? [".", scriptsFolder(around.platform)] : ["."];
  return pythons.flatMap((python) =>
    beside.map((folder) => ({ origin, file: names.join(names.dirname(python), folder, name) })),
  );
}

function ofFolders(around: Surroundings, log: Logger): Candidate[] {
  const origin = ".venv of a folder";
  if (!around.trusted) {
    log.info(`${origin}: not looked at, the workspace is not trusted`);
    return [];
  }
  const inEnvironment = [".venv", scriptsFolder(around.platform), scriptName(around.platform, "snapd")];
  return around.folders.map((folder) => ({ origin, file: paths(around).join(folder, ...inEnvironment) }));
}

function ofSearchPath(around: Surroundings): Candidate[] {
  const names = paths(around);
  // a relative entry would be looked for in whatever folder this process was started in
  const entries = around.searchPath.split(names.delimiter).filter((entry) => names.isAbsolute(entry));
  return entries.map((entry) => ({ origin: "PATH", file: names.join(entry, scriptName(around.platform, "snapd")) }));
}

async function ofInstalled(probes: Probes, log: Logger): Promise<Candidate[]> {
  const origin = "installed by this extension";
  const file = await probes.installed();
  if (file === undefined) log.info(`${origin}: not installed`);
  return file === undefined ? [] : [{ origin, file }];
}

function paths(around: Surroundings): path.PlatformPath {
  return around.platform === "win32" ? path.win32 : path.posix;
}
