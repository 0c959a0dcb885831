/** What became of one file, from step to step. */
import type { Entry } from "@snapd/client";
import { signal } from "@preact/signals";
import type { Problem } from "../api/problem";
import { getHistory } from "../api/routes";
import { Latest } from "./latest";
import { noted } from "./troubles";

const PAGE = 500;

export interface Versions {
  readonly file: string;
  /** The entries that changed it, oldest first. */
  readonly entries: readonly Entry[];
  readonly isComplete: boolean;
}

/** Undefined until they are known. */
export const versions = signal<Versions | undefined>(undefined);
export const problem = signal<Problem | undefined>(undefined);

const loading = new Latest();

/** Fetches the versions of a file. */
export async function loadVersions(file: string): Promise<void> {
  const isCurrent = loading.begin();
  const isOther = versions.peek()?.file !== file;
  if (isOther) versions.value = undefined;
  problem.value = undefined;
  let found: readonly Entry[] = [];
  try {
    for (let cursor: string | undefined; ;) {
      const answer = await getHistory(undefined, { files: [file], cursor, limit: PAGE });
      if (!isCurrent()) return;
      found = [...answer.entries.filter(({ files }) => files.length > 0).reverse(), ...found];
      cursor = answer.nextCursor;
      if (isOther || cursor === undefined) versions.value = { file, entries: found, isComplete: cursor === undefined };
      if (cursor === undefined) return;
    }
  } catch (error) {
    if (isCurrent()) problem.value = noted(error);
  }
}
