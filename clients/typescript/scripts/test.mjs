// Builds the package and its tests, and runs them. Arguments go to `node --test`.

import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import "./build.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const out = `${root}build/test`;
const names = readdirSync(`${root}test`).filter((name) => name.endsWith(".test.ts"));

rmSync(out, { recursive: true, force: true });
await build({
  entryPoints: names.map((name) => `${root}test/${name}`),
  outdir: out,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  packages: "external",
  platform: "node",
  format: "esm",
  target: "node20",
  sourcemap: "inline",
});
const files = names.map((name) => `${out}/${name.replace(/\.ts$/, ".mjs")}`);
const options = ["--enable-source-maps", "--test", "--test-timeout=300000"];
const { status } = spawnSync(process.execPath, [...options, ...process.argv.slice(2), ...files], {
  cwd: root,
  stdio: "inherit",
});
process.exitCode = status ?? 1;
