// Where the user wants to see who wrote a line.

import { ConfigurationTarget, type Disposable, workspace } from "vscode";
import { type BlameSettings, readSettings } from "../settings";

/** The settings as they are now. */
export function blameSettings(): BlameSettings {
  return readSettings(workspace.getConfiguration("snapd")).blame;
}

/** Calls the listener when they may be others. */
export function onDidChangeBlameSettings(listener: () => void): Disposable {
  return workspace.onDidChangeConfiguration((change) => {
    if (change.affectsConfiguration("snapd.blame")) listener();
  });
}

/** Turns it on or off at the end of the line, in the settings that decide now. */
export async function toggleLineBlame(): Promise<void> {
  const configuration = workspace.getConfiguration("snapd");
  const isOfWorkspace = configuration.inspect("blame.line")?.workspaceValue !== undefined;
  const target = isOfWorkspace ? ConfigurationTarget.Workspace : ConfigurationTarget.Global;
  await configuration.update("blame.line", !blameSettings().line, target);
}
