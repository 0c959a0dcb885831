/** The time, for what is told as an age. */
import { signal } from "@preact/signals";

const EVERY = 20_000;

/** Milliseconds since 1970. */
export const now = signal(Date.now());

setInterval(() => {
  now.value = Date.now();
}, EVERY);
