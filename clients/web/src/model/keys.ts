/** What the keys mean. */

export type Action =
  | "next"
  | "previous"
  | "nextHunk"
  | "previousHunk"
  | "nextFile"
  | "previousFile"
  | "undo"
  | "redo"
  | "keep"
  | "viewed"
  | "comment"
  | "layout"
  | "today"
  | "all"
  | "review"
  | "search"
  | "help"
  | "leave";

export interface Binding {
  /** As they are typed: one key, or two after each other. */
  readonly keys: readonly string[];
  readonly action: Action;
  readonly does: string;
  /** Whether it is about changing something. */
  readonly changes: boolean;
}

const binding = (keys: string, action: Action, does: string, changes = false): Binding => ({
  keys: keys.split(" "),
  action,
  does,
  changes,
});

export const BINDINGS: readonly Binding[] = [
  binding("j", "next", "Next step or file in the list"),
  binding("k", "previous", "Previous step or file in the list"),
  binding("] c", "nextHunk", "Next change"),
  binding("[ c", "previousHunk", "Previous change"),
  binding("] f", "nextFile", "Next file of the step"),
  binding("[ f", "previousFile", "Previous file of the step"),
  binding("u", "undo", "Undo the step, or the pending change; its plan is shown first", true),
  binding("r", "redo", "Redo; its plan is shown first", true),
  binding("a", "keep", "Keep the pending change", true),
  binding("x", "viewed", "Mark the pending file as viewed, and go to the next one"),
  binding("c", "comment", "Comment on the pending change, for the agent that wrote it", true),
  binding("v", "layout", "Unified or split"),
  binding("g t", "today", "Today"),
  binding("g a", "all", "All activity"),
  binding("g p", "review", "Pending changes"),
  binding("/", "search", "Search"),
  binding("?", "help", "These keys"),
  binding("Esc", "leave", "Close, or back to the list"),
];

/** Milliseconds in which the second key of two has to follow. */
const PATIENCE = 1500;

/** Reads keys one after the other. */
export class Keys {
  #first: string | undefined;
  #until = 0;

  /**
   * Takes a key.
   *
   * @param key As the browser names it.
   * @param time Milliseconds, of any clock that does not go back.
   * @returns What it means: an action, `more` where another key has to follow, or nothing.
   */
  press(key: string, time: number): Action | "more" | undefined {
    const name = key === "Escape" ? "Esc" : key;
    const first = time <= this.#until ? this.#first : undefined;
    this.#first = undefined;
    if (first !== undefined) {
      const found = BINDINGS.find(({ keys }) => keys.length === 2 && keys[0] === first && keys[1] === name);
      if (found !== undefined) return found.action;
    }
    const found = BINDINGS.find(({ keys }) => keys.length === 1 && keys[0] === name);
    if (found !== undefined) return found.action;
    if (!BINDINGS.some(({ keys }) => keys.length === 2 && keys[0] === name)) return undefined;
    this.#first = name;
    this.#until = time + PATIENCE;
    return "more";
  }
}
