// "Undo | Keep" above each hunk in the picture of a step.

import type { StepHunksResult, Step } from "@snapd/client";
import { CodeLens, type CodeLensProvider, Range, type TextDocument } from "vscode";
import { type Place, nameNow, placeOf } from "../documents/uris";
import { changeNamed, maybeMoved, requestName } from "../model/changes";
import { linesOf } from "../model/documentLines";
import type { FolderModel } from "../model/folder";
import { firstChangedLine, isShownBy, pendingPart } from "../model/hunks";
import type { WorkspaceModel } from "../model/workspace";
import type { LensSignal } from "./lensSignal";

/** Offers what can be done with each hunk of a step in its diff. */
export class StepHunkLenses implements CodeLensProvider {
  readonly #model: WorkspaceModel;
  readonly #signal: LensSignal;
  /** A step that changed is another object. */
  readonly #hunks = new WeakMap<Step, Map<string, Promise<StepHunksResult>>>();

  constructor(model: WorkspaceModel, signal: LensSignal) {
    this.#model = model;
    this.#signal = signal;
  }

  get onDidChangeCodeLenses() {
    return this.#signal.onDidChangeCodeLenses;
  }

  async provideCodeLenses(document: TextDocument): Promise<CodeLens[]> {
    const place = placeOf(document.uri.toString());
    const folder = this.#model.folders.find(({ uri }) => uri === place?.folder);
    const step = place?.stepId === undefined ? undefined : folder?.step(place.stepId);
    if (place === undefined || folder === undefined || step === undefined) return [];
    return this.#lensesOf(document, place, folder, step);
  }

  async #lensesOf(document: TextDocument, place: Place, folder: FolderModel, step: Step): Promise<CodeLens[]> {
    const name = nameNow(place);
    const change = step.files?.find((each) => requestName(each) === name);
    // of a file that is gone, the side before is all there is
    const side = change?.status === "deleted" ? "before" : "after";
    const isInForce = step.state === "applied" || step.state === "partly";
    const isMoved = maybeMoved(step.files ?? []).some((each) => requestName(each) === name);
    if (change === undefined || change.byGit === true || !isInForce || isMoved || place.side !== side) return [];
    const { hunks } = await this.#hunksOf(folder, step, name);
    const lines = linesOf(document);
    if (!isShownBy(lines, hunks, side)) return [];
    const review = folder.review.shown(name);
    return hunks.flatMap((hunk) => {
      const line = firstChangedLine(hunk, side, lines.length);
      const range = new Range(line, 0, line, 0);
      const file = changeNamed(name);
      const undo = new CodeLens(range, {
        command: "snapd.revertHunks",
        title: "Undo",
        tooltip: "Undo this hunk of the step",
        arguments: [{ kind: "hunk", folder, step, file, hunks: [hunk.index] }],
      });
      const part = review === undefined ? undefined : pendingPart(hunk, review.hunks, step.stepId);
      if (review === undefined || part === undefined) return [undo];
      const keep = new CodeLens(range, {
        command: "snapd.keepHunk",
        title: part.isAlone ? "Keep" : "Keep with Adjacent Changes",
        tooltip: part.isAlone ? "Keep this hunk" : "Keep the pending hunk that contains this change and others",
        arguments: [
          {
            kind: "hunk",
            folder,
            pending: { ...file, id: review.id },
            ...(review.status === "modified" && { hunks: [part.index] }),
          },
        ],
      });
      return [keep, undo];
    });
  }

  #hunksOf(folder: FolderModel, step: Step, name: string): Promise<StepHunksResult> {
    const known = this.#hunks.get(step) ?? new Map<string, Promise<StepHunksResult>>();
    this.#hunks.set(step, known);
    const asked = known.get(name) ?? folder.request("step/hunks", { stepId: step.stepId, file: name });
    known.set(name, asked);
    // a failed request is repeated the next time
    asked.catch(() => known.delete(name));
    return asked;
  }
}
