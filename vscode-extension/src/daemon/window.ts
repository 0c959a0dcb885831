// The daemon as this window of VS Code has it: trust, folders and settings come from the window.

import os from "node:os";
import path from "node:path";
import { SnapdClient, type Disposable } from "@snapd/client";
import * as vscode from "vscode";
import { readSettings, type Settings } from "../settings";
import { Daemon } from "./daemon";
import { findSnapd } from "./finding";
import { PROBES } from "./probing";
import { runProgram } from "./processes";

/** The settings as they are now. */
export function currentSettings(): Settings {
  return readSettings(vscode.workspace.getConfiguration("snapd"));
}

/** The folders that lie on a disk of this computer. */
export function diskFolders(): readonly vscode.WorkspaceFolder[] {
  return (vscode.workspace.workspaceFolders ?? []).filter((folder) => folder.uri.scheme === "file");
}

/** The executable inside the extension. Its name is none of a snapd that stays where it is: hooks name the unpacked one. */
export function bundledSnapd(context: vscode.ExtensionContext): string {
  return vscode.Uri.joinPath(context.extensionUri, "bundled", "snapd-linux").fsPath;
}

/** The daemon of this window; nothing is started before `update` is called. */
export function daemonOfWindow(context: vscode.ExtensionContext, log: vscode.LogOutputChannel): Daemon {
  const { version } = context.extension.packageJSON as { version: string };
  const uris = (): vscode.Uri[] => diskFolders().map((folder) => folder.uri);
  return new Daemon({
    clientInfo: { name: vscode.env.appName, version: `${vscode.version}, snapd extension ${version}` },
    log,
    isTrusted: () => vscode.workspace.isTrusted,
    folders: () => uris().map((uri) => uri.toString()),
    settings: currentSettings,
    find: () => {
      const settings = currentSettings();
      const around = {
        home: os.homedir(),
        setting: settings.path,
        settingFromWorkspace: settings.pathFromWorkspace,
        folders: uris().map((uri) => uri.fsPath),
        trusted: vscode.workspace.isTrusted,
        searchPath: process.env["PATH"] ?? "",
        bundled: bundledSnapd(context),
        version,
      };
      return findSnapd(around, PROBES, log);
    },
    connect: (options) => SnapdClient.connect(options),
    run: runProgram,
  });
}

/** Gives the terminals of the window the command `snapd`, also where the only one is inside the extension. */
export function offerCommand(context: vscode.ExtensionContext, daemon: Daemon): Disposable {
  const variables = context.environmentVariableCollection;
  variables.description = "The command `snapd`";
  return daemon.onDidChange(() => {
    if (daemon.found === undefined) return;
    const added = path.delimiter + unpackedPrograms();
    if (daemon.found.file !== bundledSnapd(context)) variables.delete("PATH");
    // each change has VS Code ask for terminals to be started again
    else if (variables.get("PATH")?.value !== added) variables.append("PATH", added);
  });
}

/** Where the executable inside the extension unpacks itself; the link `snapd` there outlives an update. */
function unpackedPrograms(): string {
  const data = process.env["XDG_DATA_HOME"] ?? "";
  return path.join(path.isAbsolute(data) ? data : path.join(os.homedir(), ".local", "share"), "snapd", "program");
}
