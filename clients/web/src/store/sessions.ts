/** The sessions of the folder. */
import type { Session } from "@snapd/client";
import { signal } from "@preact/signals";
import { getSessions } from "../api/routes";
import { noted } from "./troubles";

/** By id, in the order in which they were started; undefined until loaded. */
export const sessions = signal<ReadonlyMap<string, Session> | undefined>(undefined);

export async function loadSessions(): Promise<void> {
  try {
    const answer = await getSessions();
    sessions.value = new Map(answer.sessions.map((session) => [session.sessionId, session]));
  } catch (error) {
    noted(error);
  }
}

/** Stores the current state of a session. */
export function setSession(session: Session): void {
  sessions.value = new Map(sessions.value).set(session.sessionId, session);
}
