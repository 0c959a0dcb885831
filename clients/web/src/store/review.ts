/** The pending changes: what agents changed and nobody has kept yet. */
import type { PendingFile } from "@snapd/client";
import { signal } from "@preact/signals";
import type { Problem } from "../api/problem";
import { getReview } from "../api/routes";
import type { Sums } from "../model/wording";
import { Latest } from "./latest";
import { noted } from "./troubles";

/** Files of one page; the first is drawn while the others come. */
const PAGE = 200;

export interface Totals extends Sums {
  readonly pendingFiles: number;
}

export const totals = signal<Totals | undefined>(undefined);
/** All pending files, ordered by name; undefined until the first page is here. */
export const pending = signal<readonly PendingFile[] | undefined>(undefined);
export const problem = signal<Problem | undefined>(undefined);

const loading = new Latest();

export async function loadReview(): Promise<void> {
  const isCurrent = loading.begin();
  const isFirst = pending.peek() === undefined;
  let found: readonly PendingFile[] = [];
  try {
    for (let cursor: string | undefined; ;) {
      const answer = await getReview({ cursor, limit: PAGE });
      if (!isCurrent()) return;
      found = [...found, ...answer.files];
      cursor = answer.nextCursor;
      setPendingCount(answer);
      problem.value = undefined;
      if (isFirst || cursor === undefined) pending.value = found;
      if (cursor === undefined) return;
    }
  } catch (error) {
    if (isCurrent()) problem.value = noted(error);
  }
}

export function setPendingCount({ pendingFiles, additions, deletions }: Totals): void {
  totals.value = { pendingFiles, additions, deletions };
}
