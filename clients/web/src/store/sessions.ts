/** The sessions of the folder. */
import type { Session } from "@snapd/client";
import { signal } from "@preact/signals";
import { getSessions } from "../api/routes";
import { noted } from "./troubles";

/** By their ids, in the order in which they were started; undefined until they are known. */
export const sessions = signal<ReadonlyMap<string, Session> | undefined>(undefined);

export async function loadSessions(): Promise<void> {
  try {
    const answer = await getSessions();
    sessions.value = new Map(answer.sessions.map((session) => [session.sessionId, session]));
  } catch (error) {
    noted(error);
  }
}

/** Notes a session as it is now. */
export function setSession(session: Session): void {
  sessions.value = new Map(sessions.value).set(session.sessionId, session);
}
