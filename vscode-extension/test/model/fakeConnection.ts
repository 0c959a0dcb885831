// A connection to a daemon that the test plays itself.

import type { ConnectionState, Disposable, Entry, Notifications, Session } from "@snapd/client";
import type { Connection } from "../../src/model/connection";

type Answer = (params: Record<string, unknown>) => unknown;
type Listener = (value: never) => void;

/** Answers from a table, tells what the test says, and counts. */
export class FakeConnection implements Connection {
  state: ConnectionState = "ready";
  readonly asked: { method: string; params: Record<string, unknown> }[] = [];
  readonly answers = new Map<string, Answer>();
  readonly #listeners = new Map<string, Set<Listener>>();

  request: Connection["request"] = async (method, params) => {
    const given = { ...params } as Record<string, unknown>;
    this.asked.push({ method, params: given });
    // an answer never comes within the call that asks for it
    await Promise.resolve();
    const answer = this.answers.get(method);
    if (answer === undefined) throw new Error(`the test has no answer to ${method}`);
    return structuredClone(answer(given)) as never;
  };
  onNotification: Connection["onNotification"] = (method, listener) => this.#listen(method, listener);
  onReset: Connection["onReset"] = (listener) => this.#listen("reset", listener);
  onDidChangeState: Connection["onDidChangeState"] = (listener) => this.#listen("state", listener);

  emit<N extends keyof Notifications>(method: N, params: Notifications[N]): void {
    this.#emit(method, params);
  }

  reset(uri: string): void {
    this.#emit("reset", uri);
  }

  become(state: ConnectionState): void {
    this.state = state;
    this.#emit("state", state);
  }

  count(method: string): number {
    return this.asked.filter((each) => each.method === method).length;
  }

  get listeners(): number {
    return [...this.#listeners.values()].reduce((sum, { size }) => sum + size, 0);
  }

  #listen(what: string, listener: Listener): Disposable {
    const set = this.#listeners.get(what) ?? new Set();
    this.#listeners.set(what, set.add(listener));
    return { dispose: () => set.delete(listener) };
  }

  #emit(what: string, value: unknown): void {
    for (const listener of [...(this.#listeners.get(what) ?? [])]) listener(value as never);
  }
}

/** What the daemon would know of a folder, told in pages. */
export class FakeFolder {
  readonly uri: string;
  readonly sessions: Session[] = [];
  /** Newest first. */
  readonly entries: Entry[] = [];
  problem: Error | undefined;
  /** The workspace around it, and where in that it lies. */
  root: { readonly workspaceUri: string; readonly within: string } | undefined;

  constructor(uri: string) {
    this.uri = uri;
  }
}

/** A connection to a daemon that has some folders open. */
export function connectionOf(...folders: readonly FakeFolder[]): FakeConnection {
  const connection = new FakeConnection();
  const of = (params: Record<string, unknown>): FakeFolder => {
    const folder = folders.find(({ uri }) => uri === params["workspaceUri"]);
    if (folder === undefined) throw new Error("no such folder");
    if (folder.problem !== undefined) throw folder.problem;
    return folder;
  };
  connection.answers.set("snapshot/status", (params) => ({
    enabled: true,
    ...(of(params).root ?? { workspaceUri: of(params).uri }),
  }));
  connection.answers.set("session/list", (params) => ({ sessions: of(params).sessions }));
  connection.answers.set("review/list", () => ({ files: [], pendingFiles: 0, additions: 0, deletions: 0 }));
  connection.answers.set("review/comments", () => ({ comments: [] }));
  connection.answers.set("session/history", (params) => {
    const { entries } = of(params);
    // as the daemon's, a cursor stands for an entry and not for a place from the top
    const rest = params["cursor"] === undefined ? entries.length : Number(params["cursor"]);
    const limit = Number(params["limit"]);
    const page = entries.slice(entries.length - rest).slice(0, limit);
    return rest > limit ? { entries: page, nextCursor: String(rest - limit) } : { entries: page };
  });
  return connection;
}
