// Reports to the daemon what this window has open: no undo writes over unsaved text, and what somebody types and saves
// is the user's, whatever an agent does meanwhile.
//
// Documents in the folders of the window are reported as soon as they are open, so that the daemon knows the text on
// which somebody types. Others are reported while they have unsaved text: a symlink may lead from there into a folder.

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
export interface Told {
  readonly client: Pick<SnapdClient, "documents"> | undefined;
  readonly onDidChange: Listen;
}

/** Milliseconds in which what is typed is gathered. */
const GATHERING = 300;

/** Reports documents to the daemon. */
export class DocumentSync implements Disposable {
  readonly #editors: Editors;
  readonly #daemon: Told;
  readonly #subscriptions: Disposable[];
  /** What the daemon knows of each document, by URI: its version, and whether its text was unsaved. */
  readonly #told = new Map<string, { readonly version: number; readonly isDirty: boolean }>();
  /** Documents with text that was not told yet. */
  readonly #waiting = new Set<vscode.TextDocument>();
  #client: Told["client"];
  #timer: NodeJS.Timeout | undefined;

  constructor(editors: Editors, daemon: Told) {
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

  /** Tells of all text that was not told yet. What is asked of the daemon afterwards is done with it known. */
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
    this.#told.clear();
    this.#waiting.clear();
    for (const document of this.#editors.textDocuments) this.#look(document);
  }

  #look(document: vscode.TextDocument): void {
    if (document.uri.scheme !== "file" || this.#client === undefined) return;
    const told = this.#told.get(uriOf(document));
    const isInFolder = this.#editors.getWorkspaceFolder(document.uri) !== undefined;
    if (!document.isDirty && !isInFolder) this.#forget(document);
    else if (told === undefined) this.#tellOpen(document);
    else if (told.version === document.version && told.isDirty === document.isDirty) return;
    else if (told.isDirty && document.isDirty) this.#wait(document);
    else this.#tellChange(document);
  }

  #saved(document: vscode.TextDocument): void {
    if (!this.#told.has(uriOf(document))) return;
    // if somebody typed on while it was saved, the text is not the one that was saved
    if (!document.isDirty) this.#tellWaiting(document);
    this.#client?.documents.didSave(uriOf(document));
    this.#told.set(uriOf(document), { version: document.version, isDirty: false });
    if (document.isDirty) this.#wait(document);
    else this.#look(document);
  }

  #tellOpen(document: vscode.TextDocument): void {
    const { languageId, version, isDirty } = document;
    this.#client?.documents.didOpen(uriOf(document), languageId, version, document.getText());
    this.#told.set(uriOf(document), { version, isDirty });
    // a file in another encoding cannot be compared with the text: that it was changed must be said
    if (isDirty) this.#tellChange(document);
  }

  #tellChange(document: vscode.TextDocument): void {
    const { version, isDirty } = document;
    this.#waiting.delete(document);
    this.#client?.documents.didChange(uriOf(document), version, document.getText());
    this.#told.set(uriOf(document), { version, isDirty });
  }

  #tellWaiting(document: vscode.TextDocument): void {
    if (this.#waiting.has(document) && this.#told.has(uriOf(document))) this.#tellChange(document);
  }

  #wait(document: vscode.TextDocument): void {
    this.#waiting.add(document);
    this.#timer ??= setTimeout(() => void this.flush(), GATHERING);
  }

  #forget(document: vscode.TextDocument): void {
    this.#waiting.delete(document);
    if (this.#told.delete(uriOf(document))) this.#client?.documents.didClose(uriOf(document));
  }
}

function uriOf(document: vscode.TextDocument): string {
  return document.uri.toString();
}
