import { EventEmitter } from "node:events";
import type { SnapdClient } from "@snapd/client";
import type * as vscode from "vscode";
import type { Editors, Connection } from "../../src/daemon/documentSync";
import { Signal } from "../../src/model/signal";

/** A document as VS Code has it; what is done to it is told as VS Code tells it. */
export class FakeDocument {
  isDirty = false;
  version = 1;
  readonly languageId = "python";

  constructor(
    readonly name: string,
    public text: string,
    readonly scheme = "file",
    readonly folder = "/p",
  ) {}

  get uri(): { scheme: string; toString(): string } {
    return { scheme: this.scheme, toString: () => `${this.scheme}://${this.folder}/${this.name}` };
  }

  getText(): string {
    return this.text;
  }
}

/** An editor, and what it is connected to. */
export class FakeWindow implements Connection {
  readonly sent: unknown[][] = [];
  readonly documents: FakeDocument[] = [];
  readonly #events = new EventEmitter();
  readonly #changed = new Signal();
  readonly onDidChange = this.#changed.listen;
  client: Connection["client"];

  get editors(): Editors {
    const on = (name: string) => (listener: (event: unknown) => void) => {
      this.#events.on(name, listener);
      return { dispose: () => this.#events.off(name, listener) };
    };
    return {
      textDocuments: this.documents as unknown as readonly vscode.TextDocument[],
      getWorkspaceFolder: (uri: vscode.Uri) => (uri.toString().startsWith("file:///p/") ? {} : undefined),
      onDidOpenTextDocument: on("open"),
      onDidChangeTextDocument: on("change"),
      onWillSaveTextDocument: on("willSave"),
      onDidSaveTextDocument: on("save"),
      onDidCloseTextDocument: on("close"),
    } as Editors;
  }

  /** Connects to a daemon that keeps what it is told. */
  connect(): void {
    const record =
      (name: string) =>
      (...parts: unknown[]): void => {
        this.sent.push([name, ...parts]);
      };
    const documents = {
      didOpen: record("open"),
      didChange: record("change"),
      didSave: record("save"),
      didClose: record("close"),
    };
    this.follow({ documents: documents as unknown as SnapdClient["documents"] });
  }

  follow(client: Connection["client"]): void {
    this.client = client;
    this.#changed.emit();
  }

  disconnect(): void {
    this.follow(undefined);
  }

  open(document: FakeDocument): FakeDocument {
    this.documents.push(document);
    this.#events.emit("open", document);
    return document;
  }

  type(document: FakeDocument, text: string): void {
    document.text = text;
    document.version += 1;
    document.isDirty = true;
    this.#events.emit("change", { document });
  }

  /** Reads the file again, or undoes all that was typed: VS Code tells either as a change. */
  becomeClean(document: FakeDocument, text: string): void {
    document.text = text;
    document.version += 1;
    document.isDirty = false;
    this.#events.emit("change", { document });
  }

  /** Saves it; somebody may type on meanwhile. */
  save(document: FakeDocument, typedMeanwhile?: string): void {
    this.#events.emit("willSave", { document });
    if (typedMeanwhile === undefined) document.isDirty = false;
    else this.type(document, typedMeanwhile);
    this.#events.emit("save", document);
  }

  close(document: FakeDocument): void {
    this.documents.splice(this.documents.indexOf(document), 1);
    this.#events.emit("close", document);
  }

  take(): unknown[][] {
    return this.sent.splice(0);
  }
}
