// Compiles src/ twice: to ES modules and to CommonJS, each with its types.

import { execFileSync } from "node:child_process";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
const fresh = `${root}build/${process.pid}`;

for (const [kind, type] of [
  ["esm", "module"],
  ["cjs", "commonjs"],
]) {
  const args = [tsc, "--project", `${root}tsconfig.${kind}.json`, "--outDir", `${fresh}/${kind}`];
  execFileSync(process.execPath, args, { stdio: "inherit" });
  writeFileSync(`${fresh}/${kind}/package.json`, `${JSON.stringify({ type })}\n`);
}
// what is there works until what is new is complete
rmSync(`${root}dist`, { recursive: true, force: true });
renameSync(fresh, `${root}dist`);
