/** News from the server, as server-sent events. */
import type { Notifications } from "@snapd/client";

/** A notification of the daemon. */
export type News = {
  [N in keyof Notifications]: { readonly method: N; readonly params: Notifications[N] };
}[keyof Notifications];

export interface Listener {
  received(news: News): void;
  /** The connection stands; `again` if it was broken, or if news may be missing: then all is to be looked up again. */
  opened(again: boolean): void;
  /** The server lost the daemon; it tries again. */
  daemonLost(): void;
  /** The connection broke; it is tried again. */
  broke(): void;
}

const METHODS = [
  "snapshot/didTrack",
  "snapshot/didChange",
  "snapshot/didRevert",
  "session/didChange",
  "review/didChange",
] as const satisfies readonly (keyof Notifications)[];

/** Milliseconds between two tries, where the browser itself has given up. */
const PAUSE = 2000;
/** Milliseconds without a tick after which the machine is assumed to have slept. */
const SLEEP = 30_000;

/**
 * Listens until the page is closed. After a break, asks the server for the missed events.
 *
 * A browser does not notice that the machine slept while a connection died; the clock does.
 */
export function listen(address: string, listener: Listener): void {
  let source: EventSource | undefined;
  let wasOpen = false;
  const connect = () => {
    source?.close();
    const opened = new EventSource(address);
    source = opened;
    opened.onopen = () => {
      listener.opened(wasOpen);
      wasOpen = true;
    };
    opened.onerror = () => {
      listener.broke();
      // the browser reconnects by itself unless the server refused
      if (opened.readyState === EventSource.CLOSED) {
        setTimeout(() => {
          if (source === opened) connect();
        }, PAUSE);
      }
    };
    for (const method of METHODS) {
      opened.addEventListener(method, (event: MessageEvent<string>) => {
        const params: unknown = JSON.parse(event.data);
        listener.received({ method, params } as News);
      });
    }
    // the server lost the daemon for a while, or no longer knows which events it sent
    opened.addEventListener("reset", () => {
      listener.opened(true);
    });
    opened.addEventListener("reconnected", () => {
      listener.opened(true);
    });
    opened.addEventListener("disconnected", () => {
      listener.daemonLost();
    });
  };
  connect();
  let last = Date.now();
  setInterval(() => {
    const now = Date.now();
    if (now - last > SLEEP) connect();
    last = now;
  }, 5000);
}
