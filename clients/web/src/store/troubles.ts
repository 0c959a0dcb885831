/** Problems with the connection to the server, and recent errors. */
import { signal } from "@preact/signals";
import { type Problem, problemOf } from "../api/problem";

/** Whether the server knows this browser: not before it was given a token, and not after it ended. */
export const isLockedOut = signal(false);

/** Whether news arrive: not while the server is away or the machine sleeps. */
export const isConnected = signal(true);

export interface Note {
  readonly id: number;
  readonly text: string;
  readonly hint?: string | undefined;
  readonly isProblem: boolean;
  /** What can be done about it at once. */
  readonly action?: { readonly label: string; readonly act: () => void };
}

/** Recent results and errors, latest last, until dismissed. */
export const notes = signal<readonly Note[]>([]);

const MOST = 4;
let lastId = 0;

/** Adds a note about a result. */
export function addNote(text: string, rest: Partial<Omit<Note, "id" | "text">> = {}): void {
  lastId += 1;
  notes.value = [...notes.value.slice(1 - MOST), { id: lastId, text, isProblem: false, ...rest }];
}

export function putAway(id: number): void {
  notes.value = notes.value.filter((note) => note.id !== id);
}

/** Adds a note about an error, unless the whole page already shows it. */
export function tellProblem(error: unknown): void {
  const problem = noted(error);
  if (!problem.isUnauthorized) addNote(problem.message, { hint: problem.hint, isProblem: true });
}

/** The problem; a rejected token replaces the whole page. */
export function noted(error: unknown): Problem {
  const problem = problemOf(error);
  if (problem.isUnauthorized) isLockedOut.value = true;
  return problem;
}
