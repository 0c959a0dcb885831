/** The changes of files, fetched when they become visible, and cached. */
import type { FileChange, FileDiff, PendingHunk, Step } from "@snapd/client";
import { signal } from "@preact/signals";
import type { Problem } from "../api/problem";
import { contentAddress, getContent, getDifference, getHunks, getReviewFile, getStepDiff } from "../api/routes";
import { countLines, type DiffHunk, linesOf, readHunk, type Texts, textsFrom } from "../model/diff";
import { exactName } from "../model/names";
import { hunksBetween, hunksOfPatch } from "../model/patch";
import { noted } from "./troubles";

/** The loaded changes of one file. */
export interface Changes {
  readonly hunks: readonly DiffHunk[];
  /** Both texts; absent if they are not loaded, or not part of the change. */
  readonly texts?: Texts;
  /** Why there are no lines to show. */
  readonly note?: string;
  /** Identifies the hunks of pending changes: see `expect` of `review/keep`. */
  readonly id?: string;
  /** Who has a part in each hunk, by its index. */
  readonly owners?: readonly PendingHunk["owners"][];
}

export interface FileState {
  readonly changes: Changes | undefined;
  readonly problem: Problem | undefined;
}

/** Where the changes of the files of a step, of a span or of the review come from. */
export interface Source {
  /** The key of the source; the same file has other changes in another source. */
  readonly key: string;
  /** The changes of a file. */
  load(file: FileChange): Promise<Changes>;
  /** Both texts of a file whose changes are loaded. */
  loadTexts?(file: FileChange, changes: Changes): Promise<Texts | undefined>;
  /** The URLs of a picture before and after; undefined for a missing side. */
  picture(file: FileChange): { readonly before: string | undefined; readonly after: string | undefined };
  /** Changes with the file; what is shown is fetched again. */
  version(file: FileChange): string;
}

interface Kept {
  state: FileState;
  version: string;
  isLoading: boolean;
  hasTexts: boolean;
}

/** The number of cached files; the oldest are dropped first. */
const MOST = 400;
/** If more lines changed, the whole texts are fetched only on request. */
const MOST_COLOURED = 5000;
/** Requests at once: a browser has six connections to a server, and others need some. */
const AT_ONCE = 3;

const kept = new Map<string, Kept>();
/** Increases when anything in the cache changes. */
export const changed = signal(0);
/** Increases with each change of the folder, for changes that are compared with it. */
export const folderVersion = signal(0);

const waiting: (() => Promise<void>)[] = [];
let running = 0;

/** The loaded changes of a file; undefined until requested. */
export function stateOf(source: Source, file: FileChange): FileState | undefined {
  return kept.get(nameOf(source, file))?.state;
}

/** Whether a file is to be fetched: it never was, or it is another by now. */
export function isWanted(source: Source, file: FileChange): boolean {
  const known = kept.get(nameOf(source, file));
  return known === undefined || (known.version !== source.version(file) && !known.isLoading);
}

/** Fetches the changes of a file. */
export function want(source: Source, file: FileChange): void {
  const name = nameOf(source, file);
  const version = source.version(file);
  const known = kept.get(name);
  if (known !== undefined && (known.isLoading || known.version === version)) return;
  const entry: Kept = known ?? {
    state: { changes: undefined, problem: undefined },
    version,
    isLoading: true,
    hasTexts: false,
  };
  Object.assign(entry, { version, isLoading: true, hasTexts: false });
  kept.delete(name);
  kept.set(name, entry);
  forgetFirst();
  enqueue(async () => {
    try {
      entry.state = { changes: await source.load(file), problem: undefined };
    } catch (error) {
      entry.state = { changes: undefined, problem: noted(error) };
    }
    entry.isLoading = false;
    changed.value += 1;
    const { additions, deletions } = countLines(entry.state.changes?.hunks ?? []);
    // their colours depend on all that stands above them
    if (additions + deletions < MOST_COLOURED) wantTexts(source, file);
  });
}

/** Fetches both texts of a file, once, if its changes are loaded. */
export function wantTexts(source: Source, file: FileChange): void {
  const entry = kept.get(nameOf(source, file));
  const changes = entry?.state.changes;
  if (entry === undefined || changes === undefined || entry.hasTexts || changes.texts !== undefined) return;
  if (source.loadTexts === undefined) return;
  entry.hasTexts = true;
  const load = source.loadTexts.bind(source);
  enqueue(async () => {
    const texts = await load(file, changes).catch(() => undefined);
    if (texts === undefined || entry.state.changes !== changes) return;
    entry.state = { ...entry.state, changes: { ...changes, texts } };
    changed.value += 1;
  });
}

/** Marks comparisons with the folder as outdated. */
export function forgetChanging(): void {
  folderVersion.value += 1;
}

/** Tries again what went wrong. */
export function tryAgain(source: Source, file: FileChange): void {
  kept.delete(nameOf(source, file));
  want(source, file);
  changed.value += 1;
}

/** What a step changed. */
export function stepSource(step: Step): Source {
  const { sessionId, stepId } = step;
  const after = (file: FileChange) => getContent(step.to, exactName(file));
  return {
    key: `step ${stepId}`,
    version: () => step.to ?? "",
    picture: (file) => ({
      before: file.status === "added" ? undefined : contentAddress(step.from, file.renamedFrom ?? exactName(file)),
      after: file.status === "deleted" ? undefined : contentAddress(step.to, exactName(file)),
    }),
    async load(file) {
      if (file.binary) return binary();
      // what git put there is no change of the step's own
      if (file.byGit === true) return spanSource(step.from, step.to).load(file);
      const name = exactName(file);
      if (file.renamedFrom !== undefined) {
        const moved = hunksOfPatch((await getStepDiff(sessionId, stepId, name)).diff);
        return moved.length > 0 ? { hunks: moved } : { hunks: moved, note: noteOf(file) };
      }
      const answer = await getHunks(sessionId, stepId, name);
      const hunks = answer.hunks.map(readHunk);
      return hunks.length > 0 ? { hunks } : { hunks, note: answer.mixed ? MIXED : noteOf(file) };
    },
    async loadTexts(file, { hunks }) {
      if (file.status === "deleted") return textsFrom([], hunks);
      return textsFrom(linesOf(decoded(await after(file))), hunks);
    },
  };
}

/** How the folder was at one time and at another; without `after`, how it is now. */
export function spanSource(before: string, after: string | undefined): Source {
  return {
    key: `span ${before} ${after ?? ""}`,
    version: () => (after === undefined ? String(folderVersion.peek()) : ""),
    picture: (file) => ({
      before: file.status === "added" ? undefined : contentAddress(before, file.renamedFrom ?? exactName(file)),
      after: file.status === "deleted" ? undefined : contentAddress(after, exactName(file)),
    }),
    async load(file) {
      if (file.binary) return binary();
      const names = file.renamedFrom === undefined ? [exactName(file)] : [file.renamedFrom, exactName(file)];
      const { diffs } = await getDifference(before, after, names);
      const diff = diffs.find((one) => one.file === file.file);
      return diff === undefined ? { hunks: [], note: "No difference remains." } : changesOf(diff);
    },
  };
}

let lastGiven = 0;

/** Changes whose texts came with them. */
export function givenSource(diffs: readonly FileDiff[]): Source {
  lastGiven += 1;
  const found = new Map(diffs.map((diff) => [diff.file, diff]));
  return {
    key: `given ${lastGiven}`,
    version: () => "",
    picture: () => ({ before: undefined, after: undefined }),
    load(file) {
      const diff = found.get(file.file);
      return Promise.resolve(diff === undefined ? { hunks: [], note: noteOf(file) } : changesOf(diff));
    },
  };
}

/** What is pending. */
export function reviewSource(idOf: (file: FileChange) => string): Source {
  return {
    key: "review",
    version: idOf,
    picture: (file) => ({
      before: undefined,
      after: file.status === "deleted" ? undefined : contentAddress(undefined, exactName(file)),
    }),
    async load(file) {
      const answer = await getReviewFile(exactName(file));
      const { id } = answer;
      const owners = answer.hunks.map((hunk) => hunk.owners);
      if (answer.binary) return { ...binary(), id };
      if (answer.tooLarge) return { hunks: [], note: TOO_LARGE, id };
      const texts = { before: linesOf(answer.before), after: linesOf(answer.after) };
      const hunks = answer.hunks.map(readHunk);
      return { hunks, texts, id, owners, ...(hunks.length > 0 ? {} : { note: noteOf(file) }) };
    },
  };
}

const TOO_LARGE = "Its text is over 10 MB.";
const MIXED = "Others changed the same lines while the step was running, so its changes cannot be separated.";

function changesOf(diff: FileDiff): Changes {
  if (diff.binary) return binary();
  if (diff.tooLarge) return { hunks: [], note: TOO_LARGE };
  const hunks = hunksBetween(diff.before, diff.after);
  const texts = { before: linesOf(diff.before), after: linesOf(diff.after) };
  return hunks.length > 0 ? { hunks, texts } : { hunks, texts, note: noteOf(diff) };
}

function binary(): Changes {
  return { hunks: [], note: "It is binary." };
}

/** Why a file is in the list although no line of it changed. */
function noteOf(file: FileChange): string {
  if (file.renamedFrom !== undefined) return "It was moved, and its text is the same.";
  if (file.status === "added") return "It is new and empty.";
  if (file.status === "deleted") return "It was empty and is deleted.";
  return "Its text is the same; its mode or type changed.";
}

/** A text as the daemon shows it: UTF-8, or else each byte as a character of Latin-1. */
export function decoded(data: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    // "latin1" of browsers is windows-1252, which has other characters
    const parts: string[] = [];
    for (let at = 0; at < data.length; at += 8192) parts.push(String.fromCharCode(...data.subarray(at, at + 8192)));
    return parts.join("");
  }
}

function nameOf(source: Source, file: FileChange): string {
  return `${source.key}\n${exactName(file)}`;
}

function forgetFirst(): void {
  for (const name of kept.keys()) {
    if (kept.size <= MOST) return;
    kept.delete(name);
  }
}

function enqueue(work: () => Promise<void>): void {
  waiting.push(work);
  run();
}

function run(): void {
  while (running < AT_ONCE) {
    const work = waiting.shift();
    if (work === undefined) return;
    running += 1;
    void work().finally(() => {
      running -= 1;
      run();
    });
  }
}
