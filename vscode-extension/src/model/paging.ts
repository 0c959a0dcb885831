// Answers that come page by page.

/** A page of an answer. */
interface Page {
  /** Where the next page begins; undefined on the last one. */
  readonly nextCursor?: string | undefined;
}

/**
 * Requests one page after the other, while the consumer wants more.
 *
 * @param ask - asks for a page; the cursor goes with the other params.
 */
export async function* pages<P extends Page>(ask: (cursor: { cursor?: string }) => Promise<P>): AsyncGenerator<P> {
  let cursor: string | undefined;
  do {
    const page = await ask(cursor === undefined ? {} : { cursor });
    yield page;
    cursor = page.nextCursor;
  } while (cursor !== undefined);
}
