// The item in the status bar.

import type { Disposable } from "@snapd/client";
import * as vscode from "vscode";
import type { WorkspaceModel } from "../model/workspace";
import type { Daemon } from "./daemon";
import { statusOf } from "./status";

/** Shows the state in the status bar; a click opens the view, or the log if something is wrong. */
export function showStatus(daemon: Daemon, model: WorkspaceModel): Disposable {
  const item = vscode.window.createStatusBarItem("snapd.status", vscode.StatusBarAlignment.Left);
  item.name = "Snapd";
  const show = (): void => {
    const status = statusOf(daemon.state, daemon.problem, model.folders);
    if (status === undefined) {
      item.hide();
      return;
    }
    item.text = status.text;
    item.tooltip = status.tooltip;
    item.accessibilityInformation = { label: status.tooltip };
    item.command = status.isWrong ? "snapd.showLog" : "snapd.steps.focus";
    item.show();
  };
  show();
  return vscode.Disposable.from(item, daemon.onDidChange(show), model.onDidChange(show));
}
