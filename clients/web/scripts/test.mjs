// Bundles test/**/*.test.ts and runs them in Node's own runner. Arguments go to `node --test`.
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const out = path.join(root, "build/test");
const names = readdirSync(path.join(root, "test"), { recursive: true }).filter((name) => name.endsWith(".test.ts"));

rmSync(out, { recursive: true, force: true });
await build({
  absWorkingDir: root,
  entryPoints: names.map((name) => `test/${name}`),
  outdir: out,
  outbase: "test",
  outExtension: { ".js": ".mjs" },
  bundle: true,
  packages: "external",
  platform: "node",
  format: "esm",
  target: "node20",
  jsx: "automatic",
  jsxImportSource: "preact",
  sourcemap: "inline",
});
const files = names.map((name) => path.join(out, name.replace(/\.ts$/, ".mjs")));
const options = ["--enable-source-maps", "--test", "--test-timeout=300000"];
const { status } = spawnSync(process.execPath, [...options, ...process.argv.slice(2), ...files], {
  cwd: root,
  stdio: "inherit",
});
process.exitCode = status ?? 1;
