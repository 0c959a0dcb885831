// The model of one folder: its sessions and its history, kept up to date.

import type { Disposable, Entry, FileChange, FileDiff, Method, Params, Result, Session, Step } from "@snapd/client";
import { type ChangedFile, type Span, maybeMoved, requestName, spanOf, withRenames } from "./changes";
import { Coalesced } from "./coalesced";
import { CommentsModel } from "./comments";
import type { Connection } from "./connection";
import { folderAbove, pathKey } from "./fileUris";
import { byActivity, concerns, affectedSteps, readHistory, unsettled, withKnown } from "./history";
import { pages } from "./paging";
import { ReviewModel } from "./review";
import { type Listen, Signal } from "./signal";
import { type Turn, type TurnId, turnKey, turnOfEntry, turnsOf } from "./turns";

const PAGE = 50;
const PAUSE = 100;
/** Files that may have been moved and are compared, at most. */
const COMPARED = 1000;

/** One folder. */
export class FolderModel implements Disposable {
  /** The folder of the window, as it is sent to the daemon. */
  readonly id: string;
  /** For people. */
  readonly name: string;
  /** What agents left pending here. */
  readonly review: ReviewModel;
  /** The comments on its files. */
  readonly comments: CommentsModel;
  readonly #connection: Connection;
  readonly #signal = new Signal();
  readonly #reading = new Coalesced(() => this.#read(), PAUSE);
  readonly #notifying = new Coalesced(() => {
    this.#signal.emit();
    return Promise.resolve();
  }, PAUSE);
  readonly #subscriptions: readonly Disposable[];
  readonly #renames = new WeakMap<Entry, Promise<readonly ChangedFile[]>>();
  /** How the daemon calls the folder; it may lead here by another way. */
  #key: string;
  /** Where the folder of the window lies in the one whose history this is. */
  #within: string | undefined;
  #whole = true;
  #workspaceUri = "";
  #news = new Set<string>();
  #disposed = false;
  #sessions: readonly Session[] = [];
  #entries: readonly Entry[] = [];
  #turns: ReadonlyMap<string, Turn> = new Map();
  #pending: readonly FileChange[] = [];
  #problem: Error | undefined;
  #enabled = true;
  #loaded = false;

  /** Begins to read, and to listen. */
  constructor(connection: Connection, uri: string, name: string) {
    this.#connection = connection;
    this.id = uri;
    this.name = name;
    this.#key = pathKey(uri);
    this.review = new ReviewModel(this, connection);
    this.comments = new CommentsModel(this, connection);
    this.#subscriptions = [
      connection.onNotification("session/didChange", ({ workspaceUri, step }) => {
        if (!this.#isMeant(workspaceUri)) return;
        if (step !== undefined) for (const name of affectedSteps(step)) this.#news.add(name);
        void this.#reading.ask();
        this.#reviewAgain();
      }),
      connection.onNotification("snapshot/didRevert", ({ workspaceUri }) => {
        if (!this.#isMeant(workspaceUri)) return;
        this.#movedAway([]);
        void this.#reading.ask();
        this.#reviewAgain();
      }),
      connection.onNotification("snapshot/didTrack", ({ workspaceUri, hash, previous }) => {
        if (!this.#isMeant(workspaceUri)) return;
        this.#movedAway([]);
        if (hash !== previous) void this.#reading.ask();
        // what is kept takes a snapshot, also where that is the one before
        this.#reviewAgain();
      }),
      connection.onNotification("snapshot/didChange", ({ workspaceUri, files }) => {
        if (!this.#isMeant(workspaceUri)) return;
        this.#movedAway(files);
        this.#reviewAgain();
      }),
      connection.onNotification("review/didChange", ({ workspaceUri }) => {
        if (this.#isMeant(workspaceUri)) this.#reviewAgain();
      }),
      connection.onReset((workspaceUri) => {
        if (this.#isMeant(workspaceUri)) void this.refresh();
      }),
      connection.onDidChangeState((state) => {
        if (state === "ready") void this.refresh();
        else void this.#notifying.ask();
      }),
    ];
    void this.refresh();
  }

  /** The folder to which the names of files are relative: that of the window, or one around it. */
  get uri(): string {
    return this.#within === undefined ? this.id : (folderAbove(this.id, this.#within) ?? this.#workspaceUri);
  }

  /** Where the folder of the window lies in that one; undefined where both are the same. */
  get within(): string | undefined {
    return this.#within;
  }

  /** The sessions, that of the newest activity first. */
  get sessions(): readonly Session[] {
    if (this.#within === undefined) return this.#sessions;
    const shown = new Set(this.entries.map(({ step, sessionId }) => step?.sessionId ?? sessionId));
    return this.#sessions.filter(({ sessionId }) => shown.has(sessionId));
  }

  /** Those of the latest 500 entries of the history that are about files of the window's folder, newest first. */
  get entries(): readonly Entry[] {
    const within = this.#within;
    if (within === undefined) return this.#entries;
    return this.#entries.filter((entry) => {
      const id = entry.kind === "message" ? turnOfEntry(entry) : undefined;
      const { changes, state } = (id === undefined ? undefined : this.turn(id)) ?? {};
      return concerns(changes ?? entry.files, state ?? entry.step?.state, within);
    });
  }

  /** The turns that these entries are of, that of the newest entry first. */
  get turns(): readonly Turn[] {
    const shown = new Set(this.entries.flatMap((entry) => turnOfEntry(entry) ?? []).map(turnKey));
    return [...this.#turns].filter(([key]) => shown.has(key)).map(([, turn]) => turn);
  }

  /** The files that differ from the last snapshot, by the latest notification. */
  get pending(): readonly FileChange[] {
    return this.#pending;
  }

  /** Why nothing can be shown. */
  get problem(): Error | undefined {
    return this.#problem;
  }

  /** Whether snapshots are on. */
  get enabled(): boolean {
    return this.#enabled;
  }

  /** Whether the daemon can be asked now. */
  get isConnected(): boolean {
    return this.#connection.state === "ready";
  }

  /** Whether the daemon has answered; before that, the model is empty. */
  get loaded(): boolean {
    return this.#loaded;
  }

  /** Calls the listener after changes; changes that come close together count as one. */
  readonly onDidChange: Listen = this.#signal.listen;

  /** A session by its name, wherever it changed something. */
  session(sessionId: string): Session | undefined {
    return this.#sessions.find((session) => session.sessionId === sessionId);
  }

  /** A step by its name. */
  step(stepId: string): Step | undefined {
    return this.#entries.find((entry) => entry.step?.stepId === stepId)?.step;
  }

  /** A turn, with all its steps that are known, wherever they changed something. */
  turn(id: TurnId): Turn | undefined {
    return this.#turns.get(turnKey(id));
  }

  /** The last step that changed something and was not undone as a whole, of any session. */
  lastStep(): Step | undefined {
    const states = ["applied", "partly"];
    const isMeant = (step: Step): boolean => states.includes(step.state) && (step.files?.length ?? 0) > 0;
    return this.entries.find(({ step }) => step !== undefined && isMeant(step))?.step;
  }

  /**
   * Asks the daemon something about this folder.
   *
   * @throws SnapdError, ConnectionLostError: see `SnapdClient.request`.
   */
  request<M extends Method>(method: M, params: Omit<Params<M>, "workspaceUri">): Promise<Result<M>> {
    return this.#connection.request(method, { ...params, workspaceUri: this.id });
  }

  /**
   * The files of an entry, with moved files marked as moved.
   *
   * @throws SnapdError, ConnectionLostError: see `SnapdClient.request`.
   */
  changedFiles(entry: Entry): Promise<readonly ChangedFile[]> {
    const known = this.#renames.get(entry);
    if (known !== undefined) return known;
    const asked = this.movedFiles(entry.files, spanOf(entry));
    this.#renames.set(entry, asked);
    // a failed request is repeated the next time
    asked.catch(() => this.#renames.delete(entry));
    return asked;
  }

  /**
   * The same for files that differ between two snapshots.
   *
   * @throws SnapdError, ConnectionLostError: see `SnapdClient.request`.
   */
  async movedFiles(files: readonly FileChange[], { before, after }: Span): Promise<readonly ChangedFile[]> {
    const moved = maybeMoved(files);
    if (after === undefined || moved.length === 0 || moved.length > COMPARED) return files;
    return withRenames(files, await this.#compare(before, after, moved));
  }

  /** Reads everything again; resolves when done, or when it failed (see `problem`). Pending changes follow later. */
  async refresh(): Promise<void> {
    this.#whole = true;
    await this.#reading.ask();
    this.#reviewAgain();
  }

  /** Listens and reads no more. */
  dispose(): void {
    this.#disposed = true;
    for (const subscription of this.#subscriptions) subscription.dispose();
    this.#reading.dispose();
    this.review.dispose();
    this.comments.dispose();
    this.#notifying.dispose();
  }

  #isMeant(workspaceUri: string): boolean {
    const key = pathKey(workspaceUri);
    return key === this.#key || key === pathKey(this.id);
  }

  /** Until the folder around this one is known, its pending files are unknown. */
  #reviewAgain(): void {
    if (!this.#loaded) return;
    void this.review.refresh();
    void this.comments.refresh();
  }

  #movedAway(files: readonly FileChange[]): void {
    if (files.length === 0 && this.#pending.length === 0) return;
    this.#pending = files;
    void this.#notifying.ask();
  }

  async #read(): Promise<void> {
    const [whole, news] = [this.#whole, this.#news];
    this.#whole = false;
    this.#news = new Set();
    try {
      if (whole) await this.#readStatus();
      const known = whole ? [] : this.#entries;
      const [{ sessions }, entries] = await Promise.all([
        this.request("session/list", {}),
        readHistory(known, unsettled(known, news), (cursor) =>
          this.request("session/history", cursor === undefined ? { limit: PAGE } : { limit: PAGE, cursor }),
        ),
      ]);
      this.#entries = withKnown(entries, this.#entries);
      this.#turns = turnsOf(this.#entries);
      this.#sessions = byActivity(sessions, entries);
      this.#problem = undefined;
    } catch (error) {
      this.#whole = true;
      // a connection that was lost comes back, and then all is read anew
      if (this.isConnected) this.#fail(error);
    }
    this.#loaded = true;
    if (!this.#disposed) void this.#notifying.ask();
  }

  async #readStatus(): Promise<void> {
    const status = await this.request("snapshot/status", {});
    this.#enabled = status.enabled;
    this.#workspaceUri = status.workspaceUri;
    this.#key = pathKey(status.workspaceUri);
    this.#within = status.within;
  }

  #fail(error: unknown): void {
    this.#problem = error instanceof Error ? error : new Error(String(error));
    this.#sessions = [];
    this.#entries = [];
    this.#turns = new Map();
    this.#pending = [];
  }

  async #compare(from: string, to: string, files: readonly FileChange[]): Promise<readonly FileDiff[]> {
    const found: FileDiff[] = [];
    const params = { from, to, files: files.map(requestName), contents: false, renames: true };
    for await (const { diffs } of pages((cursor) => this.request("snapshot/diffFull", { ...params, ...cursor }))) {
      found.push(...diffs);
    }
    return found;
  }
}
