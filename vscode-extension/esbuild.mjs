// Bundles the extension into dist/extension.js, and the licences of what it holds into dist/NOTICES.txt.
// --production: smaller, without a source map; --watch: again at each change.
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import * as esbuild from "esbuild";

const production = process.argv.includes("--production");
const options = {
    entryPoints: ["src/extension.ts"],
    outfile: "dist/extension.js",
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node20",
    external: ["vscode"],
    minify: production,
    sourcemap: production ? false : "linked",
    logLevel: "info",
    metafile: true,
};

function notices({ inputs }) {
    const packages = Object.keys(inputs).flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []);
    return [...new Set(packages)].sort().map((folder) => {
        const { name, version } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
        const licence = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
        if (licence === undefined) throw new Error(`${folder} has no licence`);
        return `${name} ${version}\n\n${readFileSync(path.join(folder, licence), "utf8").trim()}\n`;
    });
}

if (process.argv.includes("--watch")) {
    const context = await esbuild.context(options);
    await context.watch();
} else {
    rmSync("dist", { recursive: true, force: true });
    const { metafile } = await esbuild.build(options);
    writeFileSync("dist/NOTICES.txt", notices(metafile).join(`\n${"-".repeat(80)}\n\n`));
}
