/** The keyboard shortcuts that apply now. Each visible part of the page registers its own. */
import { signal } from "@preact/signals";
import type { Action } from "../model/keys";

type Handlers = Partial<Record<Action, () => void>>;

const layers: Handlers[] = [];

/**
 * Adds key handlers that take precedence over earlier ones.
 *
 * @returns A function that removes them.
 */
export function offer(handlers: Handlers): () => void {
  layers.push(handlers);
  return () => {
    layers.splice(layers.indexOf(handlers), 1);
  };
}

/** Does what an action means here. Returns whether it means anything. */
export function perform(action: Action): boolean {
  const handler = layers.findLast((handlers) => handlers[action] !== undefined)?.[action];
  handler?.();
  return handler !== undefined;
}

/** A change that the keyboard is at. */
export interface CurrentHunk {
  readonly source: string;
  readonly file: string;
  readonly hunk: number;
}

export const currentHunk = signal<CurrentHunk | undefined>(undefined);

/** The next announcement for screen readers. */
export const announcement = signal("");
