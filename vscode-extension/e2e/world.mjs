/** Where a test takes place: a git folder with a small project, a home, and snapd with a daemon of its own. */
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { picture } from "./picture.mjs";

const BASKET = `"""What a customer wants to buy."""


def total(prices):
    return sum(prices)


def discount(amount):
    return amount


def show(amount):
    return str(amount)
`;

const TESTS = `from basket import discount, total


def test_total():
    assert total([1.5, 2.5]) == 4.0
`;

/** The project as it is before any agent comes. */
const PROJECT = {
  ".gitignore": "*.tmp\n",
  "README.md": "# Basket\n\nA small shop.\n",
  "basket.py": BASKET,
  "tests/test_basket.py": TESTS,
  "assets/logo.png": picture([38, 132, 255], [255, 255, 255]),
};

export class World {
  /** @type {(() => unknown)[]} */
  #endings = [];
  #hold;

  /**
   * Makes it, in a new temporary folder.
   *
   * @param {string} [snapd] The program; else the one inside the extension, where that unpacks itself.
   */
  constructor(snapd) {
    this.root = fs.mkdtempSync(path.join(os.tmpdir(), "snapd-e2e-"));
    this.project = this.#folder("shop");
    this.home = this.#folder("home");
    this.snapd = path.resolve(snapd ?? path.join(this.home, ".local/share/snapd/program/snapd"));
    this.temporary = this.#folder("tmp");
    this.data = this.#folder("data");
    this.runtime = this.#folder("run");
    fs.chmodSync(this.runtime, 0o700);
    this.#fill(this.project, PROJECT);
    this.#hold = path.join(this.root, "hold");
    this.launcher = path.join(this.#folder("bin"), "snapd");
    const wait = `while [ -e '${this.#hold}' ]; do sleep 0.1; done`;
    fs.writeFileSync(this.launcher, `#!/bin/sh\n${wait}\nexec '${this.snapd}' "$@"\n`, { mode: 0o755 });
  }

  /**
   * Makes another git folder.
   *
   * @param {string} name
   * @param {Record<string, string | Buffer>} files
   */
  addFolder(name, files) {
    const folder = this.#folder(name);
    this.#fill(folder, files);
    return folder;
  }

  /** From now on, the editor's snapd starts and does nothing; agents have their own. */
  hold() {
    fs.writeFileSync(this.#hold, "");
  }

  /** Lets the editor's snapd go on. */
  release() {
    fs.rmSync(this.#hold);
  }

  /** The environment of everything that runs in it. */
  environment() {
    return {
      PATH: withoutSnapd(process.env.PATH ?? ""),
      LANG: "C.UTF-8",
      HOME: this.home,
      TMPDIR: this.temporary,
      XDG_CACHE_HOME: path.join(this.home, ".cache"),
      XDG_CONFIG_HOME: path.join(this.home, ".config"),
      XDG_DATA_HOME: path.join(this.home, ".local/share"),
      XDG_RUNTIME_DIR: this.temporary,
      SNAPD_DATA_DIR: this.data,
      SNAPD_RUNTIME_DIR: this.runtime,
    };
  }

  /**
   * Runs git, and gives what it prints.
   *
   * @param {string[]} words
   */
  git(words, folder = this.project) {
    return execFileSync("git", words, { cwd: folder, env: this.environment(), encoding: "utf8" });
  }

  /**
   * Commits what is staged.
   *
   * @param {string} message
   */
  commit(message, folder = this.project) {
    const person = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    this.git([...person, "commit", "--quiet", `--message=${message}`], folder);
  }

  /**
   * The text of a file.
   *
   * @param {string} file
   * @param {string} folder
   */
  read(file, folder = this.project) {
    return fs.readFileSync(path.join(folder, file), "utf8");
  }

  /** @param {string} file */
  exists(file) {
    return fs.existsSync(path.join(this.project, file));
  }

  /**
   * @param {string} file
   * @param {string | Buffer} content
   * @param {string} folder
   */
  write(file, content, folder = this.project) {
    const target = path.join(folder, file);
    fs.mkdirSync(path.dirname(target), { recursive: true });
    fs.writeFileSync(target, content);
  }

  /** @param {string} file */
  remove(file) {
    fs.rmSync(path.join(this.project, file));
  }

  get socket() {
    return path.join(this.runtime, "daemon.sock");
  }

  /** The process of the daemon, or undefined where none has started. */
  daemon() {
    const note = `${this.socket}.pid`;
    const id = fs.existsSync(note) ? Number(fs.readFileSync(note, "ascii")) : Number.NaN;
    return Number.isInteger(id) && isRunning(id) ? id : undefined;
  }

  /**
   * Does something when the world ends; what was asked for last comes first.
   *
   * @param {() => unknown} ending
   */
  atEnd(ending) {
    this.#endings.push(ending);
  }

  /** Ends all that was started in it, and removes it. */
  async end() {
    for (const ending of this.#endings.reverse()) {
      await ending();
    }
    if (fs.existsSync(this.snapd)) {
      execFileSync(this.snapd, ["stop"], { env: this.environment(), stdio: "ignore" });
    }
    fs.rmSync(this.root, { recursive: true, force: true, maxRetries: 5 });
  }

  /** @param {string} name */
  #folder(name) {
    const folder = path.join(this.root, name);
    fs.mkdirSync(folder);
    return folder;
  }

  /**
   * @param {string} folder
   * @param {Record<string, string | Buffer>} files
   */
  #fill(folder, files) {
    for (const [file, content] of Object.entries(files)) {
      this.write(file, content, folder);
    }
    this.git(["init", "--quiet", "--initial-branch=main"], folder);
    this.git(["add", "."], folder);
    this.commit("Begin", folder);
  }
}

/**
 * The editor is to find the snapd that it is given, and no other.
 *
 * @param {string} searchPath
 */
function withoutSnapd(searchPath) {
  const folders = searchPath.split(path.delimiter);
  return folders.filter((folder) => !fs.existsSync(path.join(folder, "snapd"))).join(path.delimiter);
}

/** @param {number} id */
function isRunning(id) {
  try {
    process.kill(id, 0);
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === "ESRCH") {
      return false;
    }
    throw error;
  }
}
