// Offers to install snapd, and installs it.

import * as vscode from "vscode";
import type { Daemon } from "./daemon";
import { installSnapd } from "./installation";
import { versionOfProgram } from "./probing";
import { runProgram } from "./processes";
import { selectedPythons } from "./pythonExtension";
import { diskFolders } from "./window";

const INSTALL = "Install";
const CHOOSE = "Choose...";
const NOT_NOW = "Not Now";
const SHOW_LOG = "Show Log";
const PYTHONS = ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python"];

/** What installing needs. */
export interface Installing {
  readonly context: vscode.ExtensionContext;
  readonly daemon: Daemon;
  readonly log: vscode.LogOutputChannel;
}

/** Asks whether to install snapd, where none was found, and does what is answered. */
export async function offerInstall(installing: Installing): Promise<void> {
  const question =
    "Snapd was not found on this computer. Install it for this extension alone, or choose one that is already installed?";
  const answer = await vscode.window.showInformationMessage(question, INSTALL, CHOOSE, NOT_NOW);
  if (answer === INSTALL) await install(installing);
  if (answer === CHOOSE) await choose(installing);
}

/** Installs the snapd that the extension brings, shows how far it is, and connects to it. */
export async function install(installing: Installing): Promise<void> {
  const { daemon, log } = installing;
  try {
    const file = await vscode.window.withProgress(
      { location: vscode.ProgressLocation.Notification, title: "Snapd", cancellable: true },
      (progress, token) => installWith(installing, progress, token),
    );
    if (file === undefined) return;
    log.info(`installed: ${file}`);
    // one that runs already is not the one that was installed
    await daemon.restart();
    void vscode.window.showInformationMessage(`Snapd ${await versionOfProgram(file)} is installed.`);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    log.error(`snapd was not installed: ${reason}`);
    const [first = reason] = reason.split("\n");
    if ((await vscode.window.showErrorMessage(`Snapd was not installed: ${first}`, SHOW_LOG)) === SHOW_LOG) log.show();
  }
}

/** Undefined where it was cancelled. */
async function installWith(
  { context, log }: Installing,
  progress: vscode.Progress<{ message?: string }>,
  token: vscode.CancellationToken,
): Promise<string | undefined> {
  const cancelling = new AbortController();
  const listening = token.onCancellationRequested(() => {
    cancelling.abort();
  });
  const folders = vscode.workspace.isTrusted ? diskFolders().map((folder) => folder.uri) : [];
  try {
    return await installSnapd({
      storage: context.globalStorageUri.fsPath,
      bundled: vscode.Uri.joinPath(context.extensionUri, "bundled").fsPath,
      pythons: [...(await selectedPythons(folders, log)), ...PYTHONS],
      run: runProgram,
      signal: cancelling.signal,
      onStage: (message) => {
        log.info(message);
        progress.report({ message });
      },
      onLine: (line) => {
        log.info(line);
      },
    });
  } catch (error) {
    if (!cancelling.signal.aborted) throw error;
    log.info("the installation was cancelled; nothing is left of it");
    return undefined;
  } finally {
    listening.dispose();
  }
}

async function choose({ log }: Installing): Promise<void> {
  const chosen = await vscode.window.showOpenDialog({ title: "Choose the snapd to run", openLabel: "Use This" });
  const file = chosen?.[0]?.fsPath;
  if (file === undefined) return;
  try {
    await versionOfProgram(file);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    log.warn(`${file} cannot be used: ${reason}`);
    void vscode.window.showErrorMessage(`${file} cannot be used: ${reason}`);
    return;
  }
  // the change of the setting connects to it
  await vscode.workspace.getConfiguration("snapd").update("path", file, vscode.ConfigurationTarget.Global);
}
