/** What lies over the page. */
import { signal } from "@preact/signals";

export const isHelpOpen = signal(false);
