// Marks in the text: lines that came, and places where lines went.

import {
  type DecorationOptions,
  DecorationRangeBehavior,
  type Disposable,
  MarkdownString,
  OverviewRulerLane,
  Range,
  type TextEditor,
  ThemeColor,
  commands,
  window,
  workspace,
} from "vscode";
import { type Maker, makerLine, makersOf, promptsOf } from "../model/makers";
import type { WorkspaceModel } from "../model/workspace";
import { followEditors, pendingIn } from "./inEditors";
import type { PlacedChange } from "./placing";

/** Lines that went, in a hover. */
const MOST_LINES = 40;

/** Marks what is pending in the visible editors, and says in a context key whether anything is in the active one. */
export class PendingMarks implements Disposable {
  readonly #model: WorkspaceModel;
  readonly #came = window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new ThemeColor("diffEditor.insertedLineBackground"),
    // where a theme has no background for it, as in high contrast
    borderColor: new ThemeColor("editorGutter.addedBackground"),
    borderStyle: "solid",
    borderWidth: "0 0 0 3px",
    overviewRulerColor: new ThemeColor("editorOverviewRuler.addedForeground"),
    overviewRulerLane: OverviewRulerLane.Left,
    rangeBehavior: DecorationRangeBehavior.ClosedClosed,
  });
  readonly #went = window.createTextEditorDecorationType({
    isWholeLine: true,
    borderColor: new ThemeColor("editorGutter.deletedBackground"),
    borderStyle: "dashed",
    borderWidth: "1px 0 0 0",
    overviewRulerColor: new ThemeColor("editorOverviewRuler.deletedForeground"),
    overviewRulerLane: OverviewRulerLane.Left,
    rangeBehavior: DecorationRangeBehavior.ClosedClosed,
  });
  readonly #subscriptions: readonly { dispose(): void }[];
  #hasPending: boolean | undefined;

  constructor(model: WorkspaceModel) {
    this.#model = model;
    const draw = () => {
      this.#draw(window.visibleTextEditors);
    };
    const follow = () => {
      followEditors(model, window.visibleTextEditors);
    };
    this.#subscriptions = [
      this.#came,
      this.#went,
      // the history says who made a change
      model.onDidChange(() => {
        follow();
        draw();
      }),
      model.onDidChangeReview(draw),
      window.onDidChangeVisibleTextEditors(() => {
        follow();
        draw();
      }),
      window.onDidChangeActiveTextEditor(draw),
      workspace.onDidChangeTextDocument(({ document }) => {
        this.#draw(window.visibleTextEditors.filter((editor) => editor.document === document));
      }),
    ];
    follow();
    draw();
  }

  dispose(): void {
    for (const subscription of this.#subscriptions) subscription.dispose();
  }

  #draw(editors: readonly TextEditor[]): void {
    for (const editor of editors) this.#mark(editor);
    const active = window.activeTextEditor;
    const hasPending = active !== undefined && pendingIn(this.#model, active.document) !== undefined;
    if (hasPending === this.#hasPending) return;
    this.#hasPending = hasPending;
    void commands.executeCommand("setContext", "snapd.editorHasPending", hasPending);
  }

  #mark(editor: TextEditor): void {
    const { document } = editor;
    const pending = pendingIn(this.#model, document);
    const came: DecorationOptions[] = [];
    const went: DecorationOptions[] = [];
    const last = document.lineCount - 1;
    for (const { hunk, changes } of pending?.hunks ?? []) {
      const makers = pending === undefined ? [] : makersOf(pending.folder, hunk.owners);
      for (const change of changes) {
        const first = Math.min(change.line, last);
        const range = new Range(first, 0, Math.min(Math.max(change.line + change.added - 1, first), last), 0);
        (change.added > 0 ? came : went).push({ range, hoverMessage: hoverOf(change, makers, document.languageId) });
      }
    }
    editor.setDecorations(this.#came, came);
    editor.setDecorations(this.#went, went);
  }
}

/** Who changed some lines, for which prompt, and what went. */
function hoverOf({ removed }: PlacedChange, makers: readonly Maker[], languageId: string): MarkdownString {
  const hover = new MarkdownString();
  // texts of agents and prompts are plain text, not markup
  for (const line of new Set(makers.map(makerLine))) hover.appendText(`Pending: ${line}\n`);
  for (const prompt of promptsOf(makers)) hover.appendMarkdown("\n\n").appendText(prompt);
  if (removed.length === 0) return hover;
  hover.appendMarkdown("\n\nBefore:\n").appendCodeblock(removed.slice(0, MOST_LINES).join("\n"), languageId);
  if (removed.length > MOST_LINES) hover.appendText(`and ${removed.length - MOST_LINES} more lines`);
  return hover;
}
