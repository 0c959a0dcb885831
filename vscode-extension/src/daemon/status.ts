// What the status bar says.

import type { FolderModel } from "../model/folder";
import { counted } from "../model/wording";
import type { DaemonState } from "./daemon";

/** What of a folder the status bar looks at. */
export type StatusFolder = Pick<FolderModel, "name" | "sessions" | "entries" | "problem" | "enabled">;

/** What the status bar shows. */
export interface Status {
  readonly text: string;
  readonly tooltip: string;
  /** Whether a click leads to the log rather than to the view. */
  readonly isWrong: boolean;
}

/** Why no folder can be worked with, in a sentence. */
export function absenceOf(state: DaemonState): string {
  switch (state) {
    case "starting":
      return "Snapd is starting; try again in a moment.";
    case "reconnecting":
      return "Reconnecting to snapd; try again in a moment.";
    case "untrusted":
      return "Snapd starts nothing until you trust this workspace.";
    case "disabled":
      return "Snapd is turned off in the settings.";
    case "failed":
      return "Snapd is not connected. The log says why.";
    case "stopped":
    case "ready":
      return "No folder is open.";
  }
}

/** What the status bar shows in a state; undefined where it shows nothing. */
export function statusOf(
  state: DaemonState,
  problem: Error | undefined,
  folders: readonly StatusFolder[],
): Status | undefined {
  switch (state) {
    case "starting":
      return { text: "$(loading~spin) Snapd", tooltip: "Snapd is starting", isWrong: false };
    case "reconnecting":
      return { text: "$(loading~spin) Snapd", tooltip: "Reconnecting to snapd", isWrong: true };
    case "untrusted":
      return {
        text: "$(shield) Snapd",
        tooltip: "Snapd starts nothing until you trust this workspace",
        isWrong: false,
      };
    case "disabled":
      return { text: "$(circle-slash) Snapd: off", tooltip: "Snapd is turned off in the settings", isWrong: false };
    case "failed":
      return {
        text: "$(error) Snapd: failed",
        tooltip: `Snapd is not connected: ${problem?.message ?? "the log says why"}`,
        isWrong: true,
      };
    case "stopped":
      return undefined;
    case "ready":
      return ready(folders);
  }
}

function ready(folders: readonly StatusFolder[]): Status {
  const refused = folders.filter((folder) => folder.problem !== undefined);
  if (refused.length > 0) {
    return {
      text: "$(warning) Snapd",
      tooltip: refused.map(({ name, problem }) => `${name}: ${problem?.message ?? ""}`).join("\n"),
      isWrong: true,
    };
  }
  if (folders.length > 0 && folders.every((folder) => !folder.enabled)) {
    return { text: "$(circle-slash) Snapd: snapshots off", tooltip: "Snapshots are off", isWrong: false };
  }
  const session = newest(folders)?.sessions[0];
  if (session === undefined)
    return { text: "$(history) Snapd", tooltip: "No agent has worked here yet", isWrong: false };
  const steps = counted(session.stepCount, "step");
  return { text: `$(history) ${steps}`, tooltip: `Snapd: ${steps} in “${session.name}”`, isWrong: false };
}

/** The folder where something happened last. */
function newest(folders: readonly StatusFolder[]): StatusFolder | undefined {
  const active = folders.filter((folder) => folder.sessions.length > 0);
  const latest = (folder: StatusFolder): string => folder.entries[0]?.at ?? "";
  return active.reduce<StatusFolder | undefined>(
    (found, folder) => (found === undefined || latest(folder) > latest(found) ? folder : found),
    undefined,
  );
}
