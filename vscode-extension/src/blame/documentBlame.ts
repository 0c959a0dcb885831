// Who wrote the lines of documents, also while they have unsaved text.

import { type BlamedLines, ConnectionLostError, type Disposable, SnapdError } from "@snapd/client";
import { type Lines, linesOf, splitLines } from "../model/documentLines";
import type { FolderModel } from "../model/folder";
import { Signal } from "../model/signal";
import type { FileIn } from "../model/workspace";
import { type Change, SavedLines, type TextChange } from "./savedLines";

/** A document of the editor: `TextDocument` is one. */
export interface BlamedDocument extends Lines {
  readonly uri: { toString(): string };
  readonly isDirty: boolean;
}

/** The file of a document. */
export interface BlamedFile extends Pick<FileIn, "name"> {
  readonly folder: Pick<FolderModel, "request" | "isConnected">;
}

/** Who wrote a line: as the daemon has it, or "typed" for the user, who has not saved it yet. */
export type Author = BlamedLines | "typed";

/** What this class needs from its surroundings. */
export interface Sources {
  /** The file that a document shows; undefined where it is in no open folder. */
  file(document: BlamedDocument): BlamedFile | undefined;
  /** The text on the disk; undefined where there is none, or not in UTF-8. */
  read(document: BlamedDocument): Promise<string | undefined>;
  readonly log: { warn(message: string): void };
}

/** Why a file has no authors: it is not text, is not captured, or lies behind a link. */
const WITHOUT_AUTHORS = ["invalidParams", "fileNotInSnapshot", "pathOutsideWorkspace"];

interface Answer {
  /** The text that it is about, and where the document still has it. */
  readonly lines: SavedLines;
  /** In their order, without gaps. */
  readonly authors: readonly BlamedLines[];
}

interface Known {
  readonly document: BlamedDocument;
  /** The text on disk when it was last read. */
  saved: SavedLines | undefined;
  /** The last change of the document. */
  change: Change;
  /** The last one: it stays until there is another. */
  answer: Answer | undefined;
  /** Whether another answer may be due. */
  isStale: boolean;
}

/**
 * Asks the daemon about one document after another, once for each text and history, and tracks edits
 * in between. An answer counts only if it is about exactly the saved text of the document.
 */
export class DocumentBlame implements Disposable {
  readonly #sources: Sources;
  readonly #known = new Map<string, Known>();
  readonly #signal = new Signal();
  /** Runs one request at a time. */
  #last: Promise<void> = Promise.resolve();
  #disposed = false;

  constructor(sources: Sources) {
    this.#sources = sources;
  }

  /** Calls the listener when authors arrive or change. */
  readonly onDidChange = this.#signal.listen;

  /** The known author of a line, counted from 0; undefined if there is none. */
  at(document: BlamedDocument, line: number): Author | undefined {
    const answer = this.#known.get(document.uri.toString())?.answer;
    if (answer === undefined || this.#sources.file(document)?.folder.isConnected !== true) return undefined;
    const origin = answer.lines.at(line);
    if (typeof origin !== "number") return origin?.isTyped === true ? "typed" : undefined;
    return answer.authors.find(({ start, count }) => origin + 1 < start + count);
  }

  /** Asks about a document, where another answer may be due; resolves when that is done. */
  refresh(document: BlamedDocument): Promise<void> {
    const known = this.#knownOf(document);
    if (known.isStale) this.#last = this.#last.then(() => this.#ask(known));
    return this.#last;
  }

  /** Takes in that a document is another: it was changed, saved, or read from the disk again. */
  changed(document: BlamedDocument, changes: readonly TextChange[]): void {
    const known = this.#known.get(document.uri.toString());
    if (known === undefined) return;
    const { isDirty } = document;
    if (changes.length > 0) {
      known.change = { isTyped: isDirty };
      for (const lines of new Set([known.saved, known.answer?.lines])) lines?.change(changes, document, known.change);
    } else if (isDirty) {
      // VS Code reports the first character that is typed before it reports that the text is unsaved
      known.change.isTyped = true;
    }
    if (!isDirty && !isEqual(known.answer?.lines.text ?? [], linesOf(document))) known.isStale = true;
  }

  /** Handles a changed history: the same lines may have other authors. */
  outdate(): void {
    for (const known of this.#known.values()) known.isStale = true;
  }

  /** Forgets a document. */
  forget(document: BlamedDocument): void {
    this.#known.delete(document.uri.toString());
  }

  /** Forgets everything. */
  clear(): void {
    this.#known.clear();
  }

  dispose(): void {
    this.#disposed = true;
    this.clear();
  }

  #knownOf(document: BlamedDocument): Known {
    const uri = document.uri.toString();
    const known = this.#known.get(uri);
    if (known?.document === document) return known;
    const saved = document.isDirty ? undefined : SavedLines.of(document);
    const made: Known = { document, saved, change: { isTyped: false }, answer: undefined, isStale: true };
    this.#known.set(uri, made);
    return made;
  }

  async #ask(known: Known): Promise<void> {
    const file = this.#sources.file(known.document);
    if (!known.isStale || this.#disposed || file?.folder.isConnected !== true) return;
    known.isStale = false;
    try {
      await this.#askFor(known, file);
    } catch (error) {
      this.#failed(known, error);
    }
    this.#signal.emit();
  }

  async #askFor(known: Known, { folder, name }: BlamedFile): Promise<void> {
    const { document } = known;
    const text = await this.#sources.read(document);
    const lines = savedLines(known, text);
    // the document is about to be read from the disk again, or to be saved: then it is asked about again
    if (lines === undefined) return;
    known.saved = lines;
    const { lines: authors } = await folder.request("snapshot/blame", { file: name });
    const isSame = (await this.#sources.read(document)) === text;
    if (isSame && known.saved === lines && isAbout(authors, lines.text)) known.answer = { lines, authors };
    else if (!isSame) known.isStale = true;
  }

  #failed(known: Known, error: unknown): void {
    known.answer = undefined;
    if (error instanceof ConnectionLostError) known.isStale = true;
    else if (!(error instanceof SnapdError) || !WITHOUT_AUTHORS.includes(error.kind ?? "")) {
      const why = error instanceof Error ? error.message : String(error);
      this.#sources.log.warn(`who wrote ${known.document.uri.toString()} is not known: ${why}`);
    }
  }
}

/** Where a document still has the lines of its file; undefined where they do not belong together. */
function savedLines({ document, saved }: Known, text: string | undefined): SavedLines | undefined {
  if (text === undefined) return document.isDirty ? undefined : asSaved(document, saved);
  const lines = splitLines(text.replace(/^\uFEFF/, ""));
  if (saved !== undefined && isEqual(saved.text, lines)) return saved;
  if (document.isDirty) return new SavedLines(lines, document);
  return isEqual(linesOf(document), lines) ? SavedLines.of(document) : undefined;
}

/** The lines of a document without unsaved text. */
function asSaved(document: BlamedDocument, saved: SavedLines | undefined): SavedLines {
  return saved !== undefined && isEqual(saved.text, linesOf(document)) ? saved : SavedLines.of(document);
}

/** Whether an answer can be about a text: the daemon does not count what follows the last line end. */
function isAbout(authors: readonly BlamedLines[], lines: readonly string[]): boolean {
  const last = authors.at(-1);
  const count = last === undefined ? 0 : last.start + last.count - 1;
  return count === lines.length || (count === lines.length - 1 && lines.at(-1) === "");
}

function isEqual(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((line, at) => line === other[at]);
}
