// The user and the editor, as VS Code has them.

import * as vscode from "vscode";
import type { ActingFolder } from "../acting/action";
import { differences } from "../acting/differences";
import { Refused } from "../acting/errors";
import type { Comparison, List, Notice, Question, Row, Side, Ui, WholeComparison } from "../acting/ui";
import type { UnsavedDocument } from "../acting/unsaved";
import { documentUri } from "../documents/uris";
import { fileUri } from "../model/fileUris";
import { proposeCommit } from "./sourceControl";
import { discardDocuments, saveDocuments, unsavedDocuments } from "./openDocuments";

/** Questions, notifications, lists and editors of this window. */
export class VscodeUi implements Ui {
  readonly #folder: (uri: string) => ActingFolder;

  /**
   * @param folder - gives the folder of a workspaceUri.
   */
  constructor(folder: (uri: string) => ActingFolder) {
    this.#folder = folder;
  }

  async ask({ message, detail, choices }: Question): Promise<string | undefined> {
    const options: vscode.MessageOptions = detail === undefined ? { modal: true } : { modal: true, detail };
    return vscode.window.showWarningMessage(message, options, ...choices);
  }

  async notify({ severity, message, buttons }: Notice): Promise<string | undefined> {
    switch (severity) {
      case "info":
        return vscode.window.showInformationMessage(message, ...buttons);
      case "warning":
        return vscode.window.showWarningMessage(message, ...buttons);
      case "error":
        return vscode.window.showErrorMessage(message, ...buttons);
    }
  }

  choose<T>({ title, placeholder, rows }: List<T>): Promise<T | undefined> {
    const input = vscode.window.createQuickPick<Picked<T>>();
    input.title = title;
    input.placeholder = placeholder ?? "";
    input.matchOnDescription = true;
    input.matchOnDetail = true;
    input.items = rows.map(picked);
    input.activeItems = input.items.filter(({ row }) => row.isActive === true);
    return new Promise((resolve) => {
      const answer = (value: T | undefined): void => {
        resolve(value);
        input.hide();
      };
      input.onDidAccept(() => {
        answer(input.activeItems[0]?.row.value);
      });
      input.onDidTriggerItemButton(({ item, button }) => {
        const { row, buttons } = item;
        answer(row.buttons?.[(buttons ?? []).indexOf(button)]?.value);
      });
      input.onDidHide(() => {
        resolve(undefined);
        input.dispose();
      });
      input.show();
    });
  }

  async chooseSome<T>({ title, placeholder, rows }: List<T>): Promise<readonly T[] | undefined> {
    const chosen = await vscode.window.showQuickPick(rows.map(picked), {
      title,
      placeHolder: placeholder ?? "",
      canPickMany: true,
      matchOnDescription: true,
      matchOnDetail: true,
    });
    return chosen?.map(({ row }) => row.value);
  }

  unsaved(): readonly UnsavedDocument[] {
    return unsavedDocuments();
  }

  save(documents: readonly UnsavedDocument[]): Promise<void> {
    return saveDocuments(documents);
  }

  discard(documents: readonly UnsavedDocument[]): Promise<void> {
    return discardDocuments(documents);
  }

  async compare({ folder, file, left, right, title }: Comparison): Promise<void> {
    const [one, other] = await Promise.all([this.#side(folder, file, left), this.#side(folder, file, right)]);
    await vscode.commands.executeCommand("vscode.diff", one, other, title);
  }

  async compareAll({ folder, left, right, files, title }: WholeComparison): Promise<void> {
    const found = await differences(this.#folder(folder), left, right, files);
    const resources = [...found].map(([file, { status }]) => [
      currentUri(folder, file),
      document(folder, status === "added" ? "" : left, file),
      document(folder, status === "deleted" ? "" : right, file),
    ]);
    await vscode.commands.executeCommand("vscode.changes", title, resources);
  }

  async open(folder: string, file: string): Promise<void> {
    const uri = currentUri(folder, file);
    if (!(await exists(uri))) throw new Refused(`${vscode.workspace.asRelativePath(uri)} does not exist.`);
    await vscode.commands.executeCommand("vscode.open", uri);
  }

  proposeCommit(folder: string, message: string): Promise<boolean> {
    return proposeCommit(vscode.Uri.parse(folder), message);
  }

  typeInTerminal(folder: string, command: string): void {
    const terminal = vscode.window.createTerminal({ name: "Snapd", cwd: folder });
    terminal.show();
    terminal.sendText(command, false);
  }

  async busy<T>(what: string, work: () => Promise<T>): Promise<T> {
    return vscode.window.withProgress({ location: vscode.ProgressLocation.Window, title: what }, work);
  }

  async showLog(): Promise<void> {
    await vscode.commands.executeCommand("snapd.showLog");
  }

  async #side(folder: string, file: string, side: Side): Promise<vscode.Uri> {
    if (side === "current") {
      const uri = currentUri(folder, file);
      return (await exists(uri)) ? uri : document(folder, "", file);
    }
    const found = await this.#folder(folder).request("snapshot/fileExists", { hash: side.hash, file });
    return document(folder, found.exists ? side.hash : "", file);
  }
}

type Picked<T> = vscode.QuickPickItem & { readonly row: Row<T> };

function picked<T>(row: Row<T>): Picked<T> {
  const { label, description, detail, buttons = [] } = row;
  return {
    label,
    row,
    buttons: buttons.map(({ icon, tooltip }) => ({ iconPath: new vscode.ThemeIcon(icon), tooltip })),
    ...(description !== undefined && { description }),
    ...(detail !== undefined && { detail }),
  };
}

function document(folder: string, hash: string, file: string): vscode.Uri {
  return vscode.Uri.parse(documentUri({ folder, hash, file }));
}

function currentUri(folder: string, file: string): vscode.Uri {
  return vscode.Uri.parse(file.startsWith("file:") ? file : fileUri(folder, { file }));
}

async function exists(uri: vscode.Uri): Promise<boolean> {
  try {
    await vscode.workspace.fs.stat(uri);
    return true;
  } catch (error) {
    if (error instanceof vscode.FileSystemError && error.code === "FileNotFound") return false;
    throw error;
  }
}
