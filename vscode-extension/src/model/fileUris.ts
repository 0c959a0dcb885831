// file: URIs, compared as the bytes that they stand for: editors and the daemon escape differently.

import type { FileChange } from "@snapd/client";

/** The bytes of the path of a URI, one for each character; without a slash at the end. */
export function pathKey(uri: string): string {
  const path = uri.replace(/^[a-z][a-z0-9+.-]*:(\/\/[^/]*)?/i, "");
  return escapedBytes(path).replace(/(?<=.)\/+$/, "");
}

/** The name of a file within a folder, with U+FFFD for what is not UTF-8; undefined where it is not below it. */
export function relativeName(folder: string, uri: string): string | undefined {
  const [above, path] = [pathKey(folder), pathKey(uri)];
  const start = above === "/" ? above : `${above}/`;
  return path.startsWith(start) ? textOf(path.slice(start.length)) : undefined;
}

/** The URI of a changed file on disk. */
export function fileUri(folder: string, change: Pick<FileChange, "file" | "uri">): string {
  return change.uri ?? `${folder.replace(/\/$/, "")}/${change.file.split("/").map(encodeURIComponent).join("/")}`;
}

/**
 * The folder around a folder, with the names that this one has; undefined where the folder is a link to elsewhere.
 *
 * @param folder - as a `file:` URI.
 * @param within - where it lies in the folder around it.
 */
export function folderAbove(folder: string, within: string): string | undefined {
  const above = folder.replace(/\/+$/, "").split("/").slice(0, -within.split("/").length).join("/");
  return relativeName(above, folder) === within ? above : undefined;
}

/** The last part of a name, and what is before it. */
export function splitName(file: string): { readonly base: string; readonly directory: string } {
  const slash = file.lastIndexOf("/");
  return { base: file.slice(slash + 1), directory: file.slice(0, Math.max(slash, 0)) };
}

function escapedBytes(text: string): string {
  const utf8 = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("");
  return utf8.replace(/%([0-9a-f]{2})/gi, (_, digits: string) => String.fromCharCode(parseInt(digits, 16)));
}

function textOf(bytes: string): string {
  return new TextDecoder().decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)));
}
