/** The editor's server, with the extension in it. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { editorEntry } from "./install.mjs";
import { until } from "./waiting.mjs";

const ENDS_WITHIN = 5_000;

/** What keeps the editor quiet, and its pictures the same each time. */
const SETTINGS = {
  "workbench.startupEditor": "none",
  // rows that stay at the top of a tree cover the row to which the browser scrolls
  "workbench.tree.enableStickyScroll": false,
  "workbench.welcomePage.walkthroughs.openOnInstall": false,
  "workbench.tips.enabled": false,
  "workbench.colorTheme": "Default Dark Modern",
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "workbench.editor.enablePreview": true,
  "chat.commandCenter.enabled": false,
  "telemetry.telemetryLevel": "off",
  "extensions.autoUpdate": false,
  "extensions.autoCheckUpdates": false,
  "extensions.ignoreRecommendations": true,
  "git.openRepositoryInParentFolders": "never",
  "files.autoSave": "off",
  "editor.minimap.enabled": false,
  // those of a snapshot tell the temporary folder
  "breadcrumbs.enabled": false,
  // what is typed is what is in the file
  "editor.autoIndent": "none",
  "editor.autoClosingBrackets": "never",
  // text that is drawn on a canvas cannot be read
  "terminal.integrated.gpuAcceleration": "off",
  "editor.quickSuggestions": { other: "off", comments: "off", strings: "off" },
  "editor.acceptSuggestionOnEnter": "off",
  "editor.wordBasedSuggestions": "off",
  "diffEditor.renderSideBySide": true,
  "diffEditor.useInlineViewWhenSpaceIsLimited": false,
};

export class Editor {
  #process;
  #log;
  /** @type {Record<string, string>} */
  #shown;

  /**
   * Installs the extension and starts the server.
   *
   * @param {import("./world.mjs").World} world
   * @param {string} vsix
   * @param {import("./stage.mjs").Setting} setting
   */
  static async start(world, vsix, setting) {
    const editor = new Editor(world, vsix, await freePort(), setting);
    world.atEnd(() => editor.stop());
    await until("the editor's server answers", () => editor.#answers());
    return editor;
  }

  /**
   * @param {import("./world.mjs").World} world
   * @param {string} vsix
   * @param {number} port
   * @param {import("./stage.mjs").Setting} setting
   */
  constructor(world, vsix, port, { untrusted, alone, within = "", folders = [] }) {
    this.data = path.join(world.root, "editor");
    this.origin = `http://127.0.0.1:${port}`;
    writeSettings(path.join(this.data, "User"), SETTINGS);
    if (alone !== true) {
      // a setting of the machine: among those of the user, the editor forgets it once one of these is another
      writeSettings(path.join(this.data, "Machine"), { "snapd.path": world.launcher });
    }
    const folder = path.join(world.project, within);
    this.#shown = folders.length === 0 ? { folder } : { workspace: workspaceOf(world, folders) };
    // there is no marketplace to ask
    const env = { ...world.environment(), EXTENSIONS_GALLERY: JSON.stringify({ serviceUrl: "" }) };
    const places = ["--user-data-dir", this.data, "--extensions-dir", path.join(world.root, "extensions")];
    const program = [editorEntry(), ...places];
    execFileSync(process.execPath, [...program, "--install-extension", vsix], { env, stdio: "pipe" });
    const options = ["--auth", "none", "--bind-addr", `127.0.0.1:${port}`, "--ignore-last-opened"];
    options.push("--disable-telemetry", "--disable-update-check", "--disable-getting-started-override");
    if (untrusted !== true) {
      options.push("--disable-workspace-trust");
    }
    this.#log = path.join(world.root, "editor.log");
    const log = fs.openSync(this.#log, "a");
    // its own process group: it leaves children behind
    this.#process = spawn(process.execPath, [...program, ...options], {
      env,
      detached: true,
      stdio: ["ignore", log, log],
    });
    fs.closeSync(log);
  }

  /** The page that shows the project. */
  get address() {
    return `${this.origin}/?${new URLSearchParams(this.#shown)}`;
  }

  /** What the server and the extension logged. */
  logs() {
    const folder = path.join(this.data, "logs");
    const names = fs.existsSync(folder) ? fs.readdirSync(folder, { recursive: true, encoding: "utf8" }) : [];
    const ours = names.filter((name) => /snapd.*\.log$/i.test(path.basename(name)) || /remoteexthost\.log$/.test(name));
    return [this.#log, ...ours.map((name) => path.join(folder, name))]
      .map((file) => `--- ${file}\n${fs.readFileSync(file, "utf8")}`)
      .join("\n");
  }

  async stop() {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) {
      return;
    }
    const gone = once(this.#process, "exit");
    this.#signal("SIGTERM");
    const late = setTimeout(() => this.#signal("SIGKILL"), ENDS_WITHIN);
    await gone;
    clearTimeout(late);
    // its children, which may outlive it
    this.#signal("SIGKILL");
  }

  /** @param {NodeJS.Signals} signal */
  #signal(signal) {
    try {
      process.kill(-(/** @type {number} */ (this.#process.pid)), signal);
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== "ESRCH") {
        throw error;
      }
    }
  }

  async #answers() {
    if (this.#process.exitCode !== null) {
      throw new Error(`the editor's server ended with ${this.#process.exitCode}:\n${this.logs()}`);
    }
    try {
      return (await fetch(`${this.origin}/healthz`)).ok;
    } catch {
      // not listening yet
      return false;
    }
  }
}

/**
 * @param {string} folder
 * @param {object} settings
 */
function writeSettings(folder, settings) {
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, "settings.json"), JSON.stringify(settings));
}

/**
 * A file that names several folders, to open them in one window.
 *
 * @param {import("./world.mjs").World} world
 * @param {string[]} others Besides the project.
 */
function workspaceOf(world, others) {
  const file = path.join(world.root, "all.code-workspace");
  const folders = [world.project, ...others.map((name) => world.addFolder(name, { "index.md": `# ${name}\n` }))];
  fs.writeFileSync(file, JSON.stringify({ folders: folders.map((folder) => ({ path: folder })) }));
  return file;
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = /** @type {net.AddressInfo} */ (server.address());
      server.close(() => resolve(port));
    });
  });
}
