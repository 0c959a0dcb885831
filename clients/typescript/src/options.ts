import type { Notifications, Requests } from "./protocol.js";

/** The name of a request. */
export type Method = keyof Requests;

/** The name of a notification. */
export type NotificationName = keyof Notifications;

/** What a request takes. */
export type Params<M extends Method> = Requests[M]["params"];

/** What a request gives. */
export type Result<M extends Method> = Requests[M]["result"];

/** Something that can be let go of. */
export interface Disposable {
  dispose(): void;
}

/** A command to start, which speaks on its stdin and stdout: `snapd connect`, say. */
export interface Launch {
  command: string;
  args?: readonly string[];
  /** Its whole environment, else that of this process. */
  env?: NodeJS.ProcessEnv;
  /** Its working directory, else that of this process. */
  cwd?: string;
}

/** Where a daemon listens: a Unix socket or a named pipe. */
export interface Address {
  socketPath: string;
}

/** Where messages for people who look for a cause go. */
export interface Logger {
  debug(message: string): void;
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

/** How long to wait before connecting again, in milliseconds; each attempt that fails doubles it. */
export interface Reconnect {
  firstDelay: number;
  longestDelay: number;
}

/** What `SnapdClient.connect` needs. */
export interface ClientOptions {
  transport: Launch | Address;
  /** How the client calls itself. */
  clientInfo: { name: string; version?: string };
  /** The folders to open, as `file:` URIs. */
  folders: readonly string[];
  /** A folder stands for the one around it that has a history, or is the root of a git working tree. */
  findRoot?: boolean;
  /** The daemon's settings for this client, by the names that they have in JSON, without the token. */
  settings?: Record<string, unknown>;
  /** The token, where the daemon wants one. */
  token?: string;
  /** By default warnings and errors go to stderr. */
  logger?: Logger;
  /** By default 200 ms, doubled up to 10 s; `false` closes the client when its connection is lost. */
  reconnect?: Reconnect | false;
  /** Gives up the first attempt to connect when it is aborted. */
  signal?: AbortSignal;
}

/** How things are with the connection. */
export type ConnectionState = "connecting" | "ready" | "reconnecting" | "closed";

/** How far a request is. */
export interface RequestProgress {
  message?: string;
  /** From 0 to 100. */
  percentage?: number;
}

/** What may go with a request. */
export interface RequestOptions {
  /** Cancels the request when it is aborted. */
  signal?: AbortSignal;
  /** Called with the progress of a request that takes over half a second. */
  onProgress?: (progress: RequestProgress) => void;
}
