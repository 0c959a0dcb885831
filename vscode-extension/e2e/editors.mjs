/** The editors of files: texts, diffs, and diffs of several files. */
import assert from "node:assert/strict";
import { happens, still, until, untilEqual } from "./waiting.mjs";
import { SHOWN_WITHIN, exactly, plain } from "./workbench.mjs";

/** @typedef {import("playwright-core").Locator} Locator */

/**
 * The lines that an editor shows, from the top.
 *
 * @param {Locator} editor
 */
async function lines(editor) {
  // the editor reuses its line elements: their order in the page is not that of the file
  const drawn = await editor.locator(".view-lines > .view-line").evaluateAll((elements) =>
    elements
      .map((element) => ({
        top: parseFloat(/** @type {HTMLElement} */ (element).style.top),
        text: element.textContent ?? "",
      }))
      .sort((a, b) => a.top - b.top)
      .map(({ text }) => text),
  );
  return drawn.map(plain);
}

/**
 * The lines of a text, as an editor numbers them.
 *
 * @param {string} text
 */
export function linesOf(text) {
  return text.split("\n");
}

/** The editor of one file. */
export class TextEditor {
  /** @param {import("./workbench.mjs").Workbench} workbench */
  constructor(workbench) {
    this.workbench = workbench;
    this.page = workbench.page;
    this.editor = this.page.locator(
      ".editor-group-container.active .editor-instance .monaco-editor:not(.monaco-diff-editor .monaco-editor, .review-widget .monaco-editor)",
    );
  }

  /**
   * Opens a file at the top of the project, to stay open.
   *
   * @param {string} file
   */
  async open(file) {
    await this.workbench.show("Explorer");
    const rows = this.page.locator(".explorer-folders-view .monaco-list-rows");
    const row = rows.locator(".monaco-list-row", { hasText: file });
    await row.waitFor();
    // a new file moves the others down, under the pointer
    await still(rows);
    await row.dblclick();
    await this.workbench.activeTab.filter({ hasText: file }).waitFor();
    await this.editor.waitFor();
  }

  /** The lines that it shows. */
  lines() {
    return lines(this.editor);
  }

  /**
   * Waits until it shows exactly a text.
   *
   * @param {string} text
   */
  async shows(text) {
    await untilEqual("the editor's text", () => this.lines(), linesOf(text));
  }

  /**
   * Types before the first character of a line.
   *
   * @param {number} line From 1.
   * @param {string} text
   */
  async typeAt(line, text) {
    await this.goTo(line);
    await this.page.keyboard.type(text);
  }

  /**
   * Puts the cursor before the first character of a line.
   *
   * @param {number} line From 1.
   */
  async goTo(line) {
    await this.workbench.fillInput("Control+G", `:${line}:1`);
    await this.page.keyboard.press("Enter");
    await this.workbench.quickInput.waitFor({ state: "hidden" });
    await this.isAt(line);
  }

  /**
   * Waits until the cursor is before the first character of a line.
   *
   * @param {number} line From 1.
   */
  async isAt(line) {
    await this.page.locator(".statusbar-item", { hasText: new RegExp(`^Ln ${line}, Col 1$`) }).waitFor();
  }

  /** The colours of the lines that are drawn around whole lines of the text. */
  borders() {
    return this.editor.locator(".view-overlays [class*='ced-']").evaluateAll((elements) =>
      elements.flatMap((element) => {
        const { borderLeftWidth, borderLeftColor, borderTopWidth, borderTopColor } = getComputedStyle(element);
        const isDrawn = (/** @type {string} */ width) => parseFloat(width) > 0;
        return isDrawn(borderLeftWidth) ? [borderLeftColor] : isDrawn(borderTopWidth) ? [borderTopColor] : [];
      }),
    );
  }

  /** What stands behind the ends of lines, and is no part of the file. */
  async lineEnd() {
    return (await this.#drawnBehind()).map(({ text }) => text).join();
  }

  /** Puts the pointer on what stands behind the end of a line. */
  async pointAtLineEnd() {
    const [drawn] = await this.#drawnBehind();
    assert.ok(drawn !== undefined, "nothing stands behind the end of a line");
    const { right, middle } = drawn;
    await this.page.mouse.move(right - 40, middle);
    await this.page.mouse.move(right - 30, middle);
  }

  /** @returns {Promise<{ text: string, right: number, middle: number }[]>} */
  #drawnBehind() {
    return this.editor.locator(".view-lines .view-line span").evaluateAll((elements) =>
      elements.flatMap((element) => {
        const content = getComputedStyle(element, "::after").content;
        const { right, top, bottom } = element.getBoundingClientRect();
        return /^".+"$/.test(content) ? [{ text: content.slice(1, -1), right, middle: (top + bottom) / 2 }] : [];
      }),
    );
  }

  /**
   * Puts the pointer on a line.
   *
   * @param {string} text The whole of it.
   */
  async pointAt(text) {
    const line = this.editor.locator(".view-line", { hasText: exactly(text) });
    await line.locator("span").last().hover();
  }

  /**
   * The links of this text above lines.
   *
   * @param {string | RegExp} text
   */
  lenses(text) {
    const links = this.editor.locator(".codelens-decoration a");
    return links.filter({ hasText: typeof text === "string" ? exactly(text) : text });
  }

  /**
   * Presses the topmost of these links, once all of them are those of the text as it is: the editor draws them anew a
   * moment after they are others.
   *
   * @param {string} text
   */
  async pressLens(text) {
    await still(this.editor.locator(".contentWidgets"));
    const links = this.lenses(text);
    // their order in the page is not that of the file
    const tops = await links.evaluateAll((elements) => elements.map((each) => each.getBoundingClientRect().top));
    await links.nth(tops.indexOf(Math.min(...tops))).click();
  }

  /** The threads of comments that are open in it. */
  get threads() {
    return this.page.locator(".editor-group-container.active .review-widget");
  }

  /**
   * Opens a thread by its sign. VS Code folds a thread a moment after it was resolved, also when it is just being opened.
   *
   * @param {Locator} sign
   * @param {string} text In the thread.
   */
  async openThread(sign, text) {
    const thread = this.threads.filter({ hasText: text });
    await until(`the thread with ${text} is open`, async () => {
      await sign.click();
      return happens(thread.waitFor({ timeout: SHOWN_WITHIN }));
    });
  }

  /** The numbers of the lines that have the sign of a comment. */
  async commentedLines() {
    const tops = (/** @type {string} */ selector) =>
      this.editor
        .locator(`.margin-view-overlays ${selector}`)
        .evaluateAll((elements) =>
          elements.map((each) => [each.textContent ?? "", Math.round(each.getBoundingClientRect().top)]),
        );
    const [signs, numbers] = await Promise.all([tops("[class*='comment-thread']"), tops(".line-numbers")]);
    return signs.map(([, top]) => numbers.find(([, other]) => other === top)?.[0]);
  }

  /**
   * Comments on a line.
   *
   * @param {number} line From 1.
   * @param {string} comment
   */
  async comment(line, comment) {
    await this.goTo(line);
    await this.workbench.run("Comments: Add Comment on Current Selection");
    await this.typeComment(comment, "Comment");
  }

  /**
   * Types into the thread that is open, and presses a button below.
   *
   * @param {string} text
   * @param {string} button
   */
  async typeComment(text, button) {
    const field = this.threads.locator(".comment-form .monaco-editor");
    const reply = this.threads.locator(".review-thread-reply-button");
    await until("there is a field", async () => {
      if ((await reply.count()) > 0 && (await reply.first().isVisible())) {
        await reply.first().click();
      }
      return (await field.count()) > 0 && (await field.first().isVisible());
    });
    await field.first().locator(".view-lines").click();
    await this.page.keyboard.type(text);
    await this.threads.locator(".form-actions .monaco-button", { hasText: exactly(button) }).click();
  }

  get dirty() {
    return this.workbench.activeTab.and(this.page.locator(".dirty"));
  }

  async save() {
    await this.page.keyboard.press("Control+S");
    await this.dirty.waitFor({ state: "detached" });
  }
}

/** The editor that shows a file before and after. */
export class DiffEditor {
  /** @param {import("./workbench.mjs").Workbench} workbench */
  constructor(workbench) {
    this.workbench = workbench;
    this.page = workbench.page;
    this.editor = this.page.locator(".editor-group-container.active .editor-instance .monaco-diff-editor");
    this.before = this.editor.locator(".editor.original .monaco-editor");
    this.after = this.editor.locator(".editor.modified .monaco-editor");
    this.differences = this.editor.locator(".line-insert, .line-delete");
  }

  /**
   * Waits until both sides are exactly these texts.
   *
   * @param {string} before
   * @param {string} after
   */
  async shows(before, after) {
    await untilEqual("the side before", () => lines(this.before), linesOf(before));
    await untilEqual("the side after", () => lines(this.after), linesOf(after));
    if (before !== after) {
      await until("the differences are marked", async () => (await this.differences.count()) > 0);
    }
  }

  /**
   * The links of this text above lines of the side after.
   *
   * @param {string} text
   */
  lenses(text) {
    return this.after.locator(".codelens-decoration a").filter({ hasText: exactly(text) });
  }

  /**
   * Selects whole lines of the side after.
   *
   * @param {number} first From 1.
   * @param {number} last
   */
  async select(first, last) {
    await this.after.locator(".view-lines").click();
    await this.page.keyboard.press("Control+Home");
    for (let line = 1; line < first; line += 1) {
      await this.page.keyboard.press("ArrowDown");
    }
    for (let line = first; line < last; line += 1) {
      await this.page.keyboard.press("Shift+ArrowDown");
    }
    await this.page.keyboard.press("Shift+End");
  }
}

/** The editor that shows several files before and after. */
export class MultiDiffEditor {
  /** @param {import("./workbench.mjs").Workbench} workbench */
  constructor(workbench) {
    this.page = workbench.page;
    this.entries = this.page.locator(".editor-group-container.active .multiDiffEntry");
  }

  /**
   * Waits until it shows these files, with these texts before and after.
   *
   * @param {Record<string, [before: string, after: string]>} files By the name that the heading shows.
   */
  async shows(files) {
    for (const [file, [before, after]] of Object.entries(files)) {
      await this.#unfold(file);
      const entry = this.#entry(file);
      await untilEqual(
        `${file} before`,
        () => lines(entry.locator(".editor.original .monaco-editor")),
        linesOf(before),
      );
      await untilEqual(`${file} after`, () => lines(entry.locator(".editor.modified .monaco-editor")), linesOf(after));
    }
  }

  /**
   * Shows what is hidden of a file because it did not change.
   *
   * @param {string} file
   */
  async #unfold(file) {
    const entry = this.#entry(file);
    await entry.locator(".editor.modified .view-line").first().waitFor();
    const hidden = entry.locator(".editor.modified .diff-hidden-lines a");
    while ((await hidden.count()) > 0) {
      const left = await hidden.count();
      await hidden.first().click();
      await until("hidden lines are shown", async () => (await hidden.count()) < left);
    }
  }

  /** @param {string} file */
  #entry(file) {
    return this.entries.filter({ has: this.page.locator(".file-path", { hasText: file }) }).first();
  }

  /** The headings that say that a file was renamed. */
  renames() {
    return this.entries.locator(".file-path .status.renamed").allInnerTexts();
  }
}
