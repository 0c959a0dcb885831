import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { readSettings, type Configuration } from "../../src/settings";

interface Declared {
  contributes: { configuration: { properties: Record<string, { default: unknown }> } };
}

const { properties } = (JSON.parse(readFileSync("package.json", "utf8")) as Declared).contributes.configuration;

/** The configuration of a window in which the user and the workspace have set this. */
function configuration(user: Record<string, unknown> = {}, workspace: Record<string, unknown> = {}): Configuration {
  return {
    get: (name) => workspace[name] ?? user[name] ?? properties[`snapd.${name}`]?.default,
    inspect: (name) => ({
      defaultValue: properties[`snapd.${name}`]?.default,
      globalValue: user[name],
      workspaceValue: workspace[name],
    }),
  };
}

describe("readSettings", () => {
  it("tells the daemon nothing that nobody has set", () => {
    assert.deepEqual(readSettings(configuration()), {
      enable: true,
      path: "",
      pathFromWorkspace: false,
      notifications: "all",
      blame: { line: false, hover: false },
      daemon: {},
      unset: { exclude: [], maxFileSize: 67108864 },
    });
  });

  it("tells the daemon what the user or the workspace has set, also where it is the default", () => {
    assert.deepEqual(readSettings(configuration({ maxFileSize: 67108864 }, { exclude: ["*.bin"] })).daemon, {
      exclude: ["*.bin"],
      maxFileSize: 67108864,
    });
  });

  it("knows a path of the workspace", () => {
    assert.equal(readSettings(configuration({ path: "/a" })).pathFromWorkspace, false);
    const settings = readSettings(configuration({ path: "/a" }, { path: " /b " }));
    assert.deepEqual([settings.path, settings.pathFromWorkspace], ["/b", true]);
  });

  it("takes a wrong type for the cautious value, and leaves the daemon's settings to the daemon", () => {
    const wrong = readSettings(
      configuration({ enable: "yes", path: 3, notifications: "loud", exclude: "*.bin", "blame.line": 1 }),
    );
    assert.deepEqual(
      [wrong.enable, wrong.path, wrong.notifications, wrong.blame.line, wrong.daemon],
      [false, "", "all", false, { exclude: "*.bin" }],
    );
  });
});
