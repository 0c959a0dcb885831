// Registers what says who wrote the lines of documents.

import { type ExtensionContext, type LogOutputChannel, Uri, commands, languages, window, workspace } from "vscode";
import { textOnDisk } from "../documents/diffs";
import type { WorkspaceModel } from "../model/workspace";
import { blameSettings, onDidChangeBlameSettings, toggleLineBlame } from "./configuration";
import { DocumentBlame } from "./documentBlame";
import { BlameHover, type StepLink } from "./hover";
import { LineEndBlame } from "./lineEnd";
import { openBlamed } from "./opening";
import { type BlamedStep, stepOf } from "./words";

/** Registers the text at the end of the line, the hover, and the commands. */
export function registerBlame(context: ExtensionContext, model: WorkspaceModel, log: LogOutputChannel): void {
  const blame = new DocumentBlame({
    file: ({ uri }) => model.fileOf(uri.toString()),
    read: ({ uri }) => textOnDisk(Uri.parse(uri.toString(), true)),
    log,
  });
  context.subscriptions.push(
    blame,
    // before all that draws what is known
    model.onDidChange(() => {
      blame.outdate();
    }),
    workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
      blame.changed(document, contentChanges);
    }),
    workspace.onDidSaveTextDocument((document) => {
      blame.changed(document, []);
    }),
    workspace.onDidCloseTextDocument((document) => {
      blame.forget(document);
    }),
    onDidChangeBlameSettings(() => {
      const { line, hover } = blameSettings();
      if (!line && !hover) blame.clear();
    }),
    new LineEndBlame(model, blame),
    languages.registerHoverProvider({ scheme: "file" }, new BlameHover(model, blame)),
    commands.registerCommand("snapd.toggleLineBlame", toggleLineBlame),
    commands.registerCommand("snapd.openLineStep", async (link?: StepLink) => {
      try {
        await openStep(model, blame, link);
      } catch (error) {
        void window.showErrorMessage(error instanceof Error ? error.message : String(error));
      }
    }),
  );
}

async function openStep(model: WorkspaceModel, blame: DocumentBlame, link: StepLink | undefined): Promise<void> {
  const editor = window.activeTextEditor;
  const uri = link?.uri ?? editor?.document.uri.toString();
  const file = uri === undefined ? undefined : model.fileOf(uri);
  const step = link ?? (editor === undefined ? undefined : await stepOfLine(blame, editor));
  if (file !== undefined && step !== undefined) await openBlamed(file, step);
  else void window.showInformationMessage("No recorded step of an agent wrote this line.");
}

async function stepOfLine(
  blame: DocumentBlame,
  editor: Exclude<typeof window.activeTextEditor, undefined>,
): Promise<BlamedStep | undefined> {
  await blame.refresh(editor.document);
  return stepOf(blame.at(editor.document, editor.selection.active.line));
}
