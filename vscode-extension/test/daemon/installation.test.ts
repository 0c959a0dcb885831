import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { beforeEach, afterEach, describe, it } from "node:test";
import { installedSnapd, installSnapd } from "../../src/daemon/installation";
import type { Finished, Run } from "../../src/daemon/processes";

const DONE: Finished = { code: 0, stdout: "", stderr: "" };

/** Programs that do as venv, pip and snapd do; the one whose call holds `failing` fails. */
class Programs {
  readonly calls: string[] = [];
  failing: string | undefined;
  onCall: (call: string) => void = () => undefined;

  readonly run: Run = async (file, args) => {
    const call = [file, ...args].join(" ");
    this.calls.push(call);
    this.onCall(call);
    if (args[1] === "venv") {
      const environment = args.at(-1) ?? "";
      await mkdir(path.join(environment, "bin"), { recursive: true });
      await writeFile(path.join(environment, "bin", "python"), "");
    }
    if (this.failing !== undefined && call.includes(this.failing)) {
      return { code: 1, stdout: "", stderr: "Collecting\nERROR: no space left\n" };
    }
    return DONE;
  };
}

describe("installSnapd", { skip: process.platform === "win32" }, () => {
  let root: string;
  let storage: string;
  let bundled: string;
  let programs: Programs;
  const lines: string[] = [];

  const install = (pythons = ["python3"], signal = new AbortController().signal): Promise<string> =>
    installSnapd({
      storage,
      bundled,
      pythons,
      run: programs.run,
      signal,
      onStage: () => undefined,
      onLine: (line) => lines.push(line),
    });

  beforeEach(async () => {
    root = await mkdtemp(path.join(os.tmpdir(), "snapd-"));
    storage = path.join(root, "storage");
    bundled = path.join(root, "bundled");
    await mkdir(bundled);
    await writeFile(path.join(bundled, "snapd-1.0-py3-none-any.whl"), "");
    programs = new Programs();
    lines.length = 0;
  });
  afterEach(() => rm(root, { recursive: true }));

  it("makes an environment with the wheel, which is then the installed one", async () => {
    assert.equal(await installedSnapd(storage), undefined);
    const file = await install();
    assert.equal(await installedSnapd(storage), file);
    assert.ok(existsSync(path.join(path.dirname(file), "python")));
    assert.ok(programs.calls.some((call) => call.includes("pip install") && call.endsWith(".whl")));
  });

  it("tries the next Python where one is too old or cannot make an environment", async () => {
    programs.failing = "old";
    await install(["old", "python3"]);
    assert.ok(programs.calls.some((call) => call.startsWith("python3 -m venv")));
    assert.ok(!programs.calls.some((call) => call.startsWith("old -m venv")));
  });

  it("says what each Python said where none will do", async () => {
    programs.failing = "-m venv";
    await assert.rejects(install(["a", "b"]), /3\.11[^]*a ended with code 1: ERROR: no space left\nb ended/);
    assert.deepEqual(await readdir(storage), []);
  });

  for (const failing of ["pip install", "--version"]) {
    it(`leaves nothing of an environment in which ${failing} failed, and keeps the earlier one`, async () => {
      programs.failing = failing;
      await assert.rejects(install(), /no space left/);
      assert.deepEqual(await readdir(storage), []);

      programs.failing = undefined;
      const earlier = await install();
      programs.failing = failing;
      await assert.rejects(install(), /no space left/);
      assert.equal(await installedSnapd(storage), earlier);
      assert.ok(existsSync(path.join(path.dirname(earlier), "python")));
      assert.equal((await readdir(storage)).length, 2);
    });
  }

  it("leaves nothing where it is cancelled", async () => {
    const cancelling = new AbortController();
    programs.onCall = (call) => {
      if (call.includes("-m venv")) cancelling.abort();
    };
    await assert.rejects(install(["python3"], cancelling.signal), { name: "AbortError" });
    assert.deepEqual(await readdir(storage), []);
    assert.ok(!programs.calls.some((call) => call.includes("pip install")));
  });

  it("takes the place of an earlier one, which stays until the next", async () => {
    const environments = [await install(), await install(), await install()].map((file) =>
      path.resolve(file, "..", ".."),
    );
    assert.equal(await installedSnapd(storage), path.join(environments[2] ?? "", "bin", "snapd"));
    assert.deepEqual(
      environments.map((environment) => existsSync(environment)),
      [false, true, true],
    );
  });

  it("says so where the extension brings no snapd", async () => {
    await rm(bundled, { recursive: true });
    await assert.rejects(install(), /brings no snapd/);
  });
});
