// Registers the views.

import { type ExtensionContext, window } from "vscode";
import type { WorkspaceModel } from "../model/workspace";
import { Decorations } from "./decorations";
import { FileTimelineView } from "./fileTimeline";
import { SessionFilter } from "./filter";
import { registerFilterCommands } from "./filterCommands";
import { PendingView } from "./pending";
import { StepsView } from "./steps";

/** Registers the views "Pending", "Steps" and "File Timeline", and the commands that filter the steps. */
export function registerViews(context: ExtensionContext, model: WorkspaceModel): void {
  const filter = new SessionFilter(context.workspaceState);
  context.subscriptions.push(
    window.registerFileDecorationProvider(new Decorations()),
    new PendingView(model),
    new StepsView(model, filter),
    new FileTimelineView(model),
    ...registerFilterCommands(model, filter),
  );
}
