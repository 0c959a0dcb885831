// Registers what shows pending changes in editors.

import { type ExtensionContext, Selection, TextEditorRevealType, commands, languages, window } from "vscode";
import { SCHEME } from "../documents/uris";
import type { WorkspaceModel } from "../model/workspace";
import { PendingMarks } from "./decorations";
import { BaselineGutter } from "./gutter";
import { pendingIn } from "./inEditors";
import { LensSignal } from "./lensSignal";
import { HunkLenses } from "./lenses";
import { hunkBeside } from "./placing";
import { StepHunkLenses } from "./stepLenses";

/** Registers the marks, the lenses, the gutter, and the commands that go from hunk to hunk. */
export function registerReview(context: ExtensionContext, model: WorkspaceModel): void {
  const signal = new LensSignal(model);
  context.subscriptions.push(
    new PendingMarks(model),
    new BaselineGutter(model),
    signal,
    languages.registerCodeLensProvider({ scheme: "file" }, new HunkLenses(model, signal)),
    languages.registerCodeLensProvider({ scheme: SCHEME }, new StepHunkLenses(model, signal)),
    commands.registerCommand("snapd.nextPending", () => {
      goTo(model, "next");
    }),
    commands.registerCommand("snapd.previousPending", () => {
      goTo(model, "previous");
    }),
  );
}

function goTo(model: WorkspaceModel, direction: "next" | "previous"): void {
  const editor = window.activeTextEditor;
  const pending = editor === undefined ? undefined : pendingIn(model, editor.document);
  if (editor === undefined || pending === undefined) {
    void window.showInformationMessage("Nothing is pending in the active editor.");
    return;
  }
  const hunk = hunkBeside(pending.hunks, editor.selection.active.line, direction);
  if (hunk === undefined) return;
  const { range } = editor.document.lineAt(hunk.first);
  editor.selection = new Selection(range.start, range.start);
  editor.revealRange(range, TextEditorRevealType.InCenterIfOutsideViewport);
}
