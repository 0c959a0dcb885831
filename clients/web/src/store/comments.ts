/** The comments on files, and what is being typed. */
import type { Comment } from "@snapd/client";
import { signal } from "@preact/signals";
import { Problem } from "../api/problem";
import { comment, getComments, getContent, resolve } from "../api/routes";
import { linesOf } from "../model/diff";
import type { Draft } from "../model/threads";
import { decoded } from "./diffs";
import { Latest } from "./latest";
import { addNote, noted, tellProblem } from "./troubles";

const PAGE = 200;

/** The open comments, and the resolved ones if these are shown; oldest first. */
export const comments = signal<readonly Comment[]>([]);
export const problem = signal<Problem | undefined>(undefined);
export const areResolvedShown = signal(false);
/** New comments that are being typed, by the exact names of the files: they stay if the diff is drawn anew. */
export const drafts = signal<ReadonlyMap<string, Draft>>(new Map());
/** Replies that are being typed, by the ids of the comments. */
export const replies = signal<ReadonlyMap<string, string>>(new Map());
/** What is being sent: files and comments, as the keys above. */
export const sending = signal<ReadonlySet<string>>(new Set());

const loading = new Latest();

export async function loadComments(): Promise<void> {
  const isCurrent = loading.begin();
  const states = areResolvedShown.peek() ? (["open", "resolved"] as const) : (["open"] as const);
  try {
    const found = (await Promise.all(states.map(allOf))).flat();
    if (!isCurrent()) return;
    // one that is resolved between two requests is in both answers
    const byId = new Map(found.map((one) => [one.commentId, one]));
    comments.value = [...byId.values()].sort((one, other) => (one.at < other.at ? -1 : 1));
    problem.value = undefined;
  } catch (error) {
    if (isCurrent()) problem.value = noted(error);
  }
}

async function allOf(state: Comment["state"]): Promise<readonly Comment[]> {
  let found: readonly Comment[] = [];
  for (let cursor: string | undefined; ;) {
    const answer = await getComments(state, { cursor, limit: PAGE });
    found = [...found, ...answer.comments];
    cursor = answer.nextCursor;
    if (cursor === undefined) return found;
  }
}

export function showResolved(is: boolean): void {
  areResolvedShown.value = is;
  void loadComments();
}

export function setDraft(file: string, draft: Draft | undefined): void {
  drafts.value = changed(drafts.value, file, draft);
}

export function setReply(commentId: string, text: string | undefined): void {
  replies.value = changed(replies.value, commentId, text);
}

/** Sends a new comment, if the file still has its lines; otherwise, it stays a draft. */
export async function sendDraft(file: string, { start, count, lines, text }: Draft): Promise<void> {
  await send(file, async () => {
    const now = linesOf(decoded(await getContent(undefined, file))).slice(start - 1, start - 1 + count);
    if (now.length !== count || now.some((line, at) => line !== lines[at])) throw Problem.movedLines();
    await comment({ file, start, count, text });
    setDraft(file, undefined);
  });
}

/** Sends a reply; if that fails, it stays in its field. */
export async function sendReply(commentId: string, text: string): Promise<void> {
  await send(commentId, async () => {
    await comment({ replyTo: commentId, text });
    setReply(commentId, undefined);
  });
}

/** Resolves a comment, or opens it again. */
export async function setState(commentId: string, state: Comment["state"]): Promise<void> {
  await send(commentId, async () => {
    await resolve(commentId, state);
    if (state === "open" || areResolvedShown.value) return;
    const act = () => void setState(commentId, "open");
    addNote("Resolved the comment.", { action: { label: "Reopen", act } });
  });
}

async function send(key: string, act: () => Promise<void>): Promise<void> {
  if (sending.value.has(key)) return;
  sending.value = new Set([...sending.value, key]);
  try {
    await act();
    await loadComments();
  } catch (error) {
    tellProblem(error);
  } finally {
    sending.value = new Set([...sending.value].filter((one) => one !== key));
  }
}

function changed<T>(all: ReadonlyMap<string, T>, key: string, value: T | undefined): ReadonlyMap<string, T> {
  const next = new Map(all);
  if (value === undefined) next.delete(key);
  else next.set(key, value);
  return next;
}
