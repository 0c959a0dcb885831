// Which sessions have something to redo.

import type { Entry, Session } from "@snapd/client";

/** A session with an undone step, and when that was undone. */
export interface Redoable {
  readonly session: Session;
  /** The last undo of the session, where the history still has it. */
  readonly undone?: Entry;
}

/** The sessions that have something to redo, the one with the newest undo first. */
export function redoable(sessions: readonly Session[], history: readonly Entry[]): Redoable[] {
  const found = sessions
    .filter((session) => session.redoable > 0)
    .map((session): Redoable => {
      const undone = newest(history.filter((entry) => isUndoOf(entry, session.sessionId)));
      return undone === undefined ? { session } : { session, undone };
    });
  return found.sort((one, other) => (other.undone?.at ?? "").localeCompare(one.undone?.at ?? ""));
}

function isUndoOf(entry: Entry, sessionId: string): boolean {
  return (entry.kind === "undo" || entry.kind === "revert") && entry.sessionId === sessionId;
}

function newest(entries: readonly Entry[]): Entry | undefined {
  return entries.reduce<Entry | undefined>(
    (best, entry) => (best === undefined || entry.at > best.at ? entry : best),
    undefined,
  );
}
