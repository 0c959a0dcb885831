import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { offerMcpServers, type McpEditor, type McpFolder, type McpProvider } from "../../src/daemon/mcp";
import { Signal } from "../../src/model/signal";
import { RecordingLog } from "./recordingLog";

/** A server as VS Code has it. */
class Server {
  readonly parts: unknown[];

  constructor(...parts: unknown[]) {
    this.parts = parts;
  }
}

class FakeDaemon {
  readonly changed = new Signal();
  readonly onDidChange = this.changed.listen;
  found: { file: string; version: string } | undefined = { file: "/bin/snapd", version: "1.0" };
}

describe("offerMcpServers", () => {
  function offered(folders: readonly McpFolder[]): { daemon: FakeDaemon; provider: McpProvider; id: string } {
    const daemon = new FakeDaemon();
    const registered: [string, McpProvider][] = [];
    const lm = {
      registerMcpServerDefinitionProvider: (id: string, provider: McpProvider) => {
        registered.push([id, provider]);
        return { dispose: () => undefined };
      },
    };
    offerMcpServers({ lm, McpStdioServerDefinition: Server }, daemon, () => folders, new RecordingLog());
    const [first] = registered;
    assert.ok(first !== undefined);
    return { daemon, id: first[0], provider: first[1] };
  }

  const servers = (provider: McpProvider): unknown[] =>
    provider.provideMcpServerDefinitions().map((server) => (server as Server).parts);

  it("offers the snapd of the window in each folder, under the id of package.json", () => {
    const { provider, id } = offered([{ name: "shop", path: "/a b" }]);
    assert.deepEqual(servers(provider), [["Snapd", "/bin/snapd", ["mcp", "-C", "/a b"], {}, "1.0"]]);
    assert.ok(readFileSync("package.json", "utf8").includes(`"id": "${id}"`));
    const both = offered([
      { name: "shop", path: "/shop" },
      { name: "site", path: "/site" },
    ]);
    assert.deepEqual(
      servers(both.provider).map((parts) => (parts as unknown[])[0]),
      ["Snapd: shop", "Snapd: site"],
    );
  });

  it("offers none while no snapd is connected, and tells when that changes", () => {
    const { daemon, provider } = offered([{ name: "shop", path: "/shop" }]);
    daemon.found = undefined;
    let count = 0;
    provider.onDidChangeMcpServerDefinitions(() => (count += 1));
    daemon.changed.emit();
    assert.deepEqual([servers(provider), count], [[], 1]);
  });

  it("does without in a VS Code that has no such servers, or keeps them from extensions", () => {
    const refusing = {
      registerMcpServerDefinitionProvider: () => {
        throw new Error("a proposed API");
      },
    };
    const editors: [McpEditor, RegExp][] = [
      [{}, /older than 1\.101/],
      [{ lm: {}, McpStdioServerDefinition: Server }, /older than 1\.101/],
      [{ lm: refusing, McpStdioServerDefinition: Server }, /a proposed API/],
    ];
    for (const [editor, reason] of editors) {
      const log = new RecordingLog();
      offerMcpServers(editor, new FakeDaemon(), () => [], log).dispose();
      assert.match(log.lines.join("\n"), reason);
    }
  });
});
