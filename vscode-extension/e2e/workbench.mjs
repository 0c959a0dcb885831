/** What a user does with the editor's own parts: commands, questions, notifications, tabs. */
import { happens, until, untilEqual } from "./waiting.mjs";

/** Milliseconds from a click, or a command, to what it shows. */
export const SHOWN_WITHIN = 3_000;

/** Milliseconds until the palette has filtered its list, on a busy machine. */
const CHOSEN_WITHIN = 10_000;

/** A blank as the editor draws it. */
const DRAWN_BLANK = /\u00a0/g;

/**
 * The text as it is in the file.
 *
 * @param {string} drawn
 */
export function plain(drawn) {
  return drawn.replace(DRAWN_BLANK, " ");
}

/**
 * Matches this text and nothing around it.
 *
 * @param {string} text
 */
export function exactly(text) {
  return new RegExp(`^\\s*${text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}\\s*$`);
}

export class Workbench {
  /** @param {import("playwright-core").Page} page */
  constructor(page) {
    this.page = page;
    this.quickInput = page.locator(".quick-input-widget");
    /** The field of it that takes text. */
    this.input = this.quickInput.locator(".quick-input-box input");
    this.dialog = page.locator(".monaco-dialog-box");
    this.notifications = page.locator(".notifications-toasts .notification-list-item");
    this.hints = page.locator(".workbench-hover:visible");
    this.activeTab = page.locator(".editor-group-container.active .tab.active");
  }

  /**
   * Opens the quick input, and waits until keys reach it. It closes when it loses the focus, and an editor or a view
   * that is still opening takes the focus: then it is opened again.
   *
   * @param {string} key
   */
  async openInput(key) {
    await until("the quick input has the focus", async () => {
      await this.page.keyboard.press(key);
      return happens(this.input.and(this.page.locator(":focus")).waitFor({ timeout: SHOWN_WITHIN }));
    });
  }

  /**
   * Opens the quick input with a text in it.
   *
   * @param {string} key
   * @param {string} text
   */
  async fillInput(key, text) {
    await until(`the quick input has the text ${text}`, async () => {
      await this.openInput(key);
      const isFilled = await happens(this.input.fill(text, { timeout: SHOWN_WITHIN }));
      return isFilled && (await this.input.inputValue()) === text && (await this.input.isVisible());
    });
  }

  /**
   * Runs a command from the palette.
   *
   * @param {string} command As the palette shows it, with its category.
   */
  async run(command) {
    await until(`the palette runs ${command}`, async () => {
      await this.fillInput("F1", `>${command}`);
      return happens(this.#choice(command).click({ timeout: CHOSEN_WITHIN }));
    });
  }

  /**
   * Runs a command from the palette without a pointer.
   *
   * @param {string} command As the palette shows it, with its category.
   */
  async runByKeys(command) {
    await until(`the palette has ${command}`, async () => {
      await this.fillInput("F1", `>${command}`);
      const focused = this.#choice(command).and(this.page.locator(".focused"));
      return happens(focused.waitFor({ timeout: CHOSEN_WITHIN }));
    });
    await this.page.keyboard.press("Enter");
    await this.quickInput.waitFor({ state: "hidden" });
  }

  /**
   * Picks from the list of choices that is open.
   *
   * @param {string} label The whole of it.
   */
  async pick(label) {
    await this.#choice(label).click();
  }

  /**
   * Presses an icon at the end of a row of the list of choices that is open.
   *
   * @param {string} label
   * @param {string} name
   */
  async pressInRow(label, name) {
    const row = this.#choice(label);
    await row.hover();
    await row.getByRole("button", { name }).click();
  }

  /**
   * Picks from the list of choices that a question opens.
   *
   * @param {RegExp} question
   * @param {RegExp} choice
   */
  async pickFor(question, choice) {
    await until(`it asks ${question}`, async () => question.test((await this.input.getAttribute("placeholder")) ?? ""));
    const name = this.page.locator(".label-name", { hasText: choice });
    await this.quickInput.locator(".monaco-list-row", { has: name }).first().click();
  }

  /**
   * Chooses from the menu that is open, without a pointer.
   *
   * @param {string} name
   */
  async chooseByKeys(name) {
    const menu = this.page.locator(".monaco-menu");
    const items = menu.locator(".action-item", { has: this.page.getByRole("menuitem") });
    await items.first().waitFor();
    const wanted = items.and(this.page.locator(".focused")).getByRole("menuitem", { name, exact: true });
    for (let left = await items.count(); left > 0 && (await wanted.count()) === 0; left -= 1) {
      await this.page.keyboard.press("ArrowDown");
    }
    await wanted.waitFor();
    await this.page.keyboard.press("Enter");
    await menu.first().waitFor({ state: "hidden" });
  }

  /** The choices that are open. */
  async choices() {
    const rows = this.quickInput.locator(".monaco-list-row");
    await rows.first().waitFor();
    return (await rows.allInnerTexts()).map((text) => plain(text).split("\n").join(" "));
  }

  /** The text of the question that is asked. */
  async question() {
    await this.dialog.waitFor();
    return plain(await this.dialog.locator(".dialog-message-container").innerText());
  }

  /**
   * Answers the question that is asked.
   *
   * @param {string} button
   */
  async answer(button) {
    await this.dialog.getByRole("button", { name: button, exact: true }).click();
    await this.dialog.waitFor({ state: "hidden" });
  }

  /**
   * The notification with a text.
   *
   * @param {string | RegExp} text
   */
  notification(text) {
    return this.notifications.filter({
      has: this.page.locator(".notification-list-item-message", { hasText: text }),
    });
  }

  /**
   * Waits for a notification and gives its whole text.
   *
   * @param {string | RegExp} text
   */
  async told(text) {
    const notification = this.notification(text).first();
    await notification.waitFor();
    return plain(await notification.locator(".notification-list-item-message").innerText());
  }

  /** All that was told and not put away. The editor shows no more than five notifications in 0.8 s as they come. */
  async toldBefore() {
    const center = this.page.locator(".notifications-center");
    if (!(await center.isVisible())) {
      await this.runByKeys("Notifications: Show Notifications");
      await center.waitFor();
    }
    return (await center.locator(".notification-list-item-message").allInnerTexts()).map(plain);
  }

  /**
   * Presses a button of a notification.
   *
   * @param {string | RegExp} text
   * @param {string} button
   */
  async press(text, button) {
    await this.notification(text).first().getByRole("button", { name: button, exact: true }).click();
  }

  async clearNotifications() {
    await this.run("Notifications: Clear All Notifications");
    await untilEqual("no notification is left", () => this.notifications.count(), 0);
  }

  async closeEditors() {
    await this.run("View: Close All Editors");
    await untilEqual("no editor is left", () => this.page.locator(".tab").count(), 0);
  }

  /** Ends an action that waits for an answer, and puts away what it showed. */
  async escape() {
    await this.page.keyboard.press("Escape");
    await this.quickInput.waitFor({ state: "hidden" });
  }

  /**
   * The number at an entry of the activity bar; empty where there is none.
   *
   * @param {string} name
   */
  async badgeOf(name) {
    const item = this.page.locator(".activitybar .action-item", { has: this.page.locator(`[aria-label^="${name}"]`) });
    const badge = item.locator(".badge-content:visible");
    return (await badge.count()) === 0 ? "" : (await badge.first().innerText()).trim();
  }

  /** The extension's entry of the status bar. */
  get status() {
    return this.page.locator(".statusbar-item[id$='snapd.status']");
  }

  /**
   * Waits until the extension's entry of the status bar has a text.
   *
   * @param {string} text
   */
  async statusIs(text) {
    await untilEqual("the status bar", async () => plain(await this.status.innerText()).trim(), text);
  }

  /**
   * Makes the side bar as wide as that.
   *
   * @param {number} width
   */
  async widenSideBar(width) {
    const sideBar = this.page.locator(".part.sidebar");
    const box = async () => /** @type {{ x: number, width: number }} */ (await sideBar.boundingBox());
    const { x, width: before } = await box();
    await this.page.mouse.move(x + before, 400);
    await this.page.mouse.down();
    await this.page.mouse.move(x + width, 400, { steps: 5 });
    await this.page.mouse.up();
    await until("the side bar is wider", async () => (await box()).width > before);
  }

  /** Puts away the panel below the editors. */
  async closePanel() {
    await this.page.keyboard.press("Control+J");
    await this.page.locator(".part.panel").waitFor({ state: "hidden" });
  }

  /**
   * Shows a view container of the activity bar.
   *
   * @param {string} name
   */
  async show(name) {
    const tab = this.page.locator(".activitybar").getByRole("tab", { name: new RegExp(`^${name}`) });
    await tab.waitFor();
    const selected = tab.and(this.page.locator("[aria-selected='true']"));
    // A click on the one that is shown hides it. A page that was loaded anew shows it by itself a moment later, so
    // the click may come just then: the next one shows it.
    await until(`${name} is shown`, async () => {
      if ((await selected.count()) === 0) {
        await tab.click();
      }
      return happens(selected.waitFor({ timeout: SHOWN_WITHIN }));
    });
  }

  /** @param {string} label */
  #choice(label) {
    const name = this.page.locator(".label-name", { hasText: exactly(label) });
    return this.quickInput.locator(".monaco-list-row", { has: name }).first();
  }
}
