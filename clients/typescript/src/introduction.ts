import { basename } from "node:path/posix";
import type { Connection } from "./connection.js";
import type { ClientOptions } from "./options.js";
import type { Configuration } from "./configuration.js";

/** What a daemon says it is. */
export interface ServerInfo {
  name: string;
  version?: string;
}

/** A folder as LSP has it. */
export interface WorkspaceFolder {
  uri: string;
  name: string;
}

/**
 * Introduces the client on a new connection, with the folders and settings that are configuration.
 *
 * @throws SnapdError - The daemon refused it.
 * @throws ConnectionLostError - The connection ended.
 */
export async function initialize(
  link: Connection,
  options: ClientOptions,
  configuration: Configuration,
): Promise<ServerInfo | undefined> {
  const { folders, settings } = configuration.takeAll();
  const result = (await link.request("initialize", {
    processId: process.pid,
    clientInfo: options.clientInfo,
    capabilities: { window: { workDoneProgress: true }, workspace: { workspaceFolders: true } },
    rootUri: folders[0] ?? null,
    workspaceFolders: folders.map(workspaceFolder),
    initializationOptions: {
      ...settings,
      ...(options.token !== undefined && { token: options.token }),
      ...(options.findRoot === true && { findRoot: true }),
    },
  })) as { serverInfo?: ServerInfo };
  link.notify("initialized", {});
  return result.serverInfo;
}

/** Gives a folder as LSP has it. */
export function workspaceFolder(uri: string): WorkspaceFolder {
  return { uri, name: basename(uri) };
}
