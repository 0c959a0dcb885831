/** What the keyboard is at, and what it can do there. Each part of the page that is shown says so itself. */
import { signal } from "@preact/signals";
import type { Action } from "../model/keys";

type Deeds = Partial<Record<Action, () => void>>;

const layers: Deeds[] = [];

/**
 * Says what keys do from now on, before what was said earlier.
 *
 * @returns Takes it back.
 */
export function offer(deeds: Deeds): () => void {
  layers.push(deeds);
  return () => {
    layers.splice(layers.indexOf(deeds), 1);
  };
}

/** Does what an action means here. Returns whether it means anything. */
export function perform(action: Action): boolean {
  const deed = layers.findLast((deeds) => deeds[action] !== undefined)?.[action];
  deed?.();
  return deed !== undefined;
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
