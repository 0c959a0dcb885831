// What becomes of files in conflict, decided by the user file by file.

import type { FileOutcome } from "@snapd/client";
import type { Action, Overwriting } from "./action";
import { exactName } from "./names";
import { conflicts, outcomeText, reasonOf } from "./outcomes";
import type { Performed } from "./perform";
import type { Row, Ui } from "./ui";

/** How the user left the question: with something to do, looking at something first, or with everything as it is. */
export type Resolution = { readonly act: Action } | "looking" | "left";

type Choice = "keep" | "overwrite" | "look";

/** Asks what is to become of the files in conflict, and remembers what was answered. */
export class Resolving {
  readonly #performed: Performed;
  readonly #conflicts: readonly FileOutcome[];
  readonly #overwriting: Overwriting;
  readonly #overwritten = new Set<FileOutcome>();

  constructor(performed: Performed) {
    this.#performed = performed;
    this.#conflicts = conflicts(performed.acted.files);
    this.#overwriting = performed.action.overwriting(performed.acted);
  }

  /** Asks until the user is done, or has opened something to look at. */
  async ask(ui: Ui): Promise<Resolution> {
    const [only, ...others] = this.#conflicts;
    if (only !== undefined && others.length === 0) {
      const choice = await this.#choose(only, ui);
      return choice === "look" ? "looking" : this.#resolution();
    }
    for (;;) {
      const file = await ui.choose({
        title: "Files in Conflict",
        placeholder: "Choose what to do with each file, then Done",
        rows: this.#rows(),
      });
      if (file === undefined) return "left";
      if (file === "done") return this.#resolution();
      if ((await this.#choose(file, ui)) === "look") return "looking";
    }
  }

  #rows(): Row<FileOutcome | "done">[] {
    const chosen = this.#overwritten.size;
    const rows = this.#conflicts.map((file) => ({
      label: file.file,
      description: this.#overwritten.has(file) ? "overwrite" : "keep",
      detail: outcomeText(file),
      value: file,
    }));
    const label = `Done: overwrite ${chosen}, keep ${this.#conflicts.length - chosen}`;
    return [...rows, { label, value: "done" }];
  }

  async #choose(file: FileOutcome, ui: Ui): Promise<Choice | undefined> {
    const { becomes } = this.#overwriting;
    const compared = this.#overwriting.compared(file);
    const why = reasonOf(file) ?? "it is in conflict";
    const rows: Row<Choice>[] = [{ label: "Keep", description: "leave the file as it is", value: "keep" }];
    if (this.#overwriting.allows(file)) {
      rows.push({
        label: "Overwrite",
        description: `make it ${becomes}`,
        detail: "A snapshot keeps the current text.",
        value: "overwrite",
      });
    }
    rows.push({ label: "Open Diff", description: `the file ${compared.name}, and as it is now`, value: "look" });
    const choice = await ui.choose({ title: file.file, placeholder: `Left alone: ${why}`, rows });
    if (choice === "overwrite") this.#overwritten.add(file);
    else if (choice === "keep") this.#overwritten.delete(file);
    else if (choice === "look") {
      await ui.compare({
        folder: this.#performed.action.folder,
        file: exactName(file),
        left: { hash: compared.hash },
        right: "current",
        title: `${file.file} (${compared.name} ↔ now)`,
      });
    }
    return choice;
  }

  #resolution(): Resolution {
    const chosen = [...this.#overwritten];
    return chosen.length === 0 ? "left" : { act: this.#overwriting.with(chosen) };
  }
}
