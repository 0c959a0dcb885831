// Which documents with unsaved text an action would write over.

import type { FileOutcome } from "@snapd/client";
import { absolutePath } from "./names";
import { written } from "./outcomes";

/** A document of the editor with text that is not saved. */
export interface UnsavedDocument {
  readonly uri: string;
  /** For people. */
  readonly name: string;
  /** The absolute paths of its file: as it was opened, and without symlinks. */
  readonly paths: readonly string[];
}

/**
 * The documents whose files an action would write.
 *
 * @param folder - the workspaceUri.
 * @param forecast - the result of a dry run.
 */
export function documentsAtRisk(
  folder: string,
  forecast: readonly FileOutcome[],
  documents: readonly UnsavedDocument[],
): UnsavedDocument[] {
  const held = forecast.filter((file) => file.outcome === "conflict" && file.reason === "unsavedInEditor");
  const paths = new Set([...written(forecast), ...held].map((file) => absolutePath(folder, file)));
  return documents.filter((document) => document.paths.some((path) => paths.has(path)));
}
