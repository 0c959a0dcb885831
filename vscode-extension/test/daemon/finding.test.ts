import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { findSnapd, versionIn, type Probes, type Surroundings } from "../../src/daemon/finding";
import { RecordingLog } from "./recordingLog";

const SURROUNDINGS: Surroundings = {
  home: "/home/me",
  setting: "/opt/snapd",
  settingFromWorkspace: false,
  folders: ["/project", "/other"],
  trusted: true,
  searchPath: "/usr/local/bin:/usr/bin",
  bundled: "/extension/bundled/snapd-linux",
  version: "1.2.3",
};

const ORDER = ["/opt/snapd", "/usr/local/bin/snapd", "/usr/bin/snapd", "/extension/bundled/snapd-linux"];

/** A computer on which these files are, of which some do not run. */
function computer(
  files: readonly string[],
  { broken = [], version = "1.2.3" }: { broken?: readonly string[]; version?: string } = {},
): Probes & { run: string[] } {
  const run: string[] = [];
  return {
    run,
    isFile: (file) => Promise.resolve(files.includes(file)),
    version: (file) => {
      run.push(file);
      return broken.includes(file) ? Promise.reject(new Error("no module named snapd")) : Promise.resolve(version);
    },
  };
}

async function find(probes: Probes, changed: Partial<Surroundings> = {}): Promise<string> {
  return (await findSnapd({ ...SURROUNDINGS, ...changed }, probes, new RecordingLog())).file;
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
    const probes = computer(ORDER, { broken: ORDER.slice(0, -1) });
    const log = new RecordingLog();
    const found = await findSnapd(SURROUNDINGS, probes, log);
    assert.deepEqual(found, { file: ORDER.at(-1), version: "1.2.3" });
    assert.deepEqual(probes.run, ORDER);
    for (const file of ORDER.slice(0, -1)) {
      assert.ok(log.warnings.some((line) => line.includes(file) && line.includes("no module named snapd")));
    }
  });

  it("passes over one on PATH that is older than the extension, and no newer one", async () => {
    const [chosen, onPath, bundled] = ["/opt/snapd", "/usr/bin/snapd", "/extension/bundled/snapd-linux"];
    for (const version of ["1.2.2", "1.1.9", "0.9", "1.2"]) {
      assert.equal(await find(computer([onPath, bundled], { version })), bundled, version);
      assert.equal(await find(computer([chosen, onPath, bundled], { version })), chosen, version);
    }
    for (const version of ["1.2.3", "1.2.3rc1", "1.2.10", "1.10", "2.0", "1.2.3.1"]) {
      assert.equal(await find(computer([onPath, bundled], { version })), onPath, version);
    }
  });

  it("says where it looked, and what to do, on a computer without one", async () => {
    const log = new RecordingLog();
    await assert.rejects(findSnapd({ ...SURROUNDINGS, setting: "" }, computer([]), log), /Set snapd\.path to one/);
    const logged = log.lines.join("\n");
    for (const place of ["snapd.path", "/usr/bin/snapd", "inside this extension"]) {
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
    const probes = computer(["snapd", "bin/snapd", "/extension/bundled/snapd-linux"]);
    assert.equal(await find(probes, { setting: "", searchPath: ".:bin:" }), "/extension/bundled/snapd-linux");
  });

  it("tries a file once", async () => {
    const probes = computer(["/usr/bin/snapd"], { broken: ["/usr/bin/snapd"] });
    await assert.rejects(find(probes, { setting: "/usr/bin/snapd" }));
    assert.deepEqual(probes.run, ["/usr/bin/snapd"]);
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
