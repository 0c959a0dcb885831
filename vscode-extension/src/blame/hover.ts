// Who wrote a line, where the pointer rests on it.

import { Hover, type HoverProvider, MarkdownString, type Position, type TextDocument, window } from "vscode";
import type { BlamedLines } from "@snapd/client";
import { makerLine, promptsOf } from "../model/makers";
import type { FileIn, WorkspaceModel } from "../model/workspace";
import { blameSettings } from "./configuration";
import type { DocumentBlame } from "./documentBlame";
import { type BlamedStep, hoverText, makerOf, stepOf } from "./words";

const OPEN_STEP = "snapd.openLineStep";

/** What the link to a step gives to its command. */
export type StepLink = BlamedStep & { readonly uri: string };

/** Says it in the hover of every line; or, where only the end of the line of the cursor says it, there. */
export class BlameHover implements HoverProvider {
  readonly #model: WorkspaceModel;
  readonly #blame: DocumentBlame;

  constructor(model: WorkspaceModel, blame: DocumentBlame) {
    this.#model = model;
    this.#blame = blame;
  }

  async provideHover(document: TextDocument, position: Position): Promise<Hover | undefined> {
    const { line, hover } = blameSettings();
    if (!hover && !(line && isAtBlame(document, position))) return undefined;
    await this.#blame.refresh(document);
    const author = this.#blame.at(document, position.line);
    const file = this.#model.fileOf(document.uri.toString());
    if (author === undefined || author === "typed" || file === undefined) return undefined;
    if (author.author === "before" && author.commit === undefined) return undefined;
    return new Hover(contentOf(author, file, document), document.lineAt(position.line).range);
  }
}

/** Whether the text at the end of the line of the cursor is pointed at. */
function isAtBlame(document: TextDocument, { line, character }: Position): boolean {
  const editor = window.activeTextEditor;
  if (editor?.document !== document || editor.selection.active.line !== line) return false;
  return character >= document.lineAt(line).range.end.character;
}

function contentOf(author: BlamedLines, { folder }: FileIn, document: TextDocument): MarkdownString {
  const content = new MarkdownString();
  // texts of agents and prompts are plain text, not markup
  content.appendText(hoverText(author, folder, Date.now()));
  if (author.commit !== undefined) content.appendMarkdown("\n\n").appendText(author.commit.summary);
  const maker = makerOf(author, folder);
  if (maker?.step !== undefined) content.appendMarkdown("\n\n").appendText(makerLine(maker));
  for (const prompt of promptsOf(maker === undefined ? [] : [maker])) content.appendMarkdown("\n\n").appendText(prompt);
  const step = stepOf(author);
  if (step === undefined) return content;
  const link: StepLink = { uri: document.uri.toString(), ...step };
  content.isTrusted = { enabledCommands: [OPEN_STEP] };
  return content.appendMarkdown(
    `\n\n[Open the changes of the step](command:${OPEN_STEP}?${encodeURIComponent(JSON.stringify([link]))})`,
  );
}
