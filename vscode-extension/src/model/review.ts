// What agents left pending in one folder, kept up to date.

import { isDeepStrictEqual } from "node:util";
import { type Disposable, type PendingFile, type ReviewFileResult, SnapdError } from "@snapd/client";
import { requestName } from "./changes";
import { Coalesced } from "./coalesced";
import type { Connection } from "./connection";
import type { FolderModel } from "./folder";
import { pages } from "./paging";
import { type Listen, Signal } from "./signal";

/** Files that are asked for at once. */
export const REVIEW_PAGE = 200;

const PAUSE = 250;
const NOT_PENDING = ["invalidParams", "pathOutsideWorkspace"];

/** What is needed of the folder. */
export type Reviewed = Pick<FolderModel, "request" | "within">;

/** How much is pending, as the daemon counts it. */
export interface PendingTotals {
  readonly files: number;
  readonly additions: number;
  readonly deletions: number;
}

const NONE: PendingTotals = { files: 0, additions: 0, deletions: 0 };

/** The hunks of a followed file. */
interface Followed {
  /** The `id` in the list when they were asked for; undefined where the list did not have the file. */
  readonly listed: string | undefined;
  /** Undefined where nothing is pending in the file. */
  readonly found: ReviewFileResult | undefined;
}

/**
 * The pending changes of one folder: the files page by page, and the hunks of the followed files.
 *
 * What is known stays until something newer is: nothing is empty in between. Of a file that is as before, the object
 * stays the same.
 */
export class ReviewModel implements Disposable {
  readonly #folder: Reviewed;
  readonly #connection: Pick<Connection, "state">;
  readonly #signal = new Signal();
  readonly #reading = new Coalesced(() => this.#read(), PAUSE);
  #files: readonly PendingFile[] = [];
  #totals = NONE;
  #isComplete = true;
  #wanted = REVIEW_PAGE;
  #names: ReadonlySet<string> = new Set();
  #followed: ReadonlyMap<string, Followed> = new Map();
  #loaded = false;
  #problem: Error | undefined;
  #disposed = false;

  constructor(folder: Reviewed, connection: Pick<Connection, "state">) {
    this.#folder = folder;
    this.#connection = connection;
  }

  /** The files with pending changes, ordered by name; not more than were asked for. */
  get files(): readonly PendingFile[] {
    return this.#files;
  }

  /** All that is pending, also in files that are not listed. */
  get totals(): PendingTotals {
    return this.#totals;
  }

  /** Whether all files are listed. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Whether an answer of the daemon has come. */
  get loaded(): boolean {
    return this.#loaded;
  }

  /** Why nothing could be read. */
  get problem(): Error | undefined {
    return this.#problem;
  }

  /** Calls the listener after changes. */
  readonly onDidChange: Listen = this.#signal.listen;

  /**
   * The pending changes of a file that is followed, as they are known.
   *
   * @param name - as `requestName` has it.
   */
  shown(name: string): ReviewFileResult | undefined {
    return this.#followed.get(name)?.found;
  }

  /** Sets of which files the hunks are kept up to date, and no others. */
  follow(names: ReadonlySet<string>): void {
    if (isDeepStrictEqual(names, this.#names)) return;
    this.#names = names;
    void this.refresh();
  }

  /** Lists another page. */
  async showMore(): Promise<void> {
    this.#wanted += REVIEW_PAGE;
    await this.refresh();
  }

  /** Reads what may have changed; resolves when done, or when it failed (see `problem`). */
  refresh(): Promise<void> {
    return this.#reading.ask();
  }

  /**
   * All files with pending changes, whatever is listed.
   *
   * @throws SnapdError, ConnectionLostError: see `SnapdClient.request`.
   */
  async all(): Promise<readonly PendingFile[]> {
    return (await this.#list(Infinity)).files;
  }

  /**
   * The pending changes of a file as they are now; undefined where it has none.
   *
   * @param name - as `requestName` has it.
   * @throws SnapdError, ConnectionLostError: see `SnapdClient.request`.
   */
  async file(name: string): Promise<ReviewFileResult | undefined> {
    try {
      return await this.#folder.request("review/file", { file: name });
    } catch (error) {
      // the daemon takes the name of a file with nothing pending for a wrong one
      if (error instanceof SnapdError && NOT_PENDING.includes(error.kind ?? "")) return undefined;
      throw error;
    }
  }

  /** Reads no more. */
  dispose(): void {
    this.#disposed = true;
    this.#reading.dispose();
  }

  async #read(): Promise<void> {
    if (this.#disposed || this.#connection.state !== "ready") return;
    try {
      const { files, totals, isComplete } = await this.#list(this.#wanted);
      const followed = await this.#readFollowed(files, isComplete);
      this.#files = withKnown(files, this.#files);
      this.#totals = totals;
      this.#isComplete = isComplete;
      this.#followed = followed;
      this.#problem = undefined;
    } catch (error) {
      // keep the last state until the connection is back
      if (!this.#isReady()) return;
      this.#problem = error instanceof Error ? error : new Error(String(error));
      this.#files = [];
      this.#totals = NONE;
      this.#isComplete = true;
      this.#followed = new Map();
    }
    this.#loaded = true;
    if (!this.#isDisposed()) this.#signal.emit();
  }

  // both may change while something is awaited, which the compiler does not know
  #isReady(): boolean {
    return this.#connection.state === "ready";
  }

  #isDisposed(): boolean {
    return this.#disposed;
  }

  /** Lists files until there are enough of those that lie in the folder of the window. */
  async #list(most: number): Promise<{ files: readonly PendingFile[]; totals: PendingTotals; isComplete: boolean }> {
    const { within } = this.#folder;
    // what is pending elsewhere is not counted: the daemon's totals are those of the folder around this one
    const wanted = within === undefined ? most : Infinity;
    // a file that is added between two requests may be on two pages
    const found = new Map<string, PendingFile>();
    let totals = NONE;
    let isComplete = true;
    const ask = (cursor: { cursor?: string }) => this.#folder.request("review/list", { limit: REVIEW_PAGE, ...cursor });
    for await (const { files, pendingFiles, additions, deletions, nextCursor } of pages(ask)) {
      for (const file of files) if (isWithin(file, within)) found.set(requestName(file), file);
      totals = { files: pendingFiles, additions, deletions };
      isComplete = nextCursor === undefined;
      if (found.size >= wanted) break;
    }
    const files = [...found.values()];
    return { files, totals: within === undefined ? totals : totalsOf(files), isComplete };
  }

  /** Reads the hunks of those followed files that are another by now. */
  async #readFollowed(files: readonly PendingFile[], isComplete: boolean): Promise<ReadonlyMap<string, Followed>> {
    const ids = new Map(files.map((file) => [requestName(file), file.id]));
    const read = async (name: string): Promise<[string, Followed]> => {
      const listed = ids.get(name);
      if (listed === undefined && isComplete) return [name, { listed, found: undefined }];
      const known = this.#followed.get(name);
      if (known !== undefined && listed !== undefined && known.listed === listed) return [name, known];
      const found = await this.file(name);
      return [name, { listed, found: isDeepStrictEqual(found, known?.found) ? known?.found : found }];
    };
    return new Map(await Promise.all([...this.#names].map(read)));
  }
}

/** The same files; those that are as before are the very objects that are known. */
function withKnown(files: readonly PendingFile[], known: readonly PendingFile[]): readonly PendingFile[] {
  const byName = new Map(known.map((file) => [requestName(file), file]));
  return files.map((file) => {
    const before = byName.get(requestName(file));
    return before !== undefined && isDeepStrictEqual(before, file) ? before : file;
  });
}

function isWithin({ file }: PendingFile, directory: string | undefined): boolean {
  return directory === undefined || file.startsWith(`${directory}/`);
}

function totalsOf(files: readonly PendingFile[]): PendingTotals {
  const sum = (count: (file: PendingFile) => number): number => files.reduce((total, file) => total + count(file), 0);
  return {
    files: files.length,
    additions: sum(({ additions }) => additions),
    deletions: sum(({ deletions }) => deletions),
  };
}
