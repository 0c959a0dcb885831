/** The server's answer to a request that failed: `application/problem+json`. */
export class Problem extends Error {
  override readonly name = "Problem";

  constructor(
    /** The status of HTTP; 0 where no answer came at all. */
    readonly status: number,
    /** The stable name of the error, as in snapd's protocol. */
    readonly kind: string,
    message: string,
    /** What to do next, in one sentence. */
    readonly hint: string | undefined,
    readonly data: Readonly<Record<string, unknown>>,
  ) {
    super(message);
  }

  /** Whether the token is missing, wrong, or one of a server that has ended. */
  get isUnauthorized(): boolean {
    return this.status === 401;
  }

  static unreachable(): Problem {
    return new Problem(
      0,
      "unreachable",
      "snapd web does not answer.",
      "Start it again with `snapd web` in your folder; the page reconnects by itself if the address stays the same.",
      {},
    );
  }

  static movedLines(): Problem {
    const hint = "Look at the lines again: what you typed stays.";
    return new Problem(0, "fileChanged", "These lines changed since you chose them.", hint, {});
  }

  /**
   * Reads an answer that is not a success.
   *
   * @param status The status of HTTP.
   * @param body What the body holds, parsed as JSON, or undefined if it is none.
   */
  static from(status: number, body: unknown): Problem {
    const data = isRecord(body) ? body : {};
    const text = (name: string) => (typeof data[name] === "string" ? data[name] : undefined);
    const message = text("detail") ?? text("title") ?? `The server answered ${status}.`;
    return new Problem(status, text("kind") ?? "unknown", message, text("hint"), data);
  }
}

/** Any thrown value as a problem that can be shown. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new Problem(0, "defect", message, "Reload the page. If it happens again, report it.", {});
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
