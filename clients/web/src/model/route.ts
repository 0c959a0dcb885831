/** Where the page is: the fragment of its address, which can be kept and sent to others. */

/** What the timeline shows: one session, or all that happened in the folder. */
export type Scope = string | undefined;

export type Route =
  | { readonly page: "today" }
  | { readonly page: "timeline"; readonly scope: Scope; readonly shown?: Shown }
  | { readonly page: "review"; readonly of?: Filter; readonly file?: string }
  | { readonly page: "file"; readonly file: string; readonly at?: string; readonly blame?: boolean }
  | { readonly page: "search"; readonly text: string };

/** Whose pending changes are shown: those of one agent, or of one session. */
export interface Filter {
  readonly by: "agent" | "session";
  readonly id: string;
}

/** What of the timeline stands beside it. */
export type Shown =
  | {
      readonly what: "step";
      readonly sessionId: string;
      readonly stepId: string;
      readonly file?: string;
      readonly line?: ChangedLine;
    }
  | { readonly what: "turn"; readonly sessionId: string; readonly messageId: string; readonly file?: string }
  | {
      readonly what: "change";
      readonly before: string;
      readonly after: string;
      /** When, if only git changed: then the snapshots do not tell one from another. */
      readonly at?: string;
      readonly file?: string;
    };

/** A line that a step changed, by its number on the side that has it. */
export interface ChangedLine {
  readonly change: "added" | "deleted";
  readonly line: number;
}

/**
 * Reads a fragment. A fragment that names no page leads to today.
 *
 * @param fragment With or without its `#`.
 */
export function parseRoute(fragment: string): Route {
  const parts = fragment
    .replace(/^#?\/?/, "")
    .split("/")
    .map(unescaped);
  const [page, one] = parts;
  if (page === "review") {
    const of = filterAt(parts);
    return { page, ...(of === undefined ? {} : { of }), ...fileAt(parts, of === undefined ? 1 : 3) };
  }
  if (page === "search") return { page, text: one ?? "" };
  if (page === "file" && one !== undefined && one !== "") {
    const at = parts[2] === "at" ? parts[3] : undefined;
    const blame = parts.at(-1) === "blame" && parts.length % 2 === 1;
    return { page, file: one, ...(at === undefined ? {} : { at }), ...(blame ? { blame } : {}) };
  }
  const [scope, rest] = page === "session" && one ? [one, parts.slice(2)] : [undefined, parts.slice(1)];
  if (scope === undefined && page !== "all") return { page: "today" };
  const shown = shownOf(scope, rest);
  return { page: "timeline", scope, ...(shown === undefined ? {} : { shown }) };
}

/** The fragment of a route, with its `#`: `parseRoute` gives the route again. */
export function fragmentOf(route: Route): string {
  return `#/${partsOf(route).map(encodeURIComponent).join("/")}`;
}

/** Whether two routes name the same place. */
export function isSame(one: Route, other: Route): boolean {
  return fragmentOf(one) === fragmentOf(other);
}

function partsOf(route: Route): string[] {
  switch (route.page) {
    case "today":
      return [];
    case "review":
      return ["review", ...(route.of === undefined ? [] : [route.of.by, route.of.id]), ...fileParts(route.file)];
    case "search":
      return ["search", route.text];
    case "file": {
      const at = route.at === undefined ? [] : ["at", route.at];
      return ["file", route.file, ...at, ...(route.blame ? ["blame"] : [])];
    }
    case "timeline":
      return timelineParts(route.scope, route.shown);
  }
}

function timelineParts(scope: Scope, shown: Shown | undefined): string[] {
  const within = scope === undefined ? ["all"] : ["session", scope];
  if (shown === undefined) return within;
  const file = fileParts(shown.file);
  if (shown.what === "change") {
    const at = shown.at === undefined ? [] : ["at", shown.at];
    return [...within, "change", shown.before, shown.after, ...at, ...file];
  }
  const owner = scope === shown.sessionId ? [] : ["of", shown.sessionId];
  if (shown.what === "turn") return [...within, ...owner, "turn", shown.messageId, ...file];
  const line = shown.line === undefined ? [] : [shown.line.change, String(shown.line.line)];
  return [...within, ...owner, "step", shown.stepId, ...file, ...line];
}

function shownOf(scope: Scope, parts: readonly string[]): Shown | undefined {
  const [sessionId, rest] = parts[0] === "of" ? [parts[1], parts.slice(2)] : [scope, parts];
  const [what, name, other] = rest;
  if (!name) return undefined;
  if (what === "change" && other) {
    const at = rest[3] === "at" ? rest[4] : undefined;
    return { what, before: name, after: other, ...(at ? { at } : {}), ...fileAt(rest, at ? 5 : 3) };
  }
  if (!sessionId) return undefined;
  if (what === "step") return { what, sessionId, stepId: name, ...fileAt(rest, 2), ...lineAt(rest, 4) };
  if (what === "turn") return { what, sessionId, messageId: name, ...fileAt(rest, 2) };
  return undefined;
}

function filterAt([, by, id]: readonly string[]): Filter | undefined {
  return (by === "agent" || by === "session") && id ? { by, id } : undefined;
}

function fileParts(file: string | undefined): string[] {
  return file === undefined ? [] : ["file", file];
}

function fileAt(parts: readonly string[], at: number): { file?: string } {
  const file = parts[at] === "file" ? parts[at + 1] : undefined;
  return file === undefined || file === "" ? {} : { file };
}

function lineAt(parts: readonly string[], at: number): { line?: ChangedLine } {
  const [change, number] = [parts[at], parts[at + 1] ?? ""];
  if ((change !== "added" && change !== "deleted") || !/^[1-9]\d{0,9}$/.test(number)) return {};
  return { line: { change, line: Number(number) } };
}

/** An unescaped part; unchanged if it has an invalid escape, as in an address that a person typed. */
function unescaped(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
