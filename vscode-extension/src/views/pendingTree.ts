// The rows of the view "Pending": plain data, which the commands get as their argument, and how they look.

import type { PendingFile } from "@snapd/client";
import { requestName } from "../model/changes";
import { splitName } from "../model/fileUris";
import type { FolderModel } from "../model/folder";
import { agentsOf, makerLine, makersOf } from "../model/makers";
import { capitalized, counted, lines, linesInWords } from "../model/wording";
import type { Shown } from "./differing";
import { letterOf, markUri } from "./marks";
import type { Presentation } from "./presentation";

interface Parts {
  /** The same for the same thing, whatever happens to it. */
  readonly id: string;
  readonly folder: FolderModel;
}

/** A folder, where several are open. */
export interface PendingFolderItem extends Parts {
  readonly kind: "pendingFolder";
}

/** A file with pending changes. */
export interface PendingFileItem extends Parts {
  readonly kind: "pending";
  /** As it is shown. */
  readonly pending: PendingFile;
}

/** Stands for the files that are not listed. */
export interface MorePendingItem extends Parts {
  readonly kind: "morePending";
}

/** A row of the view. */
export type PendingItem = PendingFolderItem | PendingFileItem | MorePendingItem;

/** The whole tree: of several folders, those in which something is pending, each under a node of its own. */
export function pendingTree(folders: readonly FolderModel[]): readonly Shown<PendingItem>[] {
  const [first, ...others] = folders;
  if (first === undefined) return [];
  if (others.length === 0) return ofFolder(first);
  return folders
    .filter(({ review }) => review.files.length > 0)
    .map((folder) => shown({ kind: "pendingFolder", id: folder.id, folder }, ofFolder(folder)));
}

/** How a row looks. */
export function presentPending(item: PendingItem): Presentation {
  switch (item.kind) {
    case "pendingFolder":
      return ofFolderItem(item);
    case "pending":
      return ofFile(item);
    case "morePending":
      return ofMore(item);
  }
}

/** How much is pending in all of the folders: "12 files, 120 lines added, 3 removed". */
export function pendingInWords(folders: readonly FolderModel[]): string {
  const totals = folders.map(({ review }) => review.totals);
  const files = totals.reduce((sum, each) => sum + each.files, 0);
  const words = linesInWords(totals.map(({ additions, deletions }) => ({ additions, deletions, binary: false })));
  return [counted(files, "file"), words].filter((part) => part !== "").join(", ");
}

function ofFolder(folder: FolderModel): readonly Shown<PendingItem>[] {
  const files = folder.review.files.map((pending) => {
    const id = JSON.stringify([folder.id, requestName(pending)]);
    return shown({ kind: "pending", id, folder, pending });
  });
  if (folder.review.isComplete) return files;
  return [...files, shown({ kind: "morePending", id: JSON.stringify([folder.id]), folder })];
}

function shown(item: PendingItem, below: readonly Shown<PendingItem>[] = []): Shown<PendingItem> {
  return { item, look: [JSON.stringify(presentPending(item))], below };
}

function ofFolderItem({ folder }: PendingFolderItem): Presentation {
  const words = pendingInWords([folder]);
  return {
    label: folder.name,
    description: counted(folder.review.totals.files, "file"),
    tooltip: `${folder.name}\n${words}`,
    spoken: `${folder.name}, ${words} pending`,
    icon: "root-folder",
    quiet: false,
    mark: undefined,
  };
}

function ofFile({ folder, pending }: PendingFileItem): Presentation {
  const { base, directory } = splitName(pending.file);
  const makers = makersOf(folder, pending.owners);
  const from = pending.renamedFrom === undefined ? undefined : `← ${pending.renamedFrom}`;
  const what = pending.renamedFrom === undefined ? pending.status : `renamed from ${pending.renamedFrom}`;
  const agents = agentsOf(makers);
  const open = folder.comments.openOn(requestName(pending));
  const comments = open === 0 ? undefined : counted(open, "comment");
  return {
    label: base,
    description: joined([from, directory, lines([pending]), agents, comments], " · "),
    tooltip: [
      pending.file,
      capitalized(joined([what, linesInWords([pending])], ", ")),
      ...new Set(makers.map(makerLine)),
    ].join("\n"),
    spoken: joined(
      [base, directory === "" ? undefined : `in ${directory}`, what, linesInWords([pending]), `by ${agents}`, comments],
      ", ",
    ),
    icon: undefined,
    quiet: false,
    mark: markUri(pending.file, { letter: letterOf(pending), undone: false }),
  };
}

function ofMore({ folder: { review } }: MorePendingItem): Presentation {
  const label = `Show more of ${counted(review.totals.files, "file")}`;
  return { label, description: "", tooltip: label, spoken: label, icon: "ellipsis", quiet: true, mark: undefined };
}

function joined(parts: readonly (string | undefined)[], separator: string): string {
  return parts.filter((part) => part !== undefined && part !== "").join(separator);
}
