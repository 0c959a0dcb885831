/** What the keyboard is at, and what it can do there. Each part of the page that is shown says so itself. */
import { signal } from "@preact/signals";
import type { Action } from "../model/keys";

type Handlers = Partial<Record<Action, () => void>>;

const layers: Handlers[] = [];

/**
 * Says what keys do from now on, before what was said earlier.
 *
 * @returns Takes it back.
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

/** What a screen reader says next. */
export const said = signal("");
