/** What each session did today, or in the last days. */
import type { SessionActivity } from "@snapd/client";
import { signal } from "@preact/signals";
import type { Problem } from "../api/problem";
import { getActivity } from "../api/routes";
import { Latest } from "./latest";
import { noted } from "./troubles";

/** Days that are shown; 1 is today since midnight. */
export const days = signal<1 | 7>(1);
/** The session that worked last first; undefined until the first answer. */
export const activity = signal<readonly SessionActivity[] | undefined>(undefined);
export const problem = signal<Problem | undefined>(undefined);

const loading = new Latest();

export async function loadToday(): Promise<void> {
  const isCurrent = loading.begin();
  try {
    const { sessions } = await getActivity(beginOf(days.value, new Date()).toISOString());
    if (!isCurrent()) return;
    activity.value = sessions;
    problem.value = undefined;
  } catch (error) {
    if (isCurrent()) problem.value = noted(error);
  }
}

/** The midnight, in local time, at which so many days before now began. */
function beginOf(count: number, now: Date): Date {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() - count + 1);
}
