// Builds the page into snapd/web/page/, with the licences of what it holds in NOTICES.txt. --watch: again at each change.
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const target = path.join(root, "../../snapd/web/page");
const watching = process.argv.includes("--watch");
const fresh = watching ? target : path.join(root, "build", String(process.pid));

const options = {
  absWorkingDir: root,
  entryPoints: { app: "src/main.tsx" },
  outdir: fresh,
  bundle: true,
  // what is not needed at once, such as the grammars, is loaded later
  splitting: true,
  chunkNames: "chunk-[hash]",
  format: "esm",
  platform: "browser",
  target: ["chrome110", "firefox115", "safari16"],
  jsx: "automatic",
  jsxImportSource: "preact",
  minify: !watching,
  sourcemap: watching ? "linked" : false,
  legalComments: "none",
  logLevel: "warning",
  metafile: true,
};

function notices({ inputs }) {
  const packages = Object.keys(inputs).flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []);
  return [...new Set(packages)].sort().map((name) => {
    const folder = path.join(root, name);
    const { name: title, version } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
    const licence = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
    if (licence === undefined) throw new Error(`${folder} has no licence`);
    return `${title} ${version}\n\n${readFileSync(path.join(folder, licence), "utf8").trim()}\n`;
  });
}

mkdirSync(fresh, { recursive: true });
cpSync(path.join(root, "static"), fresh, { recursive: true });
if (watching) {
  const context = await esbuild.context(options);
  await context.watch();
} else {
  const { metafile } = await esbuild.build(options);
  writeFileSync(path.join(fresh, "NOTICES.txt"), notices(metafile).join(`\n${"-".repeat(80)}\n\n`));
  // what is there works until what is new is complete
  rmSync(target, { recursive: true, force: true });
  mkdirSync(path.dirname(target), { recursive: true });
  renameSync(fresh, target);
}
