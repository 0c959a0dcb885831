// The commands about snapd itself: its log, its daemon, and the agents that report to it.

import * as vscode from "vscode";
import { agentsOf, connectedMessage, failuresOf, installArguments, STATUS_ARGUMENTS, type Agent } from "./agents";
import type { Daemon } from "./daemon";
import { doctorArguments, reportOf, summaryOf, type Report } from "./doctor";
import { diskFolders } from "./window";

/** Registers the commands. */
export function registerDaemonCommands(
  context: vscode.ExtensionContext,
  daemon: Daemon,
  log: vscode.LogOutputChannel,
): void {
  const register = (command: string, failure: string, action: () => Promise<void>): vscode.Disposable =>
    vscode.commands.registerCommand(command, async () => {
      try {
        await action();
      } catch (error) {
        await sayFailed(failure, error, log);
      }
    });
  context.subscriptions.push(
    vscode.commands.registerCommand("snapd.showLog", () => {
      log.show();
    }),
    register("snapd.restart", "Snapd was not restarted", () => daemon.restart()),
    register("snapd.doctor", "Snapd doctor could not run", () => doctor(daemon, log)),
    register("snapd.connectAgents", "No agent was connected", () => connectAgents(daemon)),
  );
}

async function doctor(daemon: Daemon, log: vscode.LogOutputChannel): Promise<void> {
  const reports: Report[] = [];
  for (const { uri } of diskFolders()) {
    const title = `Running snapd doctor in ${uri.fsPath}`;
    const finished = await inStatusBar(title, () => daemon.run(doctorArguments(uri.fsPath)));
    const report = reportOf(uri.fsPath, finished);
    log.info(`doctor in ${report.folder}`);
    for (const line of report.lines) log.info(line);
    reports.push(report);
  }
  log.show(true);
  const summary = reports.length === 0 ? "Snapd doctor: no folder is open." : summaryOf(reports);
  if (reports.every(({ failed }) => failed.length === 0)) void vscode.window.showInformationMessage(summary);
  else void vscode.window.showWarningMessage(summary);
}

interface AgentPick extends vscode.QuickPickItem {
  readonly agent?: Agent;
}

async function connectAgents(daemon: Daemon): Promise<void> {
  const agents = await inStatusBar("Looking for agents", async () => agentsOf(await daemon.run(STATUS_ARGUMENTS)));
  const chosen = await vscode.window.showQuickPick(picks(agents), {
    canPickMany: true,
    title: "Connect agents",
    placeHolder: "Snapd adds its hooks to their settings",
  });
  const wanted = (chosen ?? []).flatMap(({ agent }) => agent ?? []);
  if (wanted.length === 0) return;
  const failures = await inStatusBar("Connecting agents", async () =>
    failuresOf(await daemon.run(installArguments(wanted))),
  );
  if (failures.length > 0) throw new Error(failures.join("; "));
  const names = new Set(wanted.map(({ name }) => name));
  const now = agentsOf(await daemon.run(STATUS_ARGUMENTS)).filter(({ name }) => names.has(name));
  void vscode.window.showInformationMessage(connectedMessage(now));
}

/** The agents on this computer first; those that are connected and work have nothing to be picked. */
function picks(agents: readonly Agent[]): AgentPick[] {
  const separator = (label: string): AgentPick => ({ label, kind: vscode.QuickPickItemKind.Separator });
  const row = (agent: Agent): AgentPick => ({
    label: agent.title,
    ...(agent.hint === undefined ? {} : { description: agent.hint }),
    picked: agent.found && !agent.installed,
    agent,
  });
  const done = agents.filter(({ installed, hint }) => installed && hint === undefined);
  const left = agents.filter((agent) => !done.includes(agent));
  const [here, elsewhere] = [left.filter(({ found }) => found), left.filter(({ found }) => !found)];
  return [
    separator("on this computer"),
    ...here.map(row),
    separator("not found on this computer"),
    ...elsewhere.map(row),
    ...(done.length === 0 ? [] : [separator(`connected: ${done.map(({ title }) => title).join(", ")}`)]),
  ];
}

function inStatusBar<T>(title: string, work: () => Promise<T>): Thenable<T> {
  return vscode.window.withProgress({ location: vscode.ProgressLocation.Window, title }, work);
}

async function sayFailed(what: string, error: unknown, log: vscode.LogOutputChannel): Promise<void> {
  const message = `${what}: ${error instanceof Error ? error.message : String(error)}`;
  log.error(message);
  const showLog = "Show Log";
  if ((await vscode.window.showErrorMessage(message, showLog)) === showLog) log.show();
}
