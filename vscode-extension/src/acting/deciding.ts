// Asks the user to decide about each file in conflict, before anything is written.

import type { Contested, FileOutcome } from "@snapd/client";
import { capitalized, counted, inList } from "../model/wording";
import type { Acted, Action, Goal } from "./action";
import { exactName } from "./names";
import { conflictText } from "./outcomes";
import type { Row, Ui } from "./ui";

/** Overwrite a file, keep it and count it as done, or leave it in conflict. */
export type Decision = "overwrite" | "keep" | "merge";

/** By exact name. */
export type Decisions = ReadonlyMap<string, Decision>;

const WORDS: Readonly<Record<Decision, string>> = { merge: "Skip", overwrite: "Overwrite", keep: "Keep" };
const ICONS: Readonly<Record<Decision, string>> = { merge: "debug-step-over", overwrite: "discard", keep: "check" };

/** Methods that record what became of a step: only for these, keeping a file differs from skipping it. */
const RECORDING: readonly string[] = ["session/undo", "session/redo", "step/revertFiles"];

/** What a person decides about. */
export interface Question {
  readonly action: Action;
  /** The method of the request; undefined if there is nothing left to ask for. */
  readonly method: string | undefined;
  readonly forecast: Acted;
  /** The files that conflict. */
  readonly files: readonly FileOutcome[];
  /** The names of files that are deleted if they are overwritten. */
  readonly deleted: ReadonlySet<string>;
  /** Something to know first, as a sentence; empty for nothing. */
  readonly note: string;
}

type Choice = { readonly file: FileOutcome; readonly do: Decision | "ask" | "look" } | "go";

/** Asks what to do with each file in conflict. Resolves with undefined if the person cancelled. */
export async function decide(question: Question, ui: Ui): Promise<Decisions | undefined> {
  const { action, files, note } = question;
  const decisions = new Map<string, Decision>(files.map((file) => [exactName(file), "merge"]));
  const [only, ...others] = files;
  let active: FileOutcome | undefined;
  for (;;) {
    const isAlone = only !== undefined && others.length === 0;
    const choice: Choice | undefined = isAlone
      ? { file: only, do: "ask" }
      : await ui.choose<Choice>({
          title: `${capitalized(action.aim)}: ${counted(files.length, "file")} in conflict`,
          placeholder: `${note}Choose a file to decide about it. Nothing is written until you continue`,
          rows: rowsOf(question, decisions, active),
        });
    if (choice === undefined) return undefined;
    if (choice === "go") return decisions;
    active = choice.file;
    const decision = choice.do === "ask" ? await chooseFor(question, choice.file, ui) : choice.do;
    if (decision === "look") await look(question, choice.file, ui);
    else if (decision !== undefined) decisions.set(exactName(choice.file), decision);
    if (isAlone && decision !== "look") return decision === undefined ? undefined : decisions;
  }
}

/** One row to go on, and one for each file. */
function rowsOf(question: Question, decisions: Decisions, active: FileOutcome | undefined): Row<Choice>[] {
  const count = (decision: Decision): number => [...decisions.values()].filter((each) => each === decision).length;
  const allowed = decisionsFor(question);
  const go: Row<Choice> = {
    label: "$(arrow-right) Go On",
    description: allowed.map((decision) => `${WORDS[decision].toLowerCase()} ${count(decision)}`).join(", "),
    value: "go",
  };
  const rows = question.files.map((file): Row<Choice> => {
    const decided = decisions.get(exactName(file)) ?? "merge";
    const buttons = allowed
      .filter((decision) => decision !== decided)
      .map((decision) => ({ icon: ICONS[decision], tooltip: WORDS[decision], value: { file, do: decision } as const }));
    const { compared } = question.action.goal(file, question.forecast);
    const diff = { icon: "diff", tooltip: "Open Diff", value: { file, do: "look" } as const };
    return {
      label: inList(file.file),
      description: WORDS[decided],
      detail: conflictText(file, contestedOf(question, file)),
      value: { file, do: "ask" },
      buttons: compared === undefined ? buttons : [...buttons, diff],
      isActive: file === active,
    };
  });
  return [go, ...rows];
}

async function chooseFor(question: Question, file: FileOutcome, ui: Ui): Promise<Decision | "look" | undefined> {
  const goal = question.action.goal(file, question.forecast);
  const explained: Readonly<Record<Decision, Omit<Row<Decision>, "label" | "value">>> = {
    merge: { description: "leave the file as it is, in conflict", detail: "Everything else is done." },
    overwrite: {
      description: question.deleted.has(exactName(file)) ? "delete it" : `make it ${goal.text}`,
      detail: "A snapshot keeps what is overwritten.",
    },
    keep: { description: "leave the file as it is, for good", detail: "It no longer counts as in conflict." },
  };
  const rows: Row<Decision | "look">[] = decisionsFor(question).map((decision) => ({
    label: WORDS[decision],
    ...explained[decision],
    value: decision,
  }));
  if (goal.compared !== undefined) {
    rows.push({ label: "Open Diff", description: `${goal.compared.name} ↔ now`, value: "look" });
  }
  const placeholder = `${question.note}${capitalized(conflictText(file, contestedOf(question, file)))}`;
  return ui.choose({ title: `${capitalized(question.action.aim)}: ${file.file}`, placeholder, rows });
}

function decisionsFor({ method }: Question): readonly Decision[] {
  return RECORDING.includes(method ?? "") ? ["merge", "overwrite", "keep"] : ["merge", "overwrite"];
}

async function look({ action, forecast }: Question, file: FileOutcome, ui: Ui): Promise<void> {
  const { compared }: Goal = action.goal(file, forecast);
  if (compared === undefined) return;
  await ui.compare({
    folder: action.folder,
    file: exactName(file),
    left: { hash: compared.hash },
    right: "current",
    title: `${file.file} (${compared.name} ↔ now)`,
  });
}

function contestedOf({ forecast }: Question, file: FileOutcome): Contested | undefined {
  return forecast.details?.contested.find((each) => exactName(each) === exactName(file));
}
