// The settings of this extension, as package.json declares them.

/** Which notifications are shown. */
export type Notifications = "all" | "problems" | "off";

/** Where it is shown who wrote a line. */
export interface BlameSettings {
  /** At the end of the line of the cursor. */
  readonly line: boolean;
  /** Where the pointer rests on a line. */
  readonly hover: boolean;
}

/** What the user has set. */
export interface Settings {
  /** Whether this window connects to snapd. */
  readonly enable: boolean;
  /** The snapd to run; empty where it is to be looked for. */
  readonly path: string;
  /** Whether `path` comes from the folder rather than from the user. */
  readonly pathFromWorkspace: boolean;
  readonly notifications: Notifications;
  /** Where it is shown who wrote a line. */
  readonly blame: BlameSettings;
  /**
   * The daemon's own settings, by the daemon's names; only those that the user has set, so that the daemon's
   * configuration applies to the rest. The daemon validates the values and reports errors.
   */
  readonly daemon: Readonly<Record<string, unknown>>;
  /** What those of the daemon's settings are by default that nobody has set. */
  readonly unset: Readonly<Record<string, unknown>>;
}

/** Where settings are read from: `workspace.getConfiguration("snapd")` is one. */
export interface Configuration {
  get(section: string): unknown;
  inspect(section: string): Places | undefined;
}

interface Places {
  readonly defaultValue?: unknown;
  readonly globalValue?: unknown;
  readonly workspaceValue?: unknown;
  readonly workspaceFolderValue?: unknown;
}

const DAEMON_SETTINGS = ["exclude", "maxFileSize"] as const;

/** Reads what is set now. A value of a wrong type counts as the cautious one. */
export function readSettings(configuration: Configuration): Settings {
  const path = configuration.get("path");
  const notifications = configuration.get("notifications");
  const set = DAEMON_SETTINGS.filter((name) => isSet(configuration.inspect(name)));
  const unset = DAEMON_SETTINGS.filter((name) => !set.includes(name));
  return {
    enable: configuration.get("enable") === true,
    path: typeof path === "string" ? path.trim() : "",
    pathFromWorkspace: isFromWorkspace(configuration.inspect("path")),
    notifications: notifications === "problems" || notifications === "off" ? notifications : "all",
    blame: { line: configuration.get("blame.line") === true, hover: configuration.get("blame.hover") === true },
    daemon: Object.fromEntries(set.map((name) => [name, configuration.get(name)])),
    unset: Object.fromEntries(unset.map((name) => [name, configuration.inspect(name)?.defaultValue])),
  };
}

function isFromWorkspace(places: Places | undefined): boolean {
  return places?.workspaceValue !== undefined || places?.workspaceFolderValue !== undefined;
}

function isSet(places: Places | undefined): boolean {
  return places?.globalValue !== undefined || isFromWorkspace(places);
}
