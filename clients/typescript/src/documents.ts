/** Sends a notification, where there is a connection. */
export type Notify = (method: string, params: object) => void;

interface Document {
  languageId: string;
  version: number;
  text: string;
  /** Whether it was typed into since it was opened or saved. */
  changed: boolean;
}

/**
 * The documents that an editor has open.
 *
 * The daemon writes no file whose document holds unsaved text. Each new connection gets all of them again.
 */
export interface Documents {
  /** A document was opened. */
  didOpen(uri: string, languageId: string, version: number, text: string): void;
  /**
   * A document was changed; `text` is all of it.
   *
   * @throws Error - It is not open.
   */
  didChange(uri: string, version: number, text: string): void;
  /** A document was saved. One that is not open is passed over. */
  didSave(uri: string): void;
  /** A document was closed. One that is not open is passed over. */
  didClose(uri: string): void;
}

/** The documents, which are sent again over each new connection. */
export class OpenDocuments implements Documents {
  readonly #open = new Map<string, Document>();
  readonly #notify: Notify;

  constructor(notify: Notify) {
    this.#notify = notify;
  }

  didOpen(uri: string, languageId: string, version: number, text: string): void {
    this.#open.set(uri, { languageId, version, text, changed: false });
    this.#sendOpen(uri, languageId, version, text);
  }

  didChange(uri: string, version: number, text: string): void {
    const document = this.#open.get(uri);
    if (document === undefined) {
      throw new Error(`the document is not open: ${uri}`);
    }
    this.#open.set(uri, { ...document, version, text, changed: true });
    this.#sendChange(uri, version, text);
  }

  didSave(uri: string): void {
    const document = this.#open.get(uri);
    if (document !== undefined) {
      this.#open.set(uri, { ...document, changed: false });
      this.#notify("textDocument/didSave", { textDocument: { uri } });
    }
  }

  didClose(uri: string): void {
    if (this.#open.delete(uri)) {
      this.#notify("textDocument/didClose", { textDocument: { uri } });
    }
  }

  /** Tells a new connection of all that are open. */
  resend(): void {
    for (const [uri, { languageId, version, text, changed }] of this.#open) {
      this.#sendOpen(uri, languageId, version, text);
      if (changed) {
        // the text of a file that is not UTF-8 cannot be compared: only a change says that it is unsaved
        this.#sendChange(uri, version, text);
      }
    }
  }

  #sendOpen(uri: string, languageId: string, version: number, text: string): void {
    this.#notify("textDocument/didOpen", { textDocument: { uri, languageId, version, text } });
  }

  #sendChange(uri: string, version: number, text: string): void {
    this.#notify("textDocument/didChange", { textDocument: { uri, version }, contentChanges: [{ text }] });
  }
}
