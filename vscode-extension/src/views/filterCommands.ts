// The commands that change what the view shows.

import { type Disposable, type QuickPickItem, commands, window } from "vscode";
import { lastActivity } from "../model/history";
import { ago, counted } from "../model/wording";
import type { WorkspaceModel } from "../model/workspace";
import type { SessionFilter } from "./filter";
import type { SessionItem } from "./items";

interface SessionPick extends QuickPickItem {
  readonly sessionId: string | undefined;
}

/**
 * Registers `snapd.filterSession`, `snapd.showSession` and `snapd.clearFilter`.
 *
 * VS Code hands the item that has the focus to the buttons of a view's title too, though nobody pressed it there: the one
 * that asks for a session is another command than the one on the row of a session.
 */
export function registerFilterCommands(model: WorkspaceModel, filter: SessionFilter): readonly Disposable[] {
  return [
    commands.registerCommand("snapd.showSession", (item: SessionItem) => filter.choose(item.session.sessionId)),
    commands.registerCommand("snapd.filterSession", async () => {
      const pick = await window.showQuickPick(picks(model), {
        placeHolder: "Show the steps of one session",
        matchOnDescription: true,
      });
      if (pick !== undefined) await filter.choose(pick.sessionId);
    }),
    commands.registerCommand("snapd.clearFilter", () => filter.choose(undefined)),
  ];
}

function picks(model: WorkspaceModel): readonly SessionPick[] {
  const now = Date.now();
  const several = model.folders.length > 1;
  return [
    { label: "All sessions", sessionId: undefined },
    ...model.folders.flatMap((folder) =>
      folder.sessions.map((session) => ({
        label: session.name,
        description: [
          several ? folder.name : undefined,
          counted(session.stepCount, "step"),
          ago(lastActivity(session, folder.entries), now),
        ]
          .filter((part) => part !== undefined)
          .join(" · "),
        sessionId: session.sessionId,
      })),
    ),
  ];
}
