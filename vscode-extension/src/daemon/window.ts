// The daemon as this window of VS Code has it: trust, folders and settings come from the window.

import os from "node:os";
import { SnapdClient } from "@snapd/client";
import * as vscode from "vscode";
import { readSettings, type Settings } from "../settings";
import { Daemon } from "./daemon";
import { findSnapd } from "./finding";
import { probesOf } from "./probing";
import { runProgram } from "./processes";
import { selectedPythons } from "./pythonExtension";

/** The settings as they are now. */
export function currentSettings(): Settings {
  return readSettings(vscode.workspace.getConfiguration("snapd"));
}

/** The folders that lie on a disk of this computer. */
export function diskFolders(): readonly vscode.WorkspaceFolder[] {
  return (vscode.workspace.workspaceFolders ?? []).filter((folder) => folder.uri.scheme === "file");
}

/** The daemon of this window; nothing is started before `update` is called. */
export function daemonOfWindow(context: vscode.ExtensionContext, log: vscode.LogOutputChannel): Daemon {
  const { version } = context.extension.packageJSON as { version: string };
  const uris = (): vscode.Uri[] => diskFolders().map((folder) => folder.uri);
  const probes = probesOf(context.globalStorageUri.fsPath, () => selectedPythons(uris(), log));
  return new Daemon({
    clientInfo: { name: vscode.env.appName, version: `${vscode.version}, snapd extension ${version}` },
    log,
    isTrusted: () => vscode.workspace.isTrusted,
    folders: () => uris().map((uri) => uri.toString()),
    settings: currentSettings,
    find: () => {
      const settings = currentSettings();
      const around = {
        platform: process.platform,
        home: os.homedir(),
        setting: settings.path,
        settingFromWorkspace: settings.pathFromWorkspace,
        folders: uris().map((uri) => uri.fsPath),
        trusted: vscode.workspace.isTrusted,
        searchPath: process.env["PATH"] ?? "",
      };
      return findSnapd(around, probes, log);
    },
    connect: (options) => SnapdClient.connect(options),
    run: runProgram,
  });
}
