// The comments on files of one folder, kept up to date, and how they read.

import { isDeepStrictEqual } from "node:util";
import { agentTitle, type Comment, type Disposable } from "@snapd/client";
import { requestName } from "./changes";
import { Coalesced } from "./coalesced";
import type { Connection } from "./connection";
import type { FolderModel } from "./folder";
import type { Knowing } from "./makers";
import { pages } from "./paging";
import { type Listen, Signal } from "./signal";
import { visibleText } from "./wording";

const PAGE = 200;
const PAUSE = 250;

/** What is needed of the folder. */
type Commented = Pick<FolderModel, "request" | "within">;

/** The open comments of a folder, and the resolved ones on the followed files. */
export class CommentsModel implements Disposable {
  readonly #folder: Commented;
  readonly #connection: Pick<Connection, "state">;
  readonly #signal = new Signal();
  readonly #reading = new Coalesced(() => this.#read(), PAUSE);
  #names: ReadonlySet<string> = new Set();
  #all: readonly Comment[] = [];
  #problem: Error | undefined;
  #disposed = false;

  constructor(folder: Commented, connection: Pick<Connection, "state">) {
    this.#folder = folder;
    this.#connection = connection;
  }

  /** The comments, oldest first. They stay while the connection is lost. */
  get all(): readonly Comment[] {
    return this.#all;
  }

  /** Why they could not be read. */
  get problem(): Error | undefined {
    return this.#problem;
  }

  /** Calls the listener after changes. */
  readonly onDidChange: Listen = this.#signal.listen;

  /** How many comments on a file are open. */
  openOn(name: string): number {
    return this.#all.filter((comment) => comment.state === "open" && requestName(comment) === name).length;
  }

  /** Sets on which files resolved comments are read, too. */
  follow(names: ReadonlySet<string>): void {
    if (isDeepStrictEqual(names, this.#names)) return;
    this.#names = names;
    void this.refresh();
  }

  /** Reads the comments; resolves when done, or when it failed (see `problem`). */
  refresh(): Promise<void> {
    return this.#reading.ask();
  }

  /** Reads no more. */
  dispose(): void {
    this.#disposed = true;
    this.#reading.dispose();
  }

  async #read(): Promise<void> {
    if (this.#disposed || this.#connection.state !== "ready") return;
    const [before, problem] = [this.#all, this.#problem];
    try {
      const resolved = [...this.#names].map((file) => this.#list({ file, state: "resolved" }));
      const lists = await Promise.all([this.#list({ state: "open" }), ...resolved]);
      // one that is resolved between two requests is in two lists, or one that is reopened
      const byId = new Map(lists.flat().map((comment) => [comment.commentId, comment]));
      this.#all = [...byId.values()].sort((one, other) => one.at.localeCompare(other.at));
      this.#problem = undefined;
    } catch (error) {
      if (!this.#isReady()) return;
      this.#problem = error instanceof Error ? error : new Error(String(error));
    }
    const isSame = isDeepStrictEqual(before, this.#all) && isDeepStrictEqual(problem, this.#problem);
    if (!this.#isDisposed() && !isSame) this.#signal.emit();
  }

  // both may change while something is awaited, which the compiler does not know
  #isReady(): boolean {
    return this.#connection.state === "ready";
  }

  #isDisposed(): boolean {
    return this.#disposed;
  }

  async #list(filter: { file?: string; state: "open" | "resolved" }): Promise<readonly Comment[]> {
    const { within } = this.#folder;
    const found: Comment[] = [];
    const ask = (cursor: { cursor?: string }) =>
      this.#folder.request("review/comments", { ...filter, limit: PAGE, ...cursor });
    for await (const { comments } of pages(ask)) found.push(...comments);
    return within === undefined ? found : found.filter(({ file }) => file.startsWith(`${within}/`));
  }
}

/** A comment or a reply, as an editor shows it: all of it is plain text. */
export interface Remark {
  readonly author: string;
  readonly at: string;
  readonly text: string;
}

/** A comment and its replies, oldest first. The text of an outdated one ends with the lines that it was about. */
export function remarksOf(folder: Pick<Knowing, "session">, comment: Comment): readonly Remark[] {
  const { at, text, author, lines, outdated, replies } = comment;
  const quoted = lines.replace(/\r?\n$/, "").split(/\r?\n/);
  const about =
    outdated === true && lines !== "" ? `\n\nThe lines were:\n${quoted.map((l) => `  ${l}`).join("\n")}` : "";
  return [
    { author: author === "user" ? "You" : "An agent", at, text: visibleText(text + about) },
    ...replies.map((reply) => ({
      author: reply.author === "user" ? "You" : agentName(folder, reply.sessionId),
      at: reply.at,
      text: visibleText(reply.text),
    })),
  ];
}

/** The heading of a comment: "For Claude Code, not told yet". */
export function headingOf(folder: Pick<Knowing, "session">, comment: Comment): string {
  const { sessionId, deliveredAt, outdated, state } = comment;
  const agent = sessionId === undefined ? "For no agent" : `For ${agentName(folder, sessionId)}`;
  const delivery = sessionId === undefined ? [] : [deliveredAt === undefined ? "not told yet" : "told"];
  const marks = [...(outdated === true ? ["outdated"] : []), ...(state === "resolved" ? ["resolved"] : delivery)];
  return [agent, ...marks].join(", ");
}

function agentName(folder: Pick<Knowing, "session">, sessionId: string | undefined): string {
  const session = sessionId === undefined ? undefined : folder.session(sessionId);
  if (session === undefined) return "an agent";
  return visibleText(session.agent === undefined ? session.name : agentTitle(session.agent));
}
