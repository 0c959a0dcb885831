import { IDEMPOTENT, RPC_ERROR_CODES, type ErrorKind } from "./protocol.js";

/** The daemon answered a request with an error, or the caller cancelled the request. */
export class SnapdError extends Error {
  override readonly name = "SnapdError";
  /** The code of JSON-RPC: one of `ERROR_CODES` or `RPC_ERROR_CODES`. */
  readonly code: number;
  /** What it is, for programs. A newer daemon may have kinds that are none of `ErrorKind`. */
  readonly kind?: ErrorKind | (string & {});
  /** All that the daemon says about it. */
  readonly data: unknown;

  constructor(message: string, code: number, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
    const kind = kindIn(data);
    if (kind !== undefined) {
      this.kind = kind;
    }
  }

  /** The error of a request that was cancelled before it was sent. */
  static cancelled(): SnapdError {
    return new SnapdError("the request was cancelled", RPC_ERROR_CODES.requestCancelled);
  }
}

/** No connection could be made. The message says why, with what a launched command wrote to its stderr. */
export class ConnectError extends Error {
  override readonly name = "ConnectError";
}

/**
 * The connection ended before the answer came, or was closed before.
 *
 * Whether the daemon did what was asked is not known, so that nothing is sent again by itself.
 */
export class ConnectionLostError extends Error {
  override readonly name = "ConnectionLostError";
  /** Whether the request may be sent again all the same: it does no more than once, and answers the same. */
  readonly repeatable: boolean;

  constructor(message: string, options: ErrorOptions & { repeatable?: boolean } = {}) {
    super(message, options);
    this.repeatable = options.repeatable ?? false;
  }

  /** The error of a request whose connection ended. */
  static during(method: string, params: object | undefined, cause?: unknown): ConnectionLostError {
    const idempotent = (IDEMPOTENT as Readonly<Record<string, boolean | string>>)[method] ?? false;
    const given = params as Record<string, unknown> | undefined;
    const repeatable =
      given?.["dryRun"] === true || (typeof idempotent === "boolean" ? idempotent : given?.[idempotent] !== undefined);
    return new ConnectionLostError(`${method}: the connection was lost`, {
      repeatable,
      ...(cause !== undefined && { cause }),
    });
  }
}

function kindIn(data: unknown): string | undefined {
  if (typeof data !== "object" || data === null || !("kind" in data)) {
    return undefined;
  }
  return typeof data.kind === "string" ? data.kind : undefined;
}
