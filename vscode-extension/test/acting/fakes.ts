// A user who answers as told, and a daemon of whom every request is known.

import type { Entry, FileChange, FileOutcome, PendingFile, ReviewFileResult, Session, Step } from "@snapd/client";
import { Acting } from "../../src/acting/acting";
import type { ActingFolder } from "../../src/acting/action";
import type { Comparison, List, Notice, Question, Ui, WholeComparison } from "../../src/acting/ui";
import type { UnsavedDocument } from "../../src/acting/unsaved";
import type { Finished, World } from "../../src/acting/world";
import { type Turn, type TurnId, turnKey, turnsOf } from "../../src/model/turns";
import type { CommandHost, ShownFile, Target } from "../../src/commands/host";

export const FOLDER = "file:///work/web";
export const BEFORE = "b".repeat(40);
export const AFTER = "a".repeat(40);
export const NOW = "c".repeat(40);

/** A user: each question takes the next answer of its kind; without one, the user cancels. */
export class FakeUi implements Ui {
  readonly asked: Question[] = [];
  readonly notices: Notice[] = [];
  readonly lists: List<unknown>[] = [];
  readonly compared: (Comparison | WholeComparison)[] = [];
  readonly opened: string[] = [];
  readonly typed: string[] = [];
  readonly saved: string[] = [];
  readonly discarded: string[] = [];
  documents: UnsavedDocument[] = [];
  answers: string[] = [];
  buttons: (string | undefined)[] = [];
  choices: (string | readonly string[])[] = [];
  logShown = 0;
  commitMessage = "";

  ask(question: Question): Promise<string | undefined> {
    this.asked.push(question);
    return Promise.resolve(this.answers.shift());
  }
  notify(notice: Notice): Promise<string | undefined> {
    this.notices.push(notice);
    return Promise.resolve(this.buttons.shift());
  }
  choose<T>(list: List<T>): Promise<T | undefined> {
    this.lists.push(list);
    const label = this.choices.shift();
    if (label === undefined) return Promise.resolve(undefined);
    const row = list.rows
      .flatMap((each) => [
        each,
        ...(each.buttons ?? []).map(({ tooltip, value }) => ({ label: `${each.label}: ${tooltip}`, value })),
      ])
      .find((each) => each.label === label);
    if (row === undefined) throw new Error(`no row ${String(label)} in ${list.rows.map((each) => each.label).join()}`);
    return Promise.resolve(row.value);
  }
  chooseSome<T>(list: List<T>): Promise<readonly T[] | undefined> {
    this.lists.push(list);
    const labels = this.choices.shift();
    if (labels === undefined) return Promise.resolve(undefined);
    return Promise.resolve(list.rows.filter(({ label }) => labels.includes(label)).map(({ value }) => value));
  }
  unsaved(): readonly UnsavedDocument[] {
    return this.documents;
  }
  save(documents: readonly UnsavedDocument[]): Promise<void> {
    this.saved.push(...documents.map(({ name }) => name));
    this.documents = this.documents.filter((each) => !documents.includes(each));
    return Promise.resolve();
  }
  discard(documents: readonly UnsavedDocument[]): Promise<void> {
    this.discarded.push(...documents.map(({ name }) => name));
    this.documents = this.documents.filter((each) => !documents.includes(each));
    return Promise.resolve();
  }
  compare(comparison: Comparison): Promise<void> {
    this.compared.push(comparison);
    return Promise.resolve();
  }
  compareAll(comparison: WholeComparison): Promise<void> {
    this.compared.push(comparison);
    return Promise.resolve();
  }
  open(_folder: string, file: string): Promise<void> {
    this.opened.push(file);
    return Promise.resolve();
  }
  busy<T>(_what: string, work: () => Promise<T>): Promise<T> {
    return work();
  }
  proposeCommit(_folder: string, message: string): Promise<boolean> {
    if (this.commitMessage !== "") return Promise.resolve(false);
    this.commitMessage = message;
    return Promise.resolve(true);
  }
  typeInTerminal(folder: string, command: string): void {
    this.typed.push(`${folder} $ ${command}`);
  }
  showLog(): Promise<void> {
    this.logShown += 1;
    return Promise.resolve();
  }
}

export interface Sent {
  readonly method: string;
  readonly params: Record<string, unknown>;
}

/** What is known to be pending in a folder. */
export class FakeReview {
  files: readonly PendingFile[] = [];
  /** Pending as well, and not listed yet. */
  unlisted: readonly PendingFile[] = [];
  /** The hunks of files that are followed. */
  readonly followed = new Map<string, ReviewFileResult>();
  refreshed = 0;

  get isComplete(): boolean {
    return this.unlisted.length === 0;
  }
  all(): Promise<readonly PendingFile[]> {
    return Promise.resolve([...this.files, ...this.unlisted]);
  }
  shown(name: string): ReviewFileResult | undefined {
    return this.followed.get(name);
  }
  refresh(): Promise<void> {
    this.refreshed += 1;
    return Promise.resolve();
  }
}

/** A folder whose daemon answers with what a test says. */
export class FakeFolder {
  readonly sent: Sent[] = [];
  readonly review = new FakeReview();
  sessions: Session[] = [];
  entries: Entry[] = [];
  refreshed = 0;

  constructor(
    readonly answer: (method: string, params: Record<string, unknown>) => unknown,
    readonly uri = FOLDER,
    readonly name = "web",
  ) {}

  step(stepId: string): Step | undefined {
    return this.entries.find((entry) => entry.step?.stepId === stepId)?.step;
  }
  get turns(): Turn[] {
    return [...turnsOf(this.entries).values()];
  }
  turn(id: TurnId): Turn | undefined {
    return turnsOf(this.entries).get(turnKey(id));
  }
  lastStep(): Step | undefined {
    return this.entries.find(({ step }) => step?.state === "applied" && (step.files ?? []).length > 0)?.step;
  }
  refresh(): Promise<void> {
    this.refreshed += 1;
    return Promise.resolve();
  }
  request(method: string, params: object): Promise<unknown> {
    this.sent.push({ method, params: params as Record<string, unknown> });
    return Promise.resolve().then(() => this.answer(method, params as Record<string, unknown>));
  }

  /** The requests that changed something. */
  get writes(): Sent[] {
    return this.sent.filter(({ method, params }) => isWriting(method) && params["dryRun"] !== true);
  }
}

function isWriting(method: string): boolean {
  return /^(session\/(undo|redo|revert|unrevert)|step\/revert\w+|snapshot\/(restore|revert)|review\/(keep|revert))$/.test(
    method,
  );
}

/** A world of these folders, whose later work a test can wait for. */
export class FakeWorld implements World {
  readonly ui = new FakeUi();
  readonly flushes: number[] = [];
  readonly logged: string[] = [];
  readonly ran: (readonly string[])[] = [];
  /** What the next program prints. */
  printed = "";
  wanted: "all" | "problems" | "off" = "all";
  shown: ShownFile | undefined;
  hunk: Target | undefined;
  readonly acting: Acting;
  readonly #folders: readonly (FakeFolder | ActingFolder)[];
  readonly #later: Promise<unknown>[] = [];

  constructor(...folders: (FakeFolder | ActingFolder)[]) {
    this.#folders = folders;
    this.acting = new Acting(this);
  }

  readonly log = {
    info: (message: string): void => {
      this.logged.push(message);
    },
    error: (message: string): void => {
      this.logged.push(message);
    },
  };

  get host(): CommandHost {
    return {
      world: this,
      acting: this.acting,
      folders: () => this.#folders.map(typed),
      absence: () => "Snapd is turned off in the settings.",
      shown: () => this.shown,
      hunk: () => this.hunk,
    };
  }

  folder(uri: string): ActingFolder {
    const found = this.#folders.find((each) => each.uri === uri);
    if (found === undefined) throw new Error(`no folder ${uri}`);
    return typed(found);
  }
  flush(): Promise<void> {
    this.flushes.push(this.#folders.flatMap((folder) => (folder instanceof FakeFolder ? folder.sent : [])).length);
    return Promise.resolve();
  }
  run(args: readonly string[]): Promise<Finished> {
    this.ran.push(args);
    return Promise.resolve({ stdout: this.printed, stderr: "" });
  }
  notifications(): "all" | "problems" | "off" {
    return this.wanted;
  }
  later(work: Promise<unknown>): void {
    this.#later.push(work);
  }

  /** Resolves once nothing goes on any more. */
  async settled(): Promise<void> {
    for (let work = this.#later.shift(); work !== undefined; work = this.#later.shift()) await work;
  }
}

// the fake answers whatever a test says, for all methods alike
function typed(folder: FakeFolder | ActingFolder): ActingFolder {
  return folder as unknown as ActingFolder;
}

export function change(file: string, status: FileChange["status"] = "modified"): FileChange {
  return { file, status, additions: 1, deletions: 1, binary: false };
}

export function step(more: Partial<Step> = {}): Step {
  return {
    stepId: "s3",
    sessionId: "one",
    index: 2,
    description: "Edit app.py",
    startedAt: "2026-11-21T10:00:00.000Z",
    endedAt: "2026-11-21T10:00:01.000Z",
    from: BEFORE,
    to: AFTER,
    state: "applied",
    files: [change("app.py"), change("util.py")],
    ...more,
  };
}

export function entryOf(each: Step): Entry {
  return { kind: "step", at: each.startedAt, step: each, before: each.from, files: each.files ?? [] };
}

/** What a session was asked. */
export function messageOf(messageId: string, text?: string, sessionId = "one"): Entry {
  const at = "2026-11-21T09:59:00.000Z";
  const [before, after] = [BEFORE, BEFORE];
  return { kind: "message", at, sessionId, messageId, ...(text !== undefined && { text }), before, after, files: [] };
}

export function outcome(file: string, kind: FileOutcome["outcome"], reason?: string): FileOutcome {
  return { file, outcome: kind, ...(reason !== undefined && { reason }) };
}

export function unsavedDocument(file: string): UnsavedDocument {
  return { uri: `${FOLDER}/${file}`, name: file, paths: [`/work/web/${file}`] };
}
