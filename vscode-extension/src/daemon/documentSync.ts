// Reports the open documents of this window to the daemon: no undo overwrites unsaved text, and what a person types
// and saves counts as the user's, whatever an agent does in between.
//
// Documents in the folders of the window are reported as soon as they are open, so that the daemon knows the text on
// which a person types. Others are reported while they have unsaved text: a symlink may lead from there into a folder.

import type * as vscode from "vscode";
import type { Disposable, SnapdClient } from "@snapd/client";
import type { Listen } from "../model/signal";

/** What is needed of `vscode.workspace`. */
export type Editors = Pick<
  typeof vscode.workspace,
  | "textDocuments"
  | "getWorkspaceFolder"
  | "onDidOpenTextDocument"
  | "onDidChangeTextDocument"
  | "onWillSaveTextDocument"
  | "onDidSaveTextDocument"
  | "onDidCloseTextDocument"
>;

/** What is needed of the daemon. */
export interface Connection {
  readonly client: Pick<SnapdClient, "documents"> | undefined;
  readonly onDidChange: Listen;
}

/** Milliseconds during which edits are collected. */
const GATHERING = 300;

/** Reports documents to the daemon. */
export class DocumentSync implements Disposable {
  readonly #editors: Editors;
  readonly #daemon: Connection;
  readonly #subscriptions: Disposable[];
  /** What the daemon knows of each document, by URI: its version, and whether its text was unsaved. */
  readonly #sent = new Map<string, { readonly version: number; readonly isDirty: boolean }>();
  /** Documents with unsent text. */
  readonly #waiting = new Set<vscode.TextDocument>();
  #client: Connection["client"];
  #timer: NodeJS.Timeout | undefined;

  constructor(editors: Editors, daemon: Connection) {
    this.#editors = editors;
    this.#daemon = daemon;
    this.#subscriptions = [
      editors.onDidOpenTextDocument((document) => {
        this.#look(document);
      }),
      editors.onDidChangeTextDocument(({ document }) => {
        this.#look(document);
      }),
      editors.onWillSaveTextDocument(({ document }) => {
        this.#tellWaiting(document);
      }),
      editors.onDidSaveTextDocument((document) => {
        this.#saved(document);
      }),
      editors.onDidCloseTextDocument((document) => {
        this.#forget(document);
      }),
      daemon.onDidChange(() => {
        this.#follow();
      }),
    ];
    this.#follow();
  }

  /** Sends all unsent text. Later requests run with the daemon knowing it. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const document of [...this.#waiting]) this.#tellWaiting(document);
    return Promise.resolve();
  }

  dispose(): void {
    clearTimeout(this.#timer);
    for (const subscription of this.#subscriptions) subscription.dispose();
  }

  #follow(): void {
    if (this.#daemon.client === this.#client) return;
    this.#client = this.#daemon.client;
    // a new client knows of no document
    this.#sent.clear();
    this.#waiting.clear();
    for (const document of this.#editors.textDocuments) this.#look(document);
  }

  #look(document: vscode.TextDocument): void {
    if (document.uri.scheme !== "file" || this.#client === undefined) return;
    const sent = this.#sent.get(uriOf(document));
    const isInFolder = this.#editors.getWorkspaceFolder(document.uri) !== undefined;
    if (!document.isDirty && !isInFolder) this.#forget(document);
    else if (sent === undefined) this.#tellOpen(document);
    else if (sent.version === document.version && sent.isDirty === document.isDirty) return;
    else if (sent.isDirty && document.isDirty) this.#wait(document);
    else this.#tellChange(document);
  }

  #saved(document: vscode.TextDocument): void {
    if (!this.#sent.has(uriOf(document))) return;
    // if the document was edited during the save, its text is not the saved one
    if (!document.isDirty) this.#tellWaiting(document);
    this.#client?.documents.didSave(uriOf(document));
    this.#sent.set(uriOf(document), { version: document.version, isDirty: false });
    if (document.isDirty) this.#wait(document);
    else this.#look(document);
  }

  #tellOpen(document: vscode.TextDocument): void {
    const { languageId, version, isDirty } = document;
    this.#client?.documents.didOpen(uriOf(document), languageId, version, document.getText());
    this.#sent.set(uriOf(document), { version, isDirty });
    // a file in another encoding cannot be compared with the text, so the change must be reported
    if (isDirty) this.#tellChange(document);
  }

  #tellChange(document: vscode.TextDocument): void {
    const { version, isDirty } = document;
    this.#waiting.delete(document);
    this.#client?.documents.didChange(uriOf(document), version, document.getText());
    this.#sent.set(uriOf(document), { version, isDirty });
  }

  #tellWaiting(document: vscode.TextDocument): void {
    if (this.#waiting.has(document) && this.#sent.has(uriOf(document))) this.#tellChange(document);
  }

  #wait(document: vscode.TextDocument): void {
    this.#waiting.add(document);
    this.#timer ??= setTimeout(() => void this.flush(), GATHERING);
  }

  #forget(document: vscode.TextDocument): void {
    this.#waiting.delete(document);
    if (this.#sent.delete(uriOf(document))) this.#client?.documents.didClose(uriOf(document));
  }
}

function uriOf(document: vscode.TextDocument): string {
  return document.uri.toString();
}
