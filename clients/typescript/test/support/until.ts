import { setTimeout as delay } from "node:timers/promises";
import type { ConnectionState, SnapdClient } from "../../src/index.js";

const LONGEST_MS = 60_000;
const POLL_MS = 10;

/** Waits until something holds. */
export async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = performance.now() + LONGEST_MS;
  while (!(await holds())) {
    if (performance.now() > deadline) {
      throw new Error(`waited in vain until ${what}`);
    }
    await delay(POLL_MS);
  }
}

/** Resolves when the client is in a state, as it is now or at any time after. */
export function reached(client: SnapdClient, wanted: ConnectionState): Promise<void> {
  return new Promise((resolve) => {
    const watch = client.onDidChangeState((state) => {
      if (state === wanted) {
        watch.dispose();
        resolve();
      }
    });
    if (client.state === wanted) {
      watch.dispose();
      resolve();
    }
  });
}
