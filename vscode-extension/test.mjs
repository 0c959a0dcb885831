// Bundles test/**/*.test.ts into a folder of its own and runs them, or only those whose path holds one of the arguments.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import path from "node:path";
import * as esbuild from "esbuild";

const chosen = process.argv.slice(2);
const tests = readdirSync("test", { recursive: true })
    .filter((name) => name.endsWith(".test.ts"))
    .filter((name) => chosen.length === 0 || chosen.some((part) => name.includes(part)))
    .sort();
if (tests.length === 0) {
    throw new Error("no test has such a name");
}

// below this package: what the tests import is found from there
mkdirSync("build", { recursive: true });
const bundles = mkdtempSync(path.join("build", "test-"));
process.once("exit", () => {
    rmSync(bundles, { recursive: true, force: true });
});

await esbuild.build({
    entryPoints: tests.map((name) => path.join("test", name)),
    outdir: bundles,
    outbase: "test",
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node20",
    external: ["vscode"],
    sourcemap: "inline",
    logLevel: "warning",
});

const files = tests.map((name) => path.join(bundles, name.replace(/\.ts$/, ".js")));
const run = spawn(process.execPath, ["--enable-source-maps", "--test", ...files], { stdio: "inherit" });
// an interrupted run ends with its tests, and then takes its folder away
for (const signal of ["SIGINT", "SIGTERM"]) {
    process.on(signal, () => run.kill(signal));
}
const [code] = await once(run, "exit");
process.exitCode = code ?? 1;
