/** The browser that shows the page. */
import { chromium } from "playwright-core";
import { browserPath } from "../../../vscode-extension/e2e/install.mjs";
import { PATIENCE } from "../../../vscode-extension/e2e/waiting.mjs";

const HOST = "127.0.0.1";
const WIDE = { width: 1440, height: 900 };

/** What the browser itself says of answers that are no success: the page says that better. */
const EXPECTED = /^Failed to load resource/;

export class Browser {
  /** What should not have happened on any page. */
  /** @type {string[]} */
  #wrongs = [];
  #chrome;

  /** @param {import("playwright-core").Browser} chrome */
  constructor(chrome) {
    this.#chrome = chrome;
  }

  /** @param {import("../../../vscode-extension/e2e/world.mjs").World} world */
  static async start(world) {
    const args = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"];
    args.push(
      "--disable-sync",
      "--no-first-run",
      "--disable-quic",
      `--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE ${HOST}`,
    );
    const executablePath = /** @type {string} */ (browserPath());
    const chrome = await chromium.launch({ executablePath, headless: true, args });
    world.atEnd(() => chrome.close());
    return new Browser(chrome);
  }

  /**
   * Opens a page in a browser without a past.
   *
   * @param {string} address
   * @param {import("playwright-core").BrowserContextOptions} options
   */
  async open(address, options = {}) {
    const context = await this.#chrome.newContext({ viewport: WIDE, ...options });
    context.setDefaultTimeout(PATIENCE);
    const page = await context.newPage();
    page.on("pageerror", (error) => this.#wrongs.push(`an error was thrown: ${error.stack}`));
    page.on("console", (message) => {
      if (message.type() === "error" && !EXPECTED.test(message.text())) {
        this.#wrongs.push(`the console says: ${message.text()}`);
      }
    });
    page.on("dialog", (dialog) => {
      this.#wrongs.push(`a dialog opened: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("request", (request) => {
      const { protocol, host } = new URL(request.url());
      if (protocol.startsWith("http") && host !== new URL(address).host) {
        this.#wrongs.push(`the page asked ${request.url()}`);
      }
    });
    await page.goto(address);
    return page;
  }

  /** Fails if something happened that never should. */
  check() {
    if (this.#wrongs.length > 0) {
      throw new Error(this.#wrongs.join("\n"));
    }
  }
}
