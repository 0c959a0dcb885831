// The MCP servers that chats can use: `snapd mcp` in each folder of the window.

import type { Disposable, Logger } from "@snapd/client";
import type { Daemon } from "./daemon";

/** The id in package.json. */
const PROVIDER = "snapd.servers";

/** What offers servers to VS Code. */
export interface McpProvider {
  readonly onDidChangeMcpServerDefinitions: Daemon["onDidChange"];
  provideMcpServerDefinitions(): unknown[];
}

/** What of VS Code 1.101 is used here; older ones lack it, or keep it from extensions. */
export interface McpEditor {
  readonly lm?: { registerMcpServerDefinitionProvider?(id: string, provider: McpProvider): Disposable };
  readonly McpStdioServerDefinition?: new (
    label: string,
    command: string,
    args: string[],
    env: Record<string, string | null>,
    version: string,
  ) => unknown;
}

/** A folder that lies on a disk. */
export interface McpFolder {
  readonly name: string;
  readonly path: string;
}

/** Offers the servers of the snapd that the window is connected to, where VS Code takes any. */
export function offerMcpServers(
  editor: McpEditor,
  daemon: Pick<Daemon, "found" | "onDidChange">,
  folders: () => readonly McpFolder[],
  log: Logger,
): Disposable {
  try {
    const { lm, McpStdioServerDefinition: Server } = editor;
    if (lm?.registerMcpServerDefinitionProvider === undefined || Server === undefined) {
      throw new Error("it is older than 1.101");
    }
    return lm.registerMcpServerDefinitionProvider(PROVIDER, {
      onDidChangeMcpServerDefinitions: daemon.onDidChange,
      provideMcpServerDefinitions: () => {
        const found = daemon.found;
        if (found === undefined) return [];
        return folders().map(({ name, path }, _, { length }) => {
          const label = length === 1 ? "Snapd" : `Snapd: ${name}`;
          return new Server(label, found.file, ["mcp", "-C", path], {}, found.version);
        });
      },
    });
  } catch (error) {
    log.info(`MCP servers are not offered to this VS Code: ${error instanceof Error ? error.message : String(error)}`);
    return { dispose: () => undefined };
  }
}
