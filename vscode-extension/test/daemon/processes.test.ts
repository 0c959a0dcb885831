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
  it("tells code and output, and each line as it comes", async () => {
    const lines: string[] = [];
    const program = "process.stdout.write('a\\nb'); process.stderr.write('c\\n'); process.exitCode = 3";
    const finished = await runProgram(NODE, ["-e", program], { onLine: (line) => lines.push(line) });
    assert.deepEqual(finished, { code: 3, stdout: "a\nb", stderr: "c\n" });
    assert.deepEqual(lines.sort(), ["a", "b", "c"]);
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

  it("starts nothing that is cancelled already", async () => {
    await assert.rejects(runProgram("/nowhere/snapd", [], { signal: AbortSignal.abort() }), { name: "AbortError" });
  });

  it("ends with what is cancelled what that has started", { skip: process.platform === "win32" }, async (test) => {
    const folder = await mkdtemp(path.join(os.tmpdir(), "snapd-"));
    test.after(() => rm(folder, { recursive: true }));
    const socket = path.join(folder, "s");
    const server = createServer().listen(socket);
    test.after(() => server.close());
    // the grandchild holds the connection as long as it lives
    const grandchild = `require("node:net").connect(${JSON.stringify(socket)})`;
    const child = `require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(grandchild)}]); setInterval(() => {}, 1000)`;
    const cancelling = new AbortController();
    const run = runProgram(NODE, ["-e", child], { signal: cancelling.signal });
    const [connection] = (await once(server, "connection")) as [Socket];
    connection.resume();
    const closed = once(connection, "close");
    cancelling.abort();
    await assert.rejects(run, /cancelled/);
    await closed;
  });
});
