/**
 * Installs what the end-to-end tests run on, below a cache outside the checkout; does nothing where it is there already.
 *
 *     node install.mjs
 */
import { execFileSync } from "node:child_process";
import crypto from "node:crypto";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const HERE = path.dirname(fileURLToPath(import.meta.url));

/** The editor, and the search program that its own installer would fetch from elsewhere. */
const EDITOR_VERSION = "4.100.3";
const RIPGREP_VERSION = "1.18.0";
const RIPGREP = `@vscode/ripgrep-linux-${process.arch}`;

/** Changes whenever what is installed does: an older install is made anew. */
const STAMP = `code-server ${EDITOR_VERSION}, ripgrep ${RIPGREP_VERSION}, node ${process.versions.modules}, recipe 2\n`;

/** Native modules of the editor that are compiled here. */
const NATIVE = ["@vscode/spdlog", "native-watchdog", "node-pty"];

/** Each command that is needed, with Debian's package that has it. */
const COMMANDS = { chromium: "chromium", "g++": "g++", make: "make", python3: "python3", git: "git" };

/** Where all of it is kept. */
export function cacheFolder() {
  const home = process.env.XDG_CACHE_HOME ?? path.join(os.homedir(), ".cache");
  return path.resolve(process.env.SNAPD_E2E_CACHE ?? path.join(home, "snapd-e2e"));
}

/** The script that starts the editor's server. */
export function editorEntry() {
  return entryIn(editorFolder());
}

/** The browser, or undefined where there is none. */
export function browserPath() {
  return find("chromium");
}

function editorFolder() {
  return path.join(cacheFolder(), "editor");
}

/** @param {string} folder */
function entryIn(folder) {
  return path.join(folder, "node_modules/code-server/out/node/entry.js");
}

/**
 * The path of a command.
 *
 * @param {string} command
 */
function find(command) {
  return (process.env.PATH ?? "")
    .split(path.delimiter)
    .map((folder) => path.join(folder, command))
    .find((file) => fs.existsSync(file));
}

/**
 * Runs a program to its end, and tells what it said only where it failed.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd: string, env?: Record<string, string> }} options
 */
function run(command, args, { cwd, env = {} }) {
  try {
    return execFileSync(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      maxBuffer: 1 << 28,
      encoding: "utf8",
    });
  } catch (error) {
    const { stdout = "", stderr = "" } = /** @type {{ stdout?: string, stderr?: string }} */ (error);
    const said = `${stdout}${stderr}`.trimEnd().split("\n").slice(-40).join("\n");
    throw new Error(`${command} ${args.join(" ")} failed in ${cwd}:\n${said}`, { cause: error });
  }
}

export function installCommands(wanted = Object.keys(COMMANDS)) {
  const missing = Object.entries(COMMANDS).filter(
    ([command]) => wanted.includes(command) && find(command) === undefined,
  );
  if (missing.length === 0) {
    return;
  }
  const packages = missing.map(([, name]) => name);
  if (process.getuid?.() !== 0 || find("apt-get") === undefined) {
    const names = missing.map(([command]) => command).join(", ");
    throw new Error(`missing: ${names}; on Debian: apt-get install ${packages.join(" ")}`);
  }
  console.log(`installing ${packages.join(", ")}`);
  const env = { DEBIAN_FRONTEND: "noninteractive" };
  run("apt-get", ["update"], { cwd: "/", env });
  run("apt-get", ["install", "--yes", "--no-install-recommends", ...packages], { cwd: "/", env });
}

/** Node's own headers where it was installed with them, so that none are downloaded. */
function compileEnvironment() {
  const prefix = path.dirname(path.dirname(fs.realpathSync(process.execPath)));
  return fs.existsSync(path.join(prefix, "include/node/node.h")) ? { npm_config_nodedir: prefix } : {};
}

/** npm's own copy of node-gyp. */
function nodeGyp() {
  const npm = fs.realpathSync(/** @type {string} */ (find("npm")));
  return createRequire(npm).resolve("node-gyp/bin/node-gyp.js");
}

/**
 * Builds the whole editor in an empty folder.
 *
 * @param {string} folder
 */
function buildEditor(folder) {
  const env = compileEnvironment();
  const dependencies = { "code-server": EDITOR_VERSION, [RIPGREP]: RIPGREP_VERSION };
  fs.writeFileSync(path.join(folder, "package.json"), JSON.stringify({ private: true, dependencies }));
  run("npm", ["install", "--ignore-scripts"], { cwd: folder });
  // argon2's own script asks the network for a compiled file first
  run("npm", ["rebuild", "argon2", "--build-from-source"], { cwd: folder, env });

  const code = path.join(folder, "node_modules/code-server/lib/vscode");
  run("npm", ["install", "--ignore-scripts", "--omit=dev"], { cwd: code });
  run("npm", ["install", "--ignore-scripts", "--omit=dev"], { cwd: path.join(code, "extensions") });
  for (const name of NATIVE) {
    run(process.execPath, [nodeGyp(), "rebuild"], { cwd: path.join(code, "node_modules", name), env });
  }
  const search = path.join(code, "node_modules/@vscode/ripgrep/bin");
  fs.mkdirSync(search, { recursive: true });
  fs.copyFileSync(path.join(folder, "node_modules", RIPGREP, "bin/rg"), path.join(search, "rg"));
  shareServiceWorker(code);
  // the server looks for its modules under the name that they have in a desktop build
  fs.symlinkSync("node_modules", path.join(code, "node_modules.asar"));

  const loads = [...NATIVE, "@parcel/watcher"].map((name) => `require(${JSON.stringify(name)})`).join(";");
  run(process.execPath, ["-e", loads], { cwd: code });
  const version = run(process.execPath, [entryIn(folder), "--version"], {
    cwd: folder,
    env: { HOME: folder, XDG_CONFIG_HOME: path.join(folder, ".config") },
  });
  // what it logs about its settings stands around the version
  if (!version.split("\n").some((line) => line.startsWith(`${EDITOR_VERSION} `))) {
    throw new Error(`the editor does not say that it is ${EDITOR_VERSION}: ${version.trim()}`);
  }
}

/**
 * Has all web views share one service worker. The editor starts another one for each, at the same address: of two that
 * open at once, as in the diff of a picture, the later one ends the earlier one's worker while that loads its picture.
 *
 * @param {string} code
 */
function shareServiceWorker(code) {
  const page = path.join(code, "out/vs/workbench/contrib/webview/browser/pre/index.html");
  const script = /(?<=<script async type="module">).*?(?=<\/script>)/s;
  const before = fs.readFileSync(page, "utf8");
  const after = before.replace(/(service-worker\.js\?[^`]*)&id=\$\{ID\}/, "$1");
  const replaced = hashOf(script, before);
  if (after === before || !before.includes(replaced)) {
    throw new Error(`${page} is not as it was in code-server ${EDITOR_VERSION}`);
  }
  // the page allows the script of this hash alone
  fs.writeFileSync(page, after.replace(replaced, hashOf(script, after)));
}

/**
 * @param {RegExp} script
 * @param {string} page
 */
function hashOf(script, page) {
  return `sha256-${crypto
    .createHash("sha256")
    .update(script.exec(page)?.[0] ?? "")
    .digest("base64")}`;
}

/** Makes the editor aside and moves it into place whole, so that what is in place is complete. */
function installEditor() {
  const target = editorFolder();
  const stamp = path.join(target, "stamp");
  if (fs.existsSync(stamp) && fs.readFileSync(stamp, "utf8") === STAMP) {
    return;
  }
  installCommands();
  console.log(`installing code-server ${EDITOR_VERSION} into ${target}`);
  fs.mkdirSync(cacheFolder(), { recursive: true });
  const made = fs.mkdtempSync(path.join(cacheFolder(), "making-"));
  try {
    buildEditor(made);
    fs.writeFileSync(path.join(made, "stamp"), STAMP);
    fs.rmSync(target, { recursive: true, force: true });
    fs.renameSync(made, target);
    // a gigabyte: whatever is made durable next would wait until all of it is on the disk
    run("sync", [], { cwd: target });
  } catch (error) {
    fs.rmSync(made, { recursive: true, force: true });
    throw error;
  }
}

function installModules() {
  const lock = path.join(HERE, "package-lock.json");
  const installed = path.join(HERE, "node_modules/.package-lock.json");
  if (fs.existsSync(installed) && fs.statSync(installed).mtimeMs >= fs.statSync(lock).mtimeMs) {
    return;
  }
  run("npm", ["ci"], { cwd: HERE });
}

/** Installs what is missing. */
export function install() {
  installCommands(["chromium", "git"]);
  installModules();
  installEditor();
}

if (process.argv[1] !== undefined && fs.realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const start = performance.now();
  install();
  console.log(`the editor is in ${editorFolder()} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
}
