// Who wrote the line of the cursor, at its end.

import {
  DecorationRangeBehavior,
  type Disposable,
  Range,
  type TextDocument,
  type TextEditor,
  ThemeColor,
  window,
  workspace,
} from "vscode";
import { Coalesced } from "../model/coalesced";
import type { WorkspaceModel } from "../model/workspace";
import { blameSettings, onDidChangeBlameSettings } from "./configuration";
import type { DocumentBlame } from "./documentBlame";
import { lineText } from "./words";

/** Milliseconds from an answer to the next question. */
const PAUSE = 250;
/** Milliseconds in which "5 min ago" stays true enough. */
const AGING = 30_000;

/** Shows it in the active editor. */
export class LineEndBlame implements Disposable {
  readonly #model: WorkspaceModel;
  readonly #blame: DocumentBlame;
  readonly #look = window.createTextEditorDecorationType({
    after: { color: new ThemeColor("editorCodeLens.foreground"), margin: "0 0 0 3em" },
    rangeBehavior: DecorationRangeBehavior.OpenOpen,
  });
  readonly #asking = new Coalesced(() => this.#ask(), PAUSE);
  readonly #subscriptions: readonly { dispose(): void }[];
  #timer: NodeJS.Timeout | undefined;
  /** The editor that shows it now. */
  #shownIn: TextEditor | undefined;

  constructor(model: WorkspaceModel, blame: DocumentBlame) {
    this.#model = model;
    this.#blame = blame;
    const draw = () => {
      this.#draw();
    };
    const ask = () => {
      this.#draw();
      if (blameSettings().line) void this.#asking.ask();
    };
    const follow = () => {
      this.#follow();
      ask();
    };
    this.#subscriptions = [
      this.#look,
      model.onDidChange(ask),
      blame.onDidChange(draw),
      window.onDidChangeActiveTextEditor(ask),
      window.onDidChangeTextEditorSelection(({ textEditor }) => {
        if (textEditor === window.activeTextEditor) draw();
      }),
      workspace.onDidChangeTextDocument(({ document }) => {
        if (isActive(document)) ask();
      }),
      workspace.onDidSaveTextDocument((document) => {
        if (isActive(document)) ask();
      }),
      onDidChangeBlameSettings(follow),
    ];
    follow();
  }

  dispose(): void {
    clearInterval(this.#timer);
    this.#asking.dispose();
    for (const subscription of this.#subscriptions) subscription.dispose();
  }

  #follow(): void {
    clearInterval(this.#timer);
    const age = () => {
      this.#draw();
    };
    this.#timer = blameSettings().line ? setInterval(age, AGING) : undefined;
  }

  async #ask(): Promise<void> {
    const editor = window.activeTextEditor;
    if (editor !== undefined && blameSettings().line) await this.#blame.refresh(editor.document);
  }

  #draw(): void {
    const editor = blameSettings().line ? window.activeTextEditor : undefined;
    if (this.#shownIn !== editor) this.#shownIn?.setDecorations(this.#look, []);
    this.#shownIn = editor;
    if (editor === undefined) return;
    const { document, selection } = editor;
    const end = document.lineAt(selection.active.line).range.end;
    const contentText = this.#textOf(document, end.line);
    const shown = { range: new Range(end, end), renderOptions: { after: { contentText: contentText ?? "" } } };
    editor.setDecorations(this.#look, contentText === undefined ? [] : [shown]);
  }

  #textOf(document: TextDocument, line: number): string | undefined {
    const author = this.#blame.at(document, line);
    const file = this.#model.fileOf(document.uri.toString());
    return author === undefined || file === undefined ? undefined : lineText(author, file.folder, Date.now());
  }
}

function isActive(document: TextDocument): boolean {
  return document === window.activeTextEditor?.document;
}
