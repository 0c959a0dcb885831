import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { findSnapd, versionIn, type Probes, type Surroundings } from "../../src/daemon/finding";
import { RecordingLog } from "./recordingLog";

const SURROUNDINGS: Surroundings = {
  platform: "linux",
  home: "/home/me",
  setting: "/opt/snapd",
  settingFromWorkspace: false,
  folders: ["/project", "/other"],
  trusted: true,
  searchPath: "/usr/local/bin:/usr/bin",
};

const ORDER = [
  "/opt/snapd",
  "/envs/work/bin/snapd",
  "/project/.venv/bin/snapd",
  "/other/.venv/bin/snapd",
  "/usr/local/bin/snapd",
  "/usr/bin/snapd",
  "/storage/snapd-1/bin/snapd",
];

/** A computer on which these files are, of which some do not run. */
function computer(files: readonly string[], broken: readonly string[] = []): Probes & { run: string[] } {
  const run: string[] = [];
  return {
    run,
    isFile: (file) => Promise.resolve(files.includes(file)),
    version: (file) => {
      run.push(file);
      return broken.includes(file) ? Promise.reject(new Error("no module named snapd")) : Promise.resolve("1.2.3");
    },
    selectedPythons: () => Promise.resolve(["/envs/work/bin/python"]),
    installed: () => Promise.resolve("/storage/snapd-1/bin/snapd"),
  };
}

async function find(probes: Probes, changed: Partial<Surroundings> = {}): Promise<string | undefined> {
  return (await findSnapd({ ...SURROUNDINGS, ...changed }, probes, new RecordingLog()))?.file;
}

describe("findSnapd", () => {
  it("takes them in the promised order", async () => {
    for (const [index, file] of ORDER.entries()) {
      const probes = computer(ORDER.slice(index));
      assert.equal(await find(probes), file);
      assert.deepEqual(probes.run, [file]);
    }
  });

  it("goes on where one does not run, and says why", async () => {
    const probes = computer(ORDER, ORDER.slice(0, -1));
    const log = new RecordingLog();
    const found = await findSnapd(SURROUNDINGS, probes, log);
    assert.deepEqual(found, { file: ORDER.at(-1), version: "1.2.3" });
    assert.deepEqual(probes.run, ORDER);
    for (const file of ORDER.slice(0, -1)) {
      assert.ok(log.warnings.some((line) => line.includes(file) && line.includes("no module named snapd")));
    }
  });

  it("logs all places and finds nothing on an empty computer", async () => {
    const log = new RecordingLog();
    const probes = { ...computer([]), installed: () => Promise.resolve(undefined) };
    assert.equal(await findSnapd({ ...SURROUNDINGS, setting: "" }, probes, log), undefined);
    const logged = log.lines.join("\n");
    for (const place of [
      "snapd.path",
      "/envs/work",
      "/project/.venv",
      "/usr/bin/snapd",
      "installed by this extension",
    ]) {
      assert.ok(logged.includes(place), place);
    }
  });

  it("runs nothing that an untrusted workspace brings", async () => {
    const probes = computer(ORDER);
    assert.equal(await find(probes, { trusted: false, settingFromWorkspace: true }), "/usr/local/bin/snapd");
    assert.deepEqual(probes.run, ["/usr/local/bin/snapd"]);
    assert.equal(await find(computer(ORDER), { trusted: false }), "/opt/snapd");
  });

  it("resolves the setting against home and the first folder, and wants it absolute", async () => {
    assert.equal(await find(computer(["/home/me/bin/snapd"]), { setting: "~/bin/snapd" }), "/home/me/bin/snapd");
    assert.equal(await find(computer(["/project/s"]), { setting: "${workspaceFolder}/s" }), "/project/s");
    assert.equal(await find(computer(["snapd", "/usr/bin/snapd"]), { setting: "snapd" }), "/usr/bin/snapd");
  });

  it("looks in no relative entry of PATH", async () => {
    assert.equal(await find(computer(["snapd", "bin/snapd"]), { setting: "", searchPath: ".:bin:" }), undefined);
  });

  it("tries a file once", async () => {
    const probes = computer(["/usr/bin/snapd"], ["/usr/bin/snapd"]);
    await find(probes, { setting: "/usr/bin/snapd" });
    assert.deepEqual(probes.run, ["/usr/bin/snapd"]);
  });

  it("knows where Windows keeps programs", async () => {
    const probes = {
      ...computer(["C:\\p\\.venv\\Scripts\\snapd-python.exe"]),
      selectedPythons: () => Promise.resolve([]),
    };
    const windows = { platform: "win32", setting: "", folders: ["C:\\p"], searchPath: "C:\\Windows" } as const;
    assert.equal(await find(probes, windows), "C:\\p\\.venv\\Scripts\\snapd-python.exe");
  });
});

describe("versionIn", () => {
  it("reads snapd's own answer and no other", () => {
    assert.equal(versionIn("snapd 0.1.0\n"), "0.1.0");
    assert.equal(versionIn("snapd 1.2.0rc1\n"), "1.2.0rc1");
    assert.equal(versionIn("snap    2.61\nsnapd   2.61\n"), undefined);
    assert.equal(versionIn(""), undefined);
  });
});
