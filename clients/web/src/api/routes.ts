/** The routes of the server, with the types of the wire. */
import type {
  ActivityResult,
  BlameResult,
  Comment,
  DiffFullResult,
  DiffResult,
  FileOutcome,
  GitOutcome,
  HistoryResult,
  OnConflict,
  Outcome,
  ReviewCommentsResult,
  ReviewFileResult,
  ReviewListResult,
  RevertOutcome,
  RewindChatResult,
  SessionDiffResult,
  SessionListResult,
  SessionMessagesResult,
  StatusResult,
  StepHunksResult,
  StepsOutcome,
} from "@snapd/client";
import { address, bytes, get, post } from "./http";

/** The answer of `GET /status`. */
export interface Status {
  readonly state: "on" | "off" | "degraded";
  /** Why it is not on. */
  readonly why?: string;
  /** The folder, as an absolute path. */
  readonly root: string;
  /** Whether the server refuses whatever changes something. */
  readonly readOnly: boolean;
  readonly status?: StatusResult;
}

export type Decision = "merge" | "overwrite" | "keep";
export type Decisions = Readonly<Record<string, Decision>>;

/** The parameters of a request that changes files. */
export interface Asking {
  readonly dryRun?: boolean;
  readonly onConflict?: OnConflict;
  /** What to do with single files instead, by their exact names. */
  readonly decisions?: Decisions;
  /** Take back what the steps did to the folder's git, too; for `undo`, `redo` and `revert`. */
  readonly git?: boolean;
  readonly details?: "counts" | "diff";
  /** The plan of a dry run: if something else would be done, nothing is. */
  readonly expect?: string;
}

/** Selects pending changes: exactly one of `files`, `file` with `hunks`, and `all`. */
export interface Pending {
  readonly files?: readonly string[];
  readonly file?: string;
  readonly hunks?: readonly number[];
  readonly all?: boolean;
  /** The ids of what was shown, by the names of the files. */
  readonly expect?: Readonly<Record<string, string>>;
}

/** Which page of a list, and how long it may be. */
export interface Page {
  readonly cursor?: string | undefined;
  readonly limit?: number;
}

const session = (id: string, ...rest: string[]) => ["session", id, ...rest];
const step = (id: string, stepId: string, what: string) => session(id, "steps", stepId, what);

export const logIn = (token: string) => post<object>(address(["login"]), { token });
export const getStatus = () => get<Status>(address(["status"]));
export const getSessions = () => get<SessionListResult>(address(["session"]));

/**
 * A page of what happened, latest first, with a moved file as one.
 *
 * @param of The session; without one, everything in the folder.
 */
export const getHistory = (of: string | undefined, page: Page & { readonly files?: readonly string[] }) =>
  get<HistoryResult>(address(of === undefined ? ["history"] : session(of, "history"), { ...page, renames: true }));

/** What each session did since a time, as RFC 3339 writes it. */
export const getActivity = (since: string) => get<ActivityResult>(address(["activity"], { since }));

export const getMessages = (id: string, page: Page) =>
  get<SessionMessagesResult>(address(session(id, "messages"), { ...page }));

/** The hunks of a file that a step did not move. */
export const getHunks = (id: string, stepId: string, file: string, signal?: AbortSignal) =>
  get<StepHunksResult>(address(step(id, stepId, "hunks"), { file }), signal);

/** What a step changed in a file, as a unified diff, with a moved file as one. */
export const getStepDiff = (id: string, stepId: string, file: string, signal?: AbortSignal) =>
  get<DiffResult>(address(step(id, stepId, "diff"), { files: [file] }), signal);

/** The changes of a turn's steps that are still in effect. */
export const getTurnDiff = (id: string, messageId: string, page: Page) =>
  get<SessionDiffResult>(address(session(id, "diff"), { messageID: messageId, ...page }));

/** The files that differ between two snapshots; without `to`, between one and now. */
export const getDifferences = (from: string, to: string | undefined, page: Page) =>
  get<DiffFullResult>(address(["diff"], { from, to, contents: false, renames: true, ...page }));

/** One file in two snapshots, with its texts. */
export const getDifference = (from: string, to: string | undefined, files: readonly string[], signal?: AbortSignal) =>
  get<DiffFullResult>(address(["diff"], { from, to, file: files, renames: true }), signal);

/** Where the bytes of a file are; without `hash`, those that it has now. */
export const contentAddress = (hash: string | undefined, file: string) => address(["content"], { hash, file });

export const getContent = (hash: string | undefined, file: string, signal?: AbortSignal) =>
  bytes(contentAddress(hash, file), signal);

export const getBlame = (file: string, hash: string | undefined) =>
  get<BlameResult>(address(["blame"], { file, hash }));

export const getReview = (page: Page) => get<ReviewListResult>(address(["review"], { ...page }));
export const getReviewFile = (file: string, signal?: AbortSignal) =>
  get<ReviewFileResult>(address(["review", "file"], { file }), signal);

export const keep = (pending: Pending) => post<ReviewListResult>(address(["review", "keep"]), pending);
export const takeBack = (pending: Pending, asking: Asking) =>
  post<Outcome>(address(["review", "revert"]), { ...pending, ...asking });

export const getComments = (state: Comment["state"], page: Page) =>
  get<ReviewCommentsResult>(address(["review", "comments"], { state, ...page }));

/** Comments on lines of a file, from 1, or replies to a comment. */
export const comment = (
  what: { file: string; start: number; count: number; text: string } | { replyTo: string; text: string },
) => post<Comment>(address(["review", "comments"]), what);
export const resolve = (commentId: string, state: Comment["state"]) =>
  post<Comment>(address(["review", "comments", commentId, "resolve"]), { state });

export const undo = (id: string, what: { stepId?: string; messageId?: string; count?: number }, asking: Asking) =>
  post<StepsOutcome>(address(session(id, "undo")), { ...what, ...asking });
export const redo = (id: string, asking: Asking) =>
  post<StepsOutcome>(address(session(id, "redo")), { whole: true, ...asking });

/** A session that went back to before a message. */
export interface Reverted {
  readonly revert: { readonly files: FileOutcome[]; readonly git?: GitOutcome };
}

/** A place in the history that matches the search. */
export interface Hit {
  readonly kind: "step" | "message";
  readonly sessionId: string;
  readonly stepId?: string;
  readonly messageId?: string;
  readonly agent?: string;
  readonly tool?: string;
  readonly description?: string;
  readonly at: string;
  readonly prompt?: string;
  readonly files?: readonly { readonly file: string; readonly uri?: string }[];
  readonly lines?: readonly MatchedLine[];
  readonly more?: true;
}

export interface MatchedLine {
  readonly file: string;
  readonly uri?: string;
  readonly change: "added" | "deleted";
  readonly line: number;
  readonly text: string;
}

/** One answer of a search; with a cursor, there may be more, even if it has no hits. */
export interface SearchResult {
  readonly hits: readonly Hit[];
  /** How far it has looked back. */
  readonly until?: string;
  readonly nextCursor?: string;
}

export type SearchedPlace = "prompts" | "files" | "texts";

export const search = (q: string, places: readonly SearchedPlace[], cursor: string | undefined, signal: AbortSignal) =>
  get<SearchResult>(address(["search"], { q, in: places.join(","), cursor }), signal);

export const planRevert = (id: string, messageID: string, asking: Asking) =>
  post<RevertOutcome>(address(session(id, "revert")), { messageID, ...asking, dryRun: true });
export const revert = (id: string, messageID: string, asking: Asking) =>
  post<Reverted>(address(session(id, "revert")), { messageID, ...asking });

export const rewindChat = (id: string, messageId: string, dryRun: boolean) =>
  post<RewindChatResult>(address(session(id, "rewind-chat")), { messageId, dryRun });

export const unrevert = (id: string, git: boolean) => post<object>(address(session(id, "unrevert")), { git });

export const revertFiles = (id: string, stepId: string, files: readonly string[], asking: Asking) =>
  post<Outcome>(address(step(id, stepId, "revert-files")), { files, ...asking });
export const revertHunks = (id: string, stepId: string, file: string, hunks: readonly number[], asking: Asking) =>
  post<Outcome>(address(step(id, stepId, "revert-hunks")), { file, hunks, ...asking });
