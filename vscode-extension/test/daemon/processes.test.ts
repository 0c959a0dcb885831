import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import os from "node:os";
import path from "node:path";
import { describe, it } from "node:test";
import { runProgram } from "../../src/daemon/processes";

const NODE = process.execPath;

describe("runProgram", () => {
  it("tells code and output", async () => {
    const program = "process.stdout.write('a\\nb'); process.stderr.write('c\\n'); process.exitCode = 3";
    const finished = await runProgram(NODE, ["-e", program]);
    assert.deepEqual(finished, { code: 3, stdout: "a\nb", stderr: "c\n" });
  });

  it("passes arguments as they are, without a shell", async () => {
    const odd = "$HOME; `x` 'y' \"z\" *";
    const finished = await runProgram(NODE, ["-e", "process.stdout.write(process.argv[1])", odd]);
    assert.equal(finished.stdout, odd);
  });

  it("fails where there is no such program", async () => {
    await assert.rejects(runProgram("/nowhere/snapd", []), { code: "ENOENT" });
  });

  it("ends what does not end in time", async () => {
    await assert.rejects(runProgram(NODE, ["-e", "setInterval(() => {}, 1000)"], { timeout: 50 }), /within 50 ms/);
  });

  it(
    "ends with what does not end in time what that has started",
    { skip: process.platform === "win32" },
    async (test) => {
      const folder = await mkdtemp(path.join(os.tmpdir(), "snapd-"));
      test.after(() => rm(folder, { recursive: true }));
      const socket = path.join(folder, "s");
      const server = createServer().listen(socket);
      test.after(() => server.close());
      // the grandchild holds the connection as long as it lives
      const grandchild = `require("node:net").connect(${JSON.stringify(socket)})`;
      const child = `require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(grandchild)}]); setInterval(() => {}, 1000)`;
      // on a busy machine, the grandchild may need more time to start than the first run has
      for (const timeout of [1_000, 10_000, 100_000]) {
        const connecting = new AbortController();
        const connected = once(server, "connection", { signal: connecting.signal });
        await assert.rejects(runProgram(NODE, ["-e", child], { timeout }), /did not end within/);
        connecting.abort();
        const [connection] = (await connected.catch(() => [])) as [Socket?];
        if (connection === undefined) continue;
        connection.resume();
        if (!connection.closed) await once(connection, "close");
        return;
      }
      assert.fail("the grandchild did not start");
    },
  );
});
