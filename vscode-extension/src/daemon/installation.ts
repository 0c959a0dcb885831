// The environment with snapd that this extension makes for itself, and where it is.
//
// Each one is made in a folder of its own and named in the file `environments` when it is whole: one that was left half
// made, by a window that was closed meanwhile, is never used. The one before it stays, as a daemon and other windows may
// still run from it.

import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { scriptName, scriptsFolder } from "./finding";
import type { Run } from "./processes";

/** How to install. */
export interface InstallOptions {
  /** Where the extension keeps what it installs. */
  readonly storage: string;
  /** The folder with the wheel that the extension brings. */
  readonly bundled: string;
  /** Interpreters to try, the best first. */
  readonly pythons: readonly string[];
  readonly run: Run;
  readonly signal: AbortSignal;
  /** Is told what is being done. */
  readonly onStage: (stage: string) => void;
  /** Is told each line that the programs print. */
  readonly onLine: (line: string) => void;
}

const NAMES = "environments";
const PYTHON_CHECK =
  "import sys; sys.exit(None if sys.version_info >= (3, 11) else 'Python ' + sys.version.split()[0])";
const PYTHON_TIMEOUT = 20_000;

/** The executable that was installed here; undefined where none was. */
export async function installedSnapd(storage: string): Promise<string | undefined> {
  const [newest] = await environmentsIn(storage);
  return newest === undefined ? undefined : programIn(newest, "snapd");
}

/**
 * Makes an environment with the snapd that the extension brings, to be used from now on.
 *
 * Returns the executable.
 *
 * @throws Error - There is no wheel, no Python 3.11 or later, or it failed or was cancelled. Nothing is left of it, and
 * an earlier one stays.
 */
export async function installSnapd(options: InstallOptions): Promise<string> {
  const wheel = await bundledWheel(options.bundled);
  await mkdir(options.storage, { recursive: true });
  const environment = await mkdtemp(path.join(options.storage, "snapd-"));
  try {
    await makeEnvironment(environment, options);
    options.onStage("Installing snapd and its dependencies...");
    const pip = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--progress-bar", "off", wheel];
    await succeed(programIn(environment, "python"), pip, options);
    const snapd = programIn(environment, "snapd");
    await succeed(snapd, ["--version"], options);
    await nameAsNewest(environment, options);
    return snapd;
  } catch (error) {
    await rm(environment, { recursive: true, force: true });
    throw error;
  }
}

async function bundledWheel(bundled: string): Promise<string> {
  const files = await readdir(bundled).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  });
  const wheel = files.find((file) => file.endsWith(".whl"));
  if (wheel === undefined) {
    throw new Error(
      "this build of the extension brings no snapd; install it with pip or pipx, and set snapd.path to it",
    );
  }
  return path.join(bundled, wheel);
}

async function makeEnvironment(environment: string, options: InstallOptions): Promise<void> {
  const failures: string[] = [];
  for (const python of options.pythons) {
    options.onStage(`Trying ${python}...`);
    try {
      await succeed(python, ["-c", PYTHON_CHECK], options, PYTHON_TIMEOUT);
      options.onStage(`Creating an environment with ${python}...`);
      await succeed(python, ["-m", "venv", "--clear", environment], options);
      return;
    } catch (error) {
      options.signal.throwIfAborted();
      const reason = error instanceof Error ? error.message : String(error);
      options.onLine(reason);
      failures.push(reason);
    }
  }
  const needed = "no Python 3.11 or later was found that can make an environment";
  throw new Error([`${needed} (on Debian and Ubuntu, that takes the package python3-venv)`, ...failures].join("\n"));
}

async function succeed(
  file: string,
  args: readonly string[],
  options: InstallOptions,
  timeout?: number,
): Promise<void> {
  options.signal.throwIfAborted();
  options.onLine(`> ${[file, ...args].join(" ")}`);
  const { signal, onLine } = options;
  const { code, stdout, stderr } = await options.run(file, args, {
    signal,
    onLine,
    ...(timeout === undefined ? {} : { timeout }),
  });
  if (code === 0) return;
  const said = (stderr.trim() || stdout.trim()).split("\n").at(-1) ?? "";
  throw new Error(`${file} ended with code ${String(code)}: ${said}`);
}

/** The environments, the newest first. */
async function environmentsIn(storage: string): Promise<readonly string[]> {
  try {
    const names = (await readFile(path.join(storage, NAMES), "utf8")).split("\n");
    return names.map((name) => path.join(storage, path.basename(name)));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

async function nameAsNewest(environment: string, { storage, onLine }: InstallOptions): Promise<void> {
  const [previous, ...older] = await environmentsIn(storage);
  const named = previous === undefined ? [environment] : [environment, previous];
  const written = path.join(environment, NAMES);
  await writeFile(written, named.map((each) => path.basename(each)).join("\n"));
  await rename(written, path.join(storage, NAMES));
  for (const each of older) {
    await rm(each, { recursive: true, force: true }).catch((error: unknown) => {
      onLine(`${each} stays: ${error instanceof Error ? error.message : String(error)}`);
    });
  }
}

function programIn(environment: string, name: string): string {
  return path.join(environment, scriptsFolder(process.platform), scriptName(process.platform, name));
}
