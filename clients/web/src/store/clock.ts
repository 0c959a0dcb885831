/** The current time, for ages such as "2 min ago". */
import { signal } from "@preact/signals";

const EVERY = 20_000;

/** Milliseconds since 1970. */
export const now = signal(Date.now());

setInterval(() => {
  now.value = Date.now();
}, EVERY);
