/** The pending files that the person viewed, in this browser. A file that changes afterwards counts as not viewed. */
import type { PendingFile } from "@snapd/client";
import { effect, signal } from "@preact/signals";
import { exactName } from "../model/names";
import { pending } from "./review";
import { status } from "./status";
import { tellProblem } from "./troubles";

type Viewed = ReadonlyMap<string, string>;

/** The ids of the pending changes that were viewed, by the exact names of the files. */
const viewed = signal<Viewed>(new Map());

export function isViewed(file: PendingFile): boolean {
  return viewed.value.get(exactName(file)) === file.id;
}

export function setViewed(file: PendingFile, is: boolean): void {
  const next = new Map(viewed.value);
  if (is) next.set(exactName(file), file.id);
  else next.delete(exactName(file));
  // files that are no longer pending need no mark
  const names = new Set(pending.value?.map(exactName));
  for (const name of next.keys()) if (!names.has(name)) next.delete(name);
  viewed.value = next;
  try {
    localStorage.setItem(key(), JSON.stringify([...next]));
  } catch (error) {
    // the browser has no room left; the page remembers until it is closed
    tellProblem(error);
  }
}

/** One server may serve another folder at the same address later. */
function key(): string {
  return `snapd.viewed ${status.value?.root ?? ""}`;
}

function read(text: string | null): Viewed {
  try {
    const list: unknown = JSON.parse(text ?? "[]");
    return new Map(Array.isArray(list) ? (list as [string, string][]) : []);
  } catch {
    // written by something else
    return new Map();
  }
}

/** Follows what other windows of this browser note. */
export function followViewed(): void {
  effect(() => {
    if (status.value !== undefined) viewed.value = read(localStorage.getItem(key()));
  });
  addEventListener("storage", (event) => {
    if (event.key === key()) viewed.value = read(event.newValue);
  });
}
