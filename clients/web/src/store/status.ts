/** How snapd is: on, off, or not quite right. */
import { computed, signal } from "@preact/signals";
import { getStatus, type Status } from "../api/routes";
import { noted } from "./troubles";

export const status = signal<Status | undefined>(undefined);

/** Whether nothing may be changed; true until the server reports otherwise. */
export const isReadOnly = computed(() => status.value?.readOnly ?? true);

export async function loadStatus(): Promise<void> {
  try {
    status.value = await getStatus();
  } catch (error) {
    noted(error);
  }
}
