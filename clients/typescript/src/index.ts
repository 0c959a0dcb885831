export * from "./protocol.js";
export * from "./words.js";
export { SnapdClient } from "./client.js";
export type { Documents } from "./documents.js";
export { ConnectError, ConnectionLostError, SnapdError } from "./errors.js";
export type {
  Address,
  ClientOptions,
  ConnectionState,
  Disposable,
  Launch,
  Logger,
  Method,
  NotificationName,
  Params,
  Reconnect,
  RequestOptions,
  RequestProgress,
  Result,
} from "./options.js";
