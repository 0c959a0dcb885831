/** A tree view in the side bar: its rows, and what a user does with them. */
import { happens, still, until, untilEqual } from "./waiting.mjs";
import { SHOWN_WITHIN, exactly, plain } from "./workbench.mjs";

/** @typedef {import("playwright-core").Locator} Locator */

export class TreeView {
  /**
   * @param {import("./workbench.mjs").Workbench} workbench
   * @param {string} title
   */
  constructor(workbench, title) {
    this.workbench = workbench;
    this.title = title;
    this.page = workbench.page;
    const header = this.page.locator(".pane-header", { has: this.page.locator("h3.title", { hasText: title }) });
    this.header = header;
    this.pane = this.page.locator(".split-view-view .pane", { has: header });
    this.rows = this.pane.locator(".monaco-list-row");
    this.welcome = this.pane.locator(".welcome-view-content");
  }

  /** Opens its part of the side bar. */
  async open() {
    await this.workbench.show("Agent Steps");
    await this.header.waitFor();
    if ((await this.header.getAttribute("aria-expanded")) === "false") {
      await this.header.click();
    }
  }

  /** Closes its part of the side bar. */
  async fold() {
    await this.header.click();
    await untilEqual("the view is folded", () => this.header.getAttribute("aria-expanded"), "false");
  }

  /**
   * The row that is called so.
   *
   * @param {string | RegExp} name Of its label, without what stands beside that.
   * @param {number} [level] From 1; any if it is left out.
   */
  row(name, level) {
    const label = this.page.locator(".label-name", { hasText: typeof name === "string" ? exactly(name) : name });
    const rows = level === undefined ? this.rows : this.pane.locator(`.monaco-list-row[aria-level="${level}"]`);
    return rows.filter({ has: label }).first();
  }

  /**
   * The names of the rows of a level, from the top.
   *
   * @param {number} level From 1.
   */
  async labelsAt(level) {
    const rows = this.pane.locator(`.monaco-list-row[aria-level="${level}"]`);
    const found = await rows.evaluateAll((elements) =>
      elements
        .map((element) => ({
          index: Number(element.getAttribute("data-index")),
          text: element.querySelector(".label-name")?.textContent ?? "",
        }))
        .sort((a, b) => a.index - b.index)
        .map(({ text }) => text),
    );
    return found.map(plain);
  }

  /** What the rows show, each with its place and whether it is unfolded. */
  drawn() {
    return this.rows.evaluateAll((elements) =>
      elements.map(
        (element) =>
          `${element.getAttribute("data-index")} ${element.getAttribute("aria-expanded")} ${element.textContent}`,
      ),
    );
  }

  /**
   * Waits until keys reach a row.
   *
   * @param {Locator} row
   */
  async isFocused(row) {
    await row.and(this.page.locator(".focused")).waitFor();
    await this.hasKeys();
  }

  /** Has the keys go to the view, without a pointer. A view that is drawn just then does not take them: then again. */
  async focusByKeys() {
    const focused = this.pane.locator(".monaco-list:focus");
    await until("the view has the keys", async () => {
      await this.workbench.runByKeys(`Agent Steps: Focus on ${this.title} View`);
      return happens(focused.waitFor({ timeout: SHOWN_WITHIN }));
    });
  }

  /** Waits until keys reach the view. */
  async hasKeys() {
    await this.pane.locator(".monaco-list:focus").waitFor();
  }

  /**
   * Waits until the rows stay where they are. A step or a save draws them anew a moment later: a click then reaches
   * the row that came there, or a button that is gone.
   */
  async settled() {
    await still(this.pane.locator(".monaco-list-rows").first());
  }

  /**
   * Scrolls until a row is not behind the head of the view: what came in above may have moved it there.
   *
   * @param {Locator} row
   */
  async uncovered(row) {
    await until("the row is below the head of the view", async () => {
      const [box, head] = [await row.boundingBox(), await this.header.boundingBox()];
      if (box === null || head === null) return false;
      const hidden = head.y + head.height - box.y;
      if (hidden <= 0) return true;
      await this.page.mouse.move(box.x + box.width / 2, head.y + head.height + box.height);
      await this.page.mouse.wheel(0, -hidden);
      await this.settled();
      return false;
    });
  }

  /**
   * Waits for a row, and scrolls up to it: rows that came in at the top are not drawn while the list is scrolled down.
   *
   * @param {Locator} row
   */
  async reveal(row) {
    await until("the row is in the list", async () => {
      if ((await row.count()) > 0) return true;
      const box = await this.pane.boundingBox();
      if (box === null) return false;
      await this.page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
      await this.page.mouse.wheel(0, -box.height);
      await this.settled();
      return false;
    });
    await row.waitFor();
  }

  /**
   * Unfolds a row.
   *
   * @param {Locator} row
   */
  async unfold(row) {
    await this.reveal(row);
    if ((await row.getAttribute("aria-expanded")) === "false") {
      await row.locator(".monaco-tl-twistie").click();
      await untilEqual("the row is unfolded", () => row.getAttribute("aria-expanded"), "true");
    }
  }

  /**
   * The rows below an unfolded one, one level deeper.
   *
   * @param {Locator} row
   */
  async children(row) {
    await this.unfold(row);
    const [index, level] = [Number(await row.getAttribute("data-index")), Number(await row.getAttribute("aria-level"))];
    /** @type {Locator[]} */
    const found = [];
    for (let next = index + 1; ; next += 1) {
      const candidate = this.pane.locator(`.monaco-list-row[data-index="${next}"]`);
      if ((await candidate.count()) === 0 || Number(await candidate.getAttribute("aria-level")) <= level) {
        return found;
      }
      found.push(candidate);
    }
  }

  /**
   * The row of a file below the row of a step.
   *
   * @param {Locator} step
   * @param {string} file
   * @returns {Promise<Locator>}
   */
  async fileOf(step, file) {
    // the rows are counted, and what comes in above moves the count
    await this.settled();
    const found = await until(`there is a row for ${file}`, async () => {
      for (const child of await this.children(step)) {
        if (((await child.textContent()) ?? "").startsWith(file)) {
          return child;
        }
      }
      return undefined;
    });
    return /** @type {Locator} */ (found);
  }

  /**
   * Clicks on the name of a row.
   *
   * @param {Locator} row
   */
  async click(row) {
    await row.waitFor();
    await this.settled();
    await this.uncovered(row);
    await row.locator(".label-name").click();
  }

  /**
   * Presses a button at the end of a row.
   *
   * @param {Locator} row
   * @param {string} name
   */
  async press(row, name) {
    await row.waitFor();
    await this.settled();
    await this.uncovered(row);
    await row.hover();
    await row.getByRole("button", { name }).click();
  }

  /**
   * Presses a button in the head of the view.
   *
   * @param {string} name
   */
  async pressTitle(name) {
    await this.pane.hover();
    await this.pane.locator(".pane-header").getByRole("button", { name }).click();
  }

  /**
   * Chooses from a row's menu.
   *
   * @param {Locator} row
   * @param {string} name
   */
  async choose(row, name) {
    await row.waitFor();
    await this.settled();
    await this.uncovered(row);
    await row.click({ button: "right" });
    const item = this.page.locator(".monaco-menu .action-item", {
      has: this.page.getByRole("menuitem", { name, exact: true }),
    });
    await item.hover();
    // a menu that has just opened takes no clicks, but keys
    await item.and(this.page.locator(".focused")).waitFor();
    await this.page.keyboard.press("Enter");
    await item.waitFor({ state: "hidden" });
  }
}
