import { setTimeout as delay } from "node:timers/promises";

/** Whether something happens within so many milliseconds; waits no longer than that. */
export async function within(milliseconds: number, event: Promise<unknown>): Promise<boolean> {
  const timer = new AbortController();
  const late = delay(milliseconds, false, { signal: timer.signal }).catch(() => false);
  try {
    return await Promise.race([event.then(() => true), late]);
  } finally {
    timer.abort();
  }
}
