// Tells the daemon which files have text in this window that is not saved, so that no undo writes over it.
//
// Only documents with unsaved text are told of: a document that nobody types into costs nothing. They are told of
// wherever they lie, as a symlink may lead from there into a folder.

import type * as vscode from "vscode";
import type { Disposable, SnapdClient } from "snapd-client";
import type { Listen } from "../model/signal";

/** What is needed of `vscode.workspace`. */
export type Editors = Pick<
  typeof vscode.workspace,
  | "textDocuments"
  | "onDidOpenTextDocument"
  | "onDidChangeTextDocument"
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

/** Tells the daemon of unsaved text. */
export class DocumentSync implements Disposable {
  readonly #editors: Editors;
  readonly #daemon: Told;
  readonly #subscriptions: Disposable[];
  /** The version that the daemon was told last, by URI. */
  readonly #told = new Map<string, number>();
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
    for (const document of this.#waiting) {
      if (this.#told.has(uriOf(document))) this.#tellChange(document);
    }
    this.#waiting.clear();
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
    if (!document.isDirty) this.#forget(document);
    else if (!this.#told.has(uriOf(document))) this.#tellOpen(document);
    else if (this.#told.get(uriOf(document)) !== document.version) this.#wait(document);
  }

  #saved(document: vscode.TextDocument): void {
    if (!this.#told.has(uriOf(document))) return;
    this.#client?.documents.didSave(uriOf(document));
    // somebody may have typed on while it was saved
    if (document.isDirty) this.#wait(document);
    else this.#forget(document);
  }

  #tellOpen(document: vscode.TextDocument): void {
    const { languageId, version } = document;
    this.#client?.documents.didOpen(uriOf(document), languageId, version, document.getText());
    // a file in another encoding cannot be compared with the text: that it was changed must be said
    this.#tellChange(document);
  }

  #tellChange(document: vscode.TextDocument): void {
    this.#client?.documents.didChange(uriOf(document), document.version, document.getText());
    this.#told.set(uriOf(document), document.version);
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
