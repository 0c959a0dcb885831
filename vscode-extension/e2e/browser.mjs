/** The browser that shows the editor. */
import { chromium } from "playwright-core";
import { browserPath } from "./install.mjs";
import { PATIENCE } from "./waiting.mjs";

const WIDE_ENOUGH_FOR_A_DIFF = { width: 1400, height: 850 };
const SMALL = { viewport: { width: 960, height: 560 }, deviceScaleFactor: 2 };
const HOST = "127.0.0.1";
const WEB_VIEWS = /\.vscode-cdn\.net$/;
const ABORTED = "net::ERR_ABORTED";

export class Browser {
  /** Hosts other than the editor's that the page asked something. */
  foreignHosts = new Set();

  /**
   * @param {import("playwright-core").Browser} browser
   * @param {import("playwright-core").Page} page
   */
  constructor(browser, page) {
    this.browser = browser;
    this.page = page;
  }

  /**
   * Shows an editor.
   *
   * @param {import("./world.mjs").World} world
   * @param {import("./editor.mjs").Editor} editor
   * @param {boolean} small The window, on a screen with four points for each of the page.
   */
  static async open(world, editor, small = false) {
    const options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"];
    options.push("--disable-sync", "--no-first-run", "--disable-quic");
    options.push(`--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE ${HOST}`);
    const executablePath = /** @type {string} */ (browserPath());
    const chrome = await chromium.launch({ executablePath, headless: true, args: options });
    world.atEnd(() => chrome.close());
    const context = await chrome.newContext(small ? SMALL : { viewport: WIDE_ENOUGH_FOR_A_DIFF });
    context.setDefaultTimeout(PATIENCE);
    const page = await context.newPage();
    const browser = new Browser(chrome, page);
    page.on("requestfailed", (request) => {
      // what a web view shows has an address on a host that is never asked: if it is closed meanwhile, nobody answers
      if (!WEB_VIEWS.test(new URL(request.url()).hostname) || request.failure()?.errorText !== ABORTED) {
        browser.#asked(request.url());
      }
    });
    page.on("response", (response) => {
      // otherwise, the page itself answers
      if (!response.fromServiceWorker()) {
        browser.#asked(response.url());
      }
    });
    await page.goto(editor.address);
    await page.locator(".monaco-workbench").waitFor();
    return browser;
  }

  /** The widths of all pictures that are drawn. */
  async pictures() {
    return (await Promise.all(this.page.frames().map(pictureWidths))).flat();
  }

  /** @param {string} address */
  #asked(address) {
    const { protocol, hostname } = new URL(address);
    if (protocol.startsWith("http") && hostname !== HOST) {
      this.foreignHosts.add(hostname);
    }
  }
}

/**
 * The widths of the pictures in a frame.
 *
 * @param {import("playwright-core").Frame} frame
 */
async function pictureWidths(frame) {
  try {
    return await frame
      .locator("img")
      .evaluateAll((images) => images.map((image) => /** @type {HTMLImageElement} */ (image).naturalWidth));
  } catch (error) {
    // a frame that is loaded anew meanwhile has none yet
    if (/detached|destroyed|navigation/i.test(String(error))) {
      return [];
    }
    throw error;
  }
}
