// The snapshots that can be compared, as a list.

import type { Entry } from "@snapd/client";
import { type Span, spanOf } from "../model/changes";
import { ago, lowered } from "../model/wording";

/** A snapshot, or the current files. */
export interface SnapshotPick {
  readonly label: string;
  readonly description: string;
  /** Undefined for the current files. */
  readonly hash: string | undefined;
}

/** A hash as people may paste it: in any case, with blanks around it; undefined where it is none. */
export function pastedHash(text: string): string | undefined {
  const hash = text.trim().toLowerCase();
  return /^[0-9a-f]{40}$/.test(hash) ? hash : undefined;
}

/**
 * The snapshots after and before each entry, newest first; a message has one alone.
 *
 * @param name - what an entry is called.
 * @param now - milliseconds since 1970.
 */
export function snapshotPicks(
  entries: readonly Entry[],
  name: (entry: Entry) => string,
  now: number,
): readonly SnapshotPick[] {
  return entries.flatMap((entry) => {
    const { before, after }: Span = spanOf(entry);
    const pick = (when: string, hash: string): SnapshotPick => ({
      label: `${when} ${lowered(name(entry))}`,
      description: `${hash.slice(0, 7)} · ${ago(entry.at, now)}`,
      hash,
    });
    return after === undefined || entry.kind === "message"
      ? [pick("Before", before)]
      : [pick("After", after), pick("Before", before)];
  });
}
