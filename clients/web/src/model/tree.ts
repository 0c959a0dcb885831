/** Files as a tree of folders, in rows from top to bottom. */
import { visible } from "./names";

export interface FolderRow {
  readonly kind: "folder";
  readonly key: string;
  /** With its last `/`. */
  readonly path: string;
  /** The folder below the one above it; folders that hold nothing but one folder are one row with it. */
  readonly name: string;
  readonly depth: number;
  readonly isOpen: boolean;
  /** How many files are in it and below, and how many of them are viewed. */
  readonly files: number;
  readonly viewed: number;
}

export interface TreeFileRow<F> {
  readonly kind: "file";
  readonly key: string;
  readonly name: string;
  readonly depth: number;
  readonly file: F;
}

export type TreeRow<F> = FolderRow | TreeFileRow<F>;

interface Folder<F> {
  path: string;
  readonly folders: Map<string, Folder<F>>;
  readonly files: F[];
  /** Folders and files in the order of the list. */
  readonly children: (Folder<F> | F)[];
  count: number;
  viewed: number;
}

/**
 * The rows of a tree.
 *
 * @param files Ordered by name.
 * @param closed The paths of the folders whose contents are hidden, each with its last `/`.
 */
export function treeRows<F extends { readonly file: string }>(
  files: readonly F[],
  closed: ReadonlySet<string>,
  isViewed: (file: F) => boolean,
): TreeRow<F>[] {
  const root = folderAt<F>("");
  for (const file of files) {
    const viewed = isViewed(file) ? 1 : 0;
    let folder = root;
    for (let at = file.file.indexOf("/"); at >= 0; at = file.file.indexOf("/", at + 1)) {
      const path = file.file.slice(0, at + 1);
      let next = folder.folders.get(path);
      if (next === undefined) {
        next = folderAt(path);
        folder.folders.set(path, next);
        folder.children.push(next);
      }
      folder = next;
      folder.count += 1;
      folder.viewed += viewed;
    }
    folder.files.push(file);
    folder.children.push(file);
  }
  const rows: TreeRow<F>[] = [];
  pushChildren(rows, root, 0, closed);
  return rows;
}

function folderAt<F>(path: string): Folder<F> {
  return { path, folders: new Map(), files: [], children: [], count: 0, viewed: 0 };
}

function pushChildren<F extends { readonly file: string }>(
  rows: TreeRow<F>[],
  above: Folder<F>,
  depth: number,
  closed: ReadonlySet<string>,
): void {
  for (const child of above.children) {
    if ("file" in child) {
      const name = visible(child.file.slice(above.path.length));
      rows.push({ kind: "file", key: child.file, name, depth, file: child });
      continue;
    }
    let folder = child;
    for (let [only] = folder.children; only !== undefined && folder.children.length === 1 && !("file" in only);) {
      folder = only;
      [only] = folder.children;
    }
    const { path, count, viewed } = folder;
    const isOpen = !closed.has(path);
    const name = visible(path.slice(above.path.length, -1));
    rows.push({ kind: "folder", key: path, path, name, depth, isOpen, files: count, viewed });
    if (isOpen) pushChildren(rows, folder, depth + 1, closed);
  }
}
