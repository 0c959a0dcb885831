// Comments as threads of VS Code's own: in the files, and in the documents of steps.

import type { Comment } from "@snapd/client";
import {
  type CommentController,
  CommentMode,
  type CommentReply,
  type CommentThread,
  CommentThreadCollapsibleState,
  CommentThreadState,
  type CommentingRangeProvider,
  type Disposable,
  Range,
  type TextDocument,
  type Uri,
  type Comment as VscodeComment,
  comments,
  window,
  workspace,
} from "vscode";
import { onDisk, textOnDisk } from "../documents/diffs";
import { SCHEME, nameNow, placeOf } from "../documents/uris";
import { aligned, movedRange } from "../model/alignment";
import { requestName } from "../model/changes";
import { Coalesced } from "../model/coalesced";
import { headingOf, remarksOf } from "../model/comments";
import { linesOf, splitLines } from "../model/documentLines";
import { linesSelected } from "../model/hunks";
import type { FileIn, WorkspaceModel } from "../model/workspace";

const PAUSE = 100;

/** A comment in one document. */
interface Placed {
  readonly folder: FileIn["folder"];
  readonly comment: Comment;
  readonly uri: Uri;
  readonly range: Range;
}

/** A thread, and the comment that it shows. */
interface Shown extends Omit<Placed, "range"> {
  readonly thread: CommentThread;
  /** All that the thread shows; undefined before it shows anything. */
  look: string | undefined;
}

/** Shows the comments of all folders, and sends what is typed below them. */
export class CommentThreads implements CommentingRangeProvider, Disposable {
  readonly #model: WorkspaceModel;
  readonly #controller: CommentController = comments.createCommentController("snapd", "Snapd");
  readonly #updating = new Coalesced(() => this.#update(), PAUSE);
  readonly #subscriptions: readonly { dispose(): void }[];
  readonly #log: { error(error: Error): void };
  /** By document and comment. */
  readonly #shown = new Map<string, Shown>();
  /** Texts that could not be sent, and the threads in which they were typed. */
  readonly #unsent = new Map<VscodeComment, CommentThread>();
  /** Requests that make comments: no thread is made meanwhile, since VS Code made the one of the new comment. */
  #making = 0;
  /** How many of them there were. */
  #made = 0;
  #commentable = "";
  /** The documents that VS Code read from the disk again: it may have moved the signs of their threads. */
  #reloaded = new Set<string>();

  constructor(model: WorkspaceModel, log: { error(error: Error): void }) {
    this.#model = model;
    this.#log = log;
    this.#controller.options = { placeHolder: "Say what to change in these lines" };
    this.#controller.commentingRangeProvider = this;
    const update = () => {
      void this.#updating.ask();
    };
    this.#subscriptions = [
      this.#controller,
      this.#updating,
      model.onDidChangeComments(update),
      // who is called what, and which files agents changed
      model.onDidChange(update),
      model.onDidChangeReview(update),
      window.onDidChangeVisibleTextEditors(update),
      workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        if (document.isDirty || contentChanges.length === 0) return;
        this.#reloaded.add(document.uri.toString());
        update();
      }),
      // a thread that is made only once its editor is drawn is not always drawn
      workspace.onDidOpenTextDocument(update),
      workspace.onDidCloseTextDocument(update),
    ];
    update();
  }

  provideCommentingRanges(document: TextDocument): Range[] {
    const file = this.#fileOf(document.uri);
    return file !== undefined && isOfAgents(file) ? [new Range(0, 0, document.lineCount - 1, 0)] : [];
  }

  /**
   * Sends what was typed in a thread: a new comment, or a reply. What cannot be sent stays in the thread.
   *
   * @throws SnapdError, ConnectionLostError: see `SnapdClient.request`. Error: the file does not have these lines.
   */
  async send({ thread, text }: CommentReply): Promise<void> {
    this.#making += 1;
    try {
      const shown = this.#shownBy(thread);
      if (shown !== undefined) {
        await shown.folder.request("review/comment", { replyTo: shown.comment.commentId, text });
      } else {
        const { folder, name, start, count } = await this.#placeOf(thread);
        const comment = await folder.request("review/comment", { file: name, start, count, text });
        this.#shown.set(keyOf(thread.uri, comment), { folder, comment, uri: thread.uri, thread, look: undefined });
      }
    } catch (error) {
      const unsent = { ...remarkOf("You", text), label: "Not sent", contextValue: "unsent" };
      this.#unsent.set(unsent, thread);
      thread.comments = [...thread.comments, unsent];
      throw error;
    } finally {
      await this.#read();
      this.#making -= 1;
      this.#made += 1;
      await this.#updating.ask();
    }
  }

  /** Sends a text that could not be sent. */
  async sendAgain(unsent: VscodeComment): Promise<void> {
    const thread = this.#unsent.get(unsent);
    if (thread === undefined) return;
    this.#forget(unsent, thread);
    await this.send({ thread, text: typeof unsent.body === "string" ? unsent.body : unsent.body.value });
  }

  /** Drops a text that could not be sent. */
  discard(unsent: VscodeComment): void {
    const thread = this.#unsent.get(unsent);
    if (thread === undefined) return;
    this.#forget(unsent, thread);
    if (thread.comments.length === 0) thread.dispose();
    void this.#updating.ask();
  }

  /**
   * Resolves the comment of a thread, or opens it again.
   *
   * @throws SnapdError, ConnectionLostError: see `SnapdClient.request`.
   */
  async resolve(thread: CommentThread, state: Comment["state"]): Promise<void> {
    const shown = this.#shownBy(thread);
    if (shown === undefined) return;
    try {
      await shown.folder.request("review/resolve", { commentId: shown.comment.commentId, state });
    } finally {
      await this.#read();
      await this.#updating.ask();
    }
  }

  dispose(): void {
    for (const subscription of this.#subscriptions) subscription.dispose();
  }

  async #read(): Promise<void> {
    await Promise.all(this.#model.folders.map(({ comments }) => comments.refresh()));
  }

  #shownBy(thread: CommentThread): Shown | undefined {
    return [...this.#shown.values()].find((shown) => shown.thread === thread);
  }

  #forget(unsent: VscodeComment, thread: CommentThread): void {
    this.#unsent.delete(unsent);
    thread.comments = thread.comments.filter((each) => each !== unsent);
  }

  /** The file that a document shows as it is now, or as a step left it. */
  #fileOf(uri: Uri): FileIn | undefined {
    if (uri.scheme !== SCHEME) return this.#model.fileOf(uri.toString());
    const place = placeOf(uri.toString());
    const folder = this.#model.folders.find((each) => each.uri === place?.folder);
    // what a baseline or the side before a step has more than the file is gone
    if (place === undefined || folder === undefined || place.hash === "" || place.side === "before") return undefined;
    return place.baseline === undefined ? { folder, name: nameNow(place) } : undefined;
  }

  /** The lines of the file on the disk that a new thread is about. */
  async #placeOf({ uri, range }: CommentThread): Promise<FileIn & { start: number; count: number }> {
    const file = this.#fileOf(uri);
    const document = workspace.textDocuments.find((each) => each.uri.toString() === uri.toString());
    if (file === undefined || document === undefined) throw new Error("the file is in no open folder");
    const disk = await this.#linesOnDisk(file);
    if (disk === undefined) throw new Error(`${file.name} no longer exists, or is no text`);
    const { first, last } = linesSelected(range);
    const lines = movedRange(aligned(linesOf(document), disk), first - 1, last - 1);
    if (lines === undefined) {
      throw new Error(document.isDirty ? "these lines are not saved" : `${file.name} no longer has these lines`);
    }
    return { ...file, start: lines.first + 1, count: lines.last - lines.first + 1 };
  }

  async #linesOnDisk({ folder, name }: FileIn): Promise<readonly string[] | undefined> {
    const text = await textOnDisk(onDisk(folder, { file: name }));
    return text === undefined ? undefined : splitLines(text.replace(/^\uFEFF/, ""));
  }

  async #update(): Promise<void> {
    try {
      const made = this.#made;
      const wanted = new Map((await this.#placed()).map((placed) => [keyOf(placed.uri, placed.comment), placed]));
      // what was placed may lack a comment that was made meanwhile
      if (this.#making > 0 || made !== this.#made) return;
      for (const [key, { thread }] of this.#shown) {
        if (wanted.has(key) || [...this.#unsent.values()].includes(thread)) continue;
        thread.dispose();
        this.#shown.delete(key);
      }
      const reloaded = this.#reloaded;
      this.#reloaded = new Set();
      for (const [key, placed] of wanted) this.#show(key, placed, reloaded.has(placed.uri.toString()));
      this.#offer();
    } catch (error) {
      this.#log.error(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** The comments, where they are in the documents that can show them. */
  async #placed(): Promise<readonly Placed[]> {
    const found: Placed[] = [];
    for (const folder of this.#model.folders) {
      // VS Code cannot open a file whose name is not valid UTF-8
      for (const comment of folder.comments.all.filter(({ uri }) => uri === undefined)) {
        const uri = onDisk(folder, comment);
        const changed = workspace.textDocuments.find((each) => each.isDirty && each.uri.toString() === uri.toString());
        if (changed === undefined) found.push({ folder, comment, uri, range: rangeOf(comment) });
        else found.push(...(await this.#placedIn(changed, { folder, name: requestName(comment) }, [comment])));
      }
    }
    for (const document of workspace.textDocuments.filter(({ uri }) => uri.scheme === SCHEME)) {
      const file = this.#fileOf(document.uri);
      const all = file?.folder.comments.all.filter((each) => each.outdated !== true && requestName(each) === file.name);
      if (file !== undefined && all !== undefined) found.push(...(await this.#placedIn(document, file, all)));
    }
    return found;
  }

  /** The comments whose lines a document has that is not the file on the disk. */
  async #placedIn(document: TextDocument, file: FileIn, all: readonly Comment[]): Promise<readonly Placed[]> {
    const disk = all.length === 0 ? undefined : await this.#linesOnDisk(file);
    if (disk === undefined) return [];
    const lines = aligned(disk, linesOf(document));
    return all.flatMap((comment): Placed[] => {
      const { start: onDiskFirst, end: onDiskLast } = rangeOf(comment);
      const there = movedRange(lines, onDiskFirst.line, onDiskLast.line);
      const placed = { folder: file.folder, comment, uri: document.uri };
      if (there !== undefined) return [{ ...placed, range: new Range(there.first, 0, there.last, 0) }];
      // of lines over which the user types, the thread stays where VS Code has it
      const shown = this.#shown.get(keyOf(document.uri, comment));
      return shown === undefined ? [] : [{ ...placed, range: shown.thread.range }];
    });
  }

  #show(key: string, { folder, comment, uri, range }: Placed, isReloaded: boolean): void {
    const known = this.#shown.get(key);
    const thread = known?.thread ?? this.#controller.createCommentThread(uri, range, []);
    const remarks = remarksOf(folder, comment);
    const heading = headingOf(folder, comment);
    const look = JSON.stringify([heading, comment.state, remarks]);
    // VS Code ignores a range that it was given before
    if (isReloaded) thread.range = new Range(range.start, range.end.translate(0, 1));
    if (!thread.range.isEqual(range)) thread.range = range;
    if (known?.look !== look) {
      const unsent = [...this.#unsent].filter(([, where]) => where === thread).map(([each]) => each);
      thread.comments = [...remarks.map(({ author, text, at }) => remarkOf(author, text, at)), ...unsent];
      thread.label = heading;
      thread.contextValue = comment.state;
      thread.state = comment.state === "open" ? CommentThreadState.Unresolved : CommentThreadState.Resolved;
      if (known === undefined) thread.collapsibleState = CommentThreadCollapsibleState.Collapsed;
    }
    this.#shown.set(key, { folder, comment, uri, thread, look });
  }

  /** Has VS Code ask again which documents can be commented on, where that may be others. */
  #offer(): void {
    const files = window.visibleTextEditors.map(({ document }) => [document.uri, this.#fileOf(document.uri)] as const);
    const uris = files.filter(([, file]) => file !== undefined && isOfAgents(file)).map(([uri]) => uri.toString());
    const commentable = uris.join("\n");
    if (commentable === this.#commentable) return;
    this.#commentable = commentable;
    this.#controller.commentingRangeProvider = this;
  }
}

/** Whether an agent changed a file, or it has comments. */
function isOfAgents({ folder, name }: FileIn): boolean {
  const isNamed = (change: { file: string; uri?: string }): boolean => requestName(change) === name;
  return (
    folder.review.shown(name) !== undefined ||
    folder.review.files.some(isNamed) ||
    folder.entries.some(({ step }) => step?.files?.some(isNamed) === true) ||
    folder.comments.all.some(isNamed)
  );
}

function keyOf(uri: Uri, { commentId }: Pick<Comment, "commentId">): string {
  return `${commentId} ${uri.toString()}`;
}

function rangeOf({ start, count }: Comment): Range {
  const first = Math.max(start - 1, 0);
  return new Range(first, 0, first + Math.max(count - 1, 0), 0);
}

/** A text as VS Code shows it: a string is no Markdown. */
function remarkOf(name: string, body: string, at?: string): VscodeComment {
  return { author: { name }, body, mode: CommentMode.Preview, ...(at !== undefined && { timestamp: new Date(at) }) };
}
