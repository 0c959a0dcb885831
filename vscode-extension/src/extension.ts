// Puts the rooms of the extension together.

import * as vscode from "vscode";
import { registerBlame } from "./blame";
import { registerCommands } from "./commands";
import { registerDaemonCommands } from "./daemon/commands";
import { DocumentSync } from "./daemon/documentSync";
import { offerMcpServers, type McpEditor } from "./daemon/mcp";
import { noticeProblems } from "./daemon/notices";
import { absenceOf } from "./daemon/status";
import { showStatus } from "./daemon/statusBar";
import { daemonOfWindow, diskFolders, offerCommand } from "./daemon/window";
import { registerDocuments } from "./documents";
import { WorkspaceModel } from "./model/workspace";
import { registerReview } from "./review";
import { CommentThreads } from "./review/comments";
import { registerViews } from "./views";

/** Called by VS Code once the window has started. */
export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel("Snapd", { log: true });
  const daemon = daemonOfWindow(context, log);
  const documentSync = new DocumentSync(vscode.workspace, daemon);
  const model = new WorkspaceModel();
  const threads = new CommentThreads(model, log);

  const showFolders = (): void => {
    model.setFolders(diskFolders().map(({ uri, name }) => ({ uri: uri.toString(), name })));
  };
  const followDaemon = (): void => {
    model.absence = absenceOf(daemon.state);
    model.setConnection(daemon.client);
    void vscode.commands.executeCommand("setContext", "snapd.state", daemon.state);
  };
  // a folder is asked about only once the daemon has it open
  const update = async (): Promise<void> => {
    try {
      await daemon.update();
    } catch (error) {
      log.error(error instanceof Error ? error : String(error));
    }
    showFolders();
  };

  context.subscriptions.push(
    log,
    documentSync,
    threads,
    model,
    daemon,
    daemon.onDidChange(followDaemon),
    noticeProblems(daemon, log),
    offerCommand(context, daemon),
    offerMcpServers(
      vscode as unknown as McpEditor,
      daemon,
      () => diskFolders().map(({ name, uri }) => ({ name, path: uri.fsPath })),
      log,
    ),
    showStatus(daemon, model),
    vscode.workspace.onDidChangeWorkspaceFolders(update),
    vscode.workspace.onDidGrantWorkspaceTrust(update),
    vscode.workspace.onDidChangeConfiguration(async (change) => {
      if (!change.affectsConfiguration("snapd")) return;
      await update();
      // no notification says whether snapshots are on or off
      await model.refresh();
    }),
  );
  registerDocuments(context, model);
  registerViews(context, model);
  registerReview(context, model);
  registerBlame(context, model, log);
  registerCommands(context, { model, daemon, documentSync, threads, log });
  registerDaemonCommands(context, daemon, log);

  showFolders();
  followDaemon();
  void update();
}
