// Why an action was not done, for people.

import { ConnectionLostError, SnapdError } from "@snapd/client";

/** An action was refused for a reason that the user can fix; the message gives the reason. */
export class Refused extends Error {
  override readonly name = "Refused";
}

/**
 * Why something was not done, in sentences.
 *
 * @param aim - the action in words: "undo step 3".
 */
export function explained(aim: string, error: unknown): string {
  if (error instanceof Refused) return `Snapd did not ${aim}. ${error.message}`;
  if (error instanceof ConnectionLostError) {
    return `The connection to snapd was lost. Agent Steps will show whether it could ${aim}, once it is back.`;
  }
  if (error instanceof SnapdError) {
    switch (error.kind) {
      case "nothingToUndo":
        return `Snapd did not ${aim}. There is nothing left to undo.`;
      case "nothingToRedo":
        return `Snapd did not ${aim}. The session has nothing to redo, or has changed something since.`;
      case "fileChanged":
        return `Snapd did not ${aim}: ${error.message}. Look at the changes as they are now, then decide again.`;
      default:
        return `Snapd could not ${aim}: ${error.message}${hintOf(error)}`;
    }
  }
  return `Snapd could not ${aim}: ${error instanceof Error ? error.message : String(error)}`;
}

/** The daemon's hint, in parentheses; empty if there is none. */
function hintOf({ data }: SnapdError): string {
  const { hint } = (data ?? {}) as { hint?: unknown };
  return typeof hint === "string" ? ` (${hint})` : "";
}
