/** The rows of the timeline on the screen: those of the outline, and below the chosen one its files. */
import type { FileChange } from "@snapd/client";
import type { Row } from "../model/outline";
import type { Shown } from "../model/route";

export interface FileRow {
  readonly kind: "file";
  readonly key: string;
  readonly file: FileChange;
}

export type ScreenRow = Row | FileRow;

/** Pixels: rows are as high as their kind, so that a long list needs no measuring. */
const HEIGHTS = { turn: 56, step: 48, operation: 36, file: 28 };

/**
 * How high a row is.
 *
 * @param isAll Whether the timeline is that of all sessions, in which prompts are no headings.
 */
export function heightOf(row: ScreenRow, isAll: boolean): number {
  if (row.kind === "file") return HEIGHTS.file;
  if (row.kind === "turn") return isAll ? HEIGHTS.operation : HEIGHTS.turn;
  return row.entry.step === undefined ? HEIGHTS.operation : HEIGHTS.step;
}

/** Whether a row is what stands beside the timeline. */
export function isShown(row: Row, shown: Shown | undefined): boolean {
  if (shown === undefined) return false;
  if (row.kind === "turn") return shown.what === "turn" && shown.messageId === row.messageId;
  const { entry } = row;
  if (entry.step !== undefined) return shown.what === "step" && shown.stepId === entry.step.stepId;
  const isSpan = shown.what === "change" && shown.before === entry.before && shown.after === entry.after;
  return isSpan && (shown.at === undefined || shown.at === entry.at);
}

/** The rows with the files of the shown one below it. */
export function screenRows(rows: readonly Row[], shown: Shown | undefined): readonly ScreenRow[] {
  const at = rows.findIndex((row) => row.kind === "entry" && isShown(row, shown));
  const row = rows[at];
  if (row?.kind !== "entry") return rows;
  const files = row.entry.files.map((file): FileRow => ({ kind: "file", key: `file ${file.file}`, file }));
  return [...rows.slice(0, at + 1), ...files, ...rows.slice(at + 1)];
}

/** Where a row leads. */
export function shownOf(row: Row): Shown | undefined {
  if (row.kind === "turn") return { what: "turn", sessionId: row.sessionId, messageId: row.messageId };
  const { step, at, before, after } = row.entry;
  if (step !== undefined) return { what: "step", sessionId: step.sessionId, stepId: step.stepId };
  return after === undefined ? undefined : { what: "change", before, after, ...(before === after ? { at } : {}) };
}
