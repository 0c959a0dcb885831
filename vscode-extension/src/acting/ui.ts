// What acting asks of whoever sits before the editor.

import type { Severity } from "./outcomes";
import type { UnsavedDocument } from "./unsaved";

/** A question that has to be answered first. */
export interface Question {
  readonly message: string;
  readonly detail?: string;
  readonly choices: readonly string[];
}

/** Something to know, with buttons. */
export interface Notice {
  readonly severity: Severity;
  readonly message: string;
  readonly buttons: readonly string[];
}

/** A row of a list. */
export interface Row<T> {
  readonly label: string;
  readonly description?: string;
  readonly detail?: string;
  readonly value: T;
  /** Icons at the end of the row; pressing one chooses its value. */
  readonly buttons?: readonly { readonly icon: string; readonly tooltip: string; readonly value: T }[];
  /** Whether the keys begin at this row. */
  readonly isActive?: boolean;
}

/** A list to choose from. */
export interface List<T> {
  readonly title: string;
  readonly placeholder?: string;
  readonly rows: readonly Row<T>[];
}

/** One side of a comparison: a snapshot, or the current file. */
export type Side = { readonly hash: string } | "current";

/** Two states of a file. */
export interface Comparison {
  /** The workspaceUri. */
  readonly folder: string;
  /** The exact name. */
  readonly file: string;
  readonly left: Side;
  readonly right: Side;
  readonly title: string;
}

/** Two snapshots, and the files in which they differ. */
export interface WholeComparison {
  readonly folder: string;
  readonly left: string;
  readonly right: string;
  readonly files: readonly string[];
  readonly title: string;
}

/** The editor and the person before it. Where a question is answered with undefined, it was cancelled. */
export interface Ui {
  /** Asks a question that blocks everything else. */
  ask(question: Question): Promise<string | undefined>;
  /** Shows a notification; resolves with the pressed button. */
  notify(notice: Notice): Promise<string | undefined>;
  /** Has one row chosen. */
  choose<T>(list: List<T>): Promise<T | undefined>;
  /** Has any number of rows chosen. */
  chooseSome<T>(list: List<T>): Promise<readonly T[] | undefined>;
  /** The documents with text that is not saved. */
  unsaved(): readonly UnsavedDocument[];
  /** Saves documents; throws where one could not be saved. */
  save(documents: readonly UnsavedDocument[]): Promise<void>;
  /** Discards unsaved text of documents; throws if one still has unsaved text. */
  discard(documents: readonly UnsavedDocument[]): Promise<void>;
  /** Opens the two states of a file side by side. */
  compare(comparison: Comparison): Promise<void>;
  /** Opens all files that differ between two snapshots. */
  compareAll(comparison: WholeComparison): Promise<void>;
  /** Opens the current file. */
  open(folder: string, file: string): Promise<void>;
  /**
   * Shows what was staged in the folder's git repository, and writes a message for the next commit, unless there is
   * one already.
   *
   * @returns whether the message is there.
   */
  proposeCommit(folder: string, message: string): Promise<boolean>;
  /** Types a command in a new terminal, for the person to run it. */
  typeInTerminal(folder: string, command: string): void;
  /** Shows progress while work runs. */
  busy<T>(what: string, work: () => Promise<T>): Promise<T>;
  /** Opens the log. */
  showLog(): Promise<void>;
}
