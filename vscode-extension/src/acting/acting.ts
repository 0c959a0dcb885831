// Runs actions one after the other, and reports each result.

import { capitalized } from "../model/wording";
import type { Action } from "./action";
import { showDetails } from "./details";
import { explained, Refused } from "./errors";
import { listed, snapshotName } from "./names";
import { conflicts, gitReport, report, severity, written } from "./outcomes";
import { perform, type Performed } from "./perform";
import type { Notice } from "./ui";
import type { World } from "./world";

const UNDO = "Undo";
const DETAILS = "Details";
const SHOW_LOG = "Show Log";

/** Carries out what users ask for. */
export class Acting {
  readonly #world: World;
  #last: Promise<unknown> = Promise.resolve();

  constructor(world: World) {
    this.#world = world;
  }

  /**
   * Runs an action after those before it, and reports the result without waiting for the report.
   *
   * @returns whether it was done; an error was reported.
   */
  act(action: Action): Promise<boolean> {
    const turn = this.#last.then(() =>
      this.attempt(action.aim, async () => {
        const performed = await this.#world.ui.busy(capitalized(action.aim), () => perform(action, this.#world));
        if (performed === undefined) return false;
        if (performed === "changed") {
          this.#world.later(this.attempt(action.aim, async () => action.agreed?.again()));
          return false;
        }
        this.#world.later(this.#report(performed));
        return true;
      }),
    );
    this.#last = turn;
    return turn.then((done) => done ?? false);
  }

  /**
   * Runs work and reports its error, if any.
   *
   * @param aim - the action in words: "undo step 3".
   * @returns undefined where it failed.
   */
  async attempt<T>(aim: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      this.#world.log.error(`${aim}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
      this.#world.later(this.#tellError(error instanceof Refused, explained(aim, error)));
      return undefined;
    }
  }

  /** Shows a notification, if its kind is enabled; resolves with the pressed button. */
  async notify(notice: Notice): Promise<string | undefined> {
    this.#world.log.info(notice.message);
    return this.#isWanted(notice) ? this.#world.ui.notify(notice) : undefined;
  }

  async #report(performed: Performed): Promise<void> {
    const { action, acted, overwritten, isRedo } = performed;
    const { ui } = this.#world;
    const kept =
      overwritten.length === 0
        ? undefined
        : `What was overwritten in ${listed(overwritten.map(({ file }) => file))} stays in ${snapshotName(acted.before)}.`;
    const sentences = [
      report(action.done(acted), acted.files),
      gitReport(acted.git, isRedo),
      kept,
      action.besides?.(acted),
    ];
    const message = sentences.filter((sentence) => sentence !== undefined && sentence !== "").join(" ");
    const inConflict = conflicts(acted.files).length > 0;
    // if nothing of a step could be undone or redone, there is nothing to reverse
    const changed = written(acted.files).length > 0 || (!inConflict && (acted.steps ?? []).length > 0);
    const buttons = changed ? [UNDO] : [];
    if (acted.files.length > 0) buttons.push(DETAILS);
    await this.attempt("go on", async () => {
      // whoever has looked at something finds the buttons again
      for (;;) {
        const answer = await this.notify({ severity: severity(acted.files, acted.git), message, buttons });
        if (answer === UNDO) {
          await this.act(action.undoing(acted));
          return;
        }
        if (answer === DETAILS) await showDetails(performed, ui);
        else return;
      }
    });
  }

  async #tellError(isRefusal: boolean, message: string): Promise<void> {
    if (isRefusal) {
      // the log has no more details
      await this.#world.ui.notify({ severity: "warning", message, buttons: [] });
      return;
    }
    const answer = await this.#world.ui.notify({ severity: "error", message, buttons: [SHOW_LOG] });
    if (answer === SHOW_LOG) await this.#world.ui.showLog();
  }

  #isWanted({ severity: kind }: Notice): boolean {
    const wanted = this.#world.notifications();
    return kind === "error" || wanted === "all" || (wanted === "problems" && kind === "warning");
  }
}
