/** The syntax colours of files, computed when the files become visible. */
import { signal } from "@preact/signals";
import type { Texts } from "../model/diff";
import type { Token } from "../model/segments";
import type { Changes } from "./diffs";

export interface Coloured {
  readonly before: readonly (readonly Token[])[];
  readonly after: readonly (readonly Token[])[];
}

/** Characters of both texts together; more are shown in one colour. */
const MOST = 1_500_000;

const known = new WeakMap<Texts, Coloured | "working" | "none">();
const version = signal(0);

/** The colours of a file, or undefined until they are computed; a call starts that. */
export function coloursOf(file: string, changes: Changes): Coloured | undefined {
  const { texts } = changes;
  // callers run again when colours arrive
  if (texts === undefined || version.value < 0) return undefined;
  const found = known.get(texts);
  if (found === undefined) void work(file, texts);
  return typeof found === "object" ? found : undefined;
}

async function work(file: string, texts: Texts): Promise<void> {
  known.set(texts, "working");
  const [before, after] = [texts.before.join("\n"), texts.after.join("\n")];
  if (before.length + after.length > MOST) return;
  const { languageOf, tokensOf } = await import("../syntax/syntax");
  const parser = await languageOf(file);
  if (parser === undefined) {
    known.set(texts, "none");
    return;
  }
  known.set(texts, { before: await tokensOf(parser, before), after: await tokensOf(parser, after) });
  version.value += 1;
}
