// The commands about the daemon itself.

import * as vscode from "vscode";
import type { Daemon } from "./daemon";
import { doctorArguments, reportOf, summaryOf, type Report } from "./doctor";
import { install, type Installing } from "./installing";
import type { Finished } from "./processes";
import { diskFolders } from "./window";

/** Registers the commands about the daemon: its log, restarting, examining and installing it. */
export function registerDaemonCommands(installing: Installing): void {
  const { context, daemon, log } = installing;
  context.subscriptions.push(
    vscode.commands.registerCommand("snapd.showLog", () => {
      log.show();
    }),
    vscode.commands.registerCommand("snapd.restart", () => restart(installing)),
    vscode.commands.registerCommand("snapd.doctor", () => doctor({ daemon, log })),
    vscode.commands.registerCommand("snapd.install", () => install(installing)),
  );
}

async function restart({ daemon, log }: Pick<Installing, "daemon" | "log">): Promise<void> {
  try {
    await daemon.restart();
  } catch (error) {
    await sayFailed("Snapd was not restarted", error, log);
  }
}

async function doctor({ daemon, log }: Pick<Installing, "daemon" | "log">): Promise<void> {
  const reports: Report[] = [];
  try {
    for (const { uri } of diskFolders()) {
      const report = reportOf(uri.fsPath, await examine(daemon, uri.fsPath));
      log.info(`doctor in ${report.folder}`);
      for (const line of report.lines) log.info(line);
      reports.push(report);
    }
  } catch (error) {
    await sayFailed("Snapd doctor could not run", error, log);
    return;
  }
  log.show(true);
  const summary = reports.length === 0 ? "Snapd doctor: no folder is open." : summaryOf(reports);
  if (reports.every(({ failed }) => failed.length === 0)) void vscode.window.showInformationMessage(summary);
  else void vscode.window.showWarningMessage(summary);
}

async function examine(daemon: Daemon, folder: string): Promise<Finished> {
  const title = `Snapd doctor looks at ${folder}`;
  return vscode.window.withProgress({ location: vscode.ProgressLocation.Window, title }, () =>
    daemon.run(doctorArguments(folder)),
  );
}

async function sayFailed(what: string, error: unknown, log: vscode.LogOutputChannel): Promise<void> {
  const message = `${what}: ${error instanceof Error ? error.message : String(error)}`;
  log.error(message);
  const showLog = "Show Log";
  if ((await vscode.window.showErrorMessage(message, showLog)) === showLog) log.show();
}
