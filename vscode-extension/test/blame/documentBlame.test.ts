import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type BlamedLines, ConnectionLostError, SnapdError } from "@snapd/client";
import { type Author, DocumentBlame } from "../../src/blame/documentBlame";
import { FakeConnection } from "../model/fakeConnection";
import { FakeDocument } from "./fakeDocument";

/** A file on the disk, a daemon that says who wrote its lines, and an editor with it. */
class Editor {
  readonly document: FakeDocument;
  readonly blame: DocumentBlame;
  readonly connection = new FakeConnection();
  readonly warnings: string[] = [];
  /** The text on the disk; undefined for one that is not in UTF-8. */
  disk: string | undefined;
  isConnected = true;
  isOpen = true;
  changes = 0;
  /** Done before the daemon answers. */
  meanwhile: () => void = () => undefined;

  constructor(text: string) {
    this.document = new FakeDocument(text);
    this.disk = text;
    this.answerBy("step", "claude");
    this.blame = new DocumentBlame({
      file: () => (this.isOpen ? { name: "a.txt", folder: this.#folder() } : undefined),
      read: () => Promise.resolve(this.disk),
      log: { warn: (message) => this.warnings.push(message) },
    });
    this.blame.onDidChange(() => (this.changes += 1));
  }

  #folder() {
    const { connection, isConnected } = this;
    return {
      isConnected,
      request: ((method, params) => connection.request(method, params)) as Editor["connection"]["request"],
    };
  }

  /** The daemon says that one agent wrote the first line, and another the rest. */
  answerBy(author: BlamedLines["author"], agent: string): void {
    this.connection.answers.set("snapshot/blame", (params) => {
      assert.equal(params["file"], "a.txt");
      const count = (this.disk ?? this.document.text).replace(/\n$/, "").split("\n").length;
      this.meanwhile();
      const first = { start: 1, count: 1, author: "user" };
      return { lines: count === 1 ? [first] : [first, { start: 2, count: count - 1, author, agent }] };
    });
  }

  fail(error: Error): void {
    this.connection.answers.set("snapshot/blame", () => {
      throw error;
    });
  }

  type(...change: Parameters<FakeDocument["replace"]>): void {
    this.blame.changed(this.document, [this.document.replace(...change)]);
    if (this.document.isDirty) return;
    this.document.isDirty = true;
    this.blame.changed(this.document, []);
  }

  save(): void {
    this.document.isDirty = false;
    this.disk = this.document.text;
    // VS Code reports both that it is not dirty any more and that it was saved
    this.blame.changed(this.document, []);
    this.blame.changed(this.document, []);
  }

  refresh(): Promise<void> {
    return this.blame.refresh(this.document);
  }

  get asked(): number {
    return this.connection.count("snapshot/blame");
  }

  authors(): readonly (string | undefined)[] {
    return this.document.lines.map((_, line) => nameOf(this.blame.at(this.document, line)));
  }
}

function nameOf(author: Author | undefined): string | undefined {
  return author === undefined || author === "typed" ? author : (author.agent ?? author.author);
}

describe("the authors of a document", () => {
  it("are asked for once, as long as text and history are the same", async () => {
    const editor = new Editor("one\ntwo\nthree\n");
    assert.deepEqual(editor.authors(), [undefined, undefined, undefined, undefined]);
    await Promise.all([editor.refresh(), editor.refresh()]);
    await editor.refresh();
    assert.deepEqual(editor.authors(), ["user", "claude", "claude", undefined]);
    assert.deepEqual([editor.asked, editor.changes], [1, 1]);
    editor.blame.outdate();
    editor.answerBy("step", "codex");
    assert.deepEqual(editor.authors(), ["user", "claude", "claude", undefined]);
    await editor.refresh();
    assert.deepEqual(editor.authors(), ["user", "codex", "codex", undefined]);
    assert.equal(editor.asked, 2);
  });

  it("move with what is typed, which is the user's, and stay until the answer after the save", async () => {
    const editor = new Editor("one\ntwo\n");
    await editor.refresh();
    editor.type([1, 0], [1, 0], "typed\n");
    assert.deepEqual(editor.authors(), ["user", "typed", "claude", undefined]);
    await editor.refresh();
    assert.deepEqual(editor.authors(), ["user", "typed", "claude", undefined]);
    editor.type([0, 0], [0, 0], "x");
    await editor.refresh();
    assert.deepEqual(editor.authors(), ["typed", "typed", "claude", undefined]);
    // once for the first character: before it is reported as unsaved, it might come from the disk
    assert.equal(editor.asked, 2);
    editor.save();
    assert.deepEqual(editor.authors(), ["typed", "typed", "claude", undefined]);
    await editor.refresh();
    assert.deepEqual(editor.authors(), ["user", "claude", "claude", undefined]);
    await editor.refresh();
    assert.equal(editor.asked, 3);
  });

  it("are still those of the saved text where somebody types before the daemon answers", async () => {
    const editor = new Editor("one\ntwo\n");
    editor.meanwhile = () => {
      editor.type([0, 0], [0, 0], "typed\n");
    };
    await editor.refresh();
    assert.deepEqual(editor.authors(), ["typed", "user", "claude", undefined]);
  });

  it("of a document that was changed before are known at both ends of the text", async () => {
    const editor = new Editor("one\ntwo\nthree\n");
    editor.document.isDirty = true;
    editor.document.replace([1, 0], [1, 3], "TWO");
    await editor.refresh();
    assert.deepEqual(editor.authors(), ["user", undefined, "claude", undefined]);
  });

  it("are told of no text but that on the disk", async () => {
    const editor = new Editor("one\ntwo\n");
    editor.disk = "one\ntwo by an agent\n";
    await editor.refresh();
    assert.equal(editor.asked, 0);
    // the editor reads the file again
    editor.blame.changed(editor.document, [editor.document.replace([1, 3], [1, 3], " by an agent")]);
    await editor.refresh();
    assert.deepEqual(editor.authors(), ["user", "claude", undefined]);
  });

  it("are nobody's in lines that an agent wrote under the editor, until the daemon answers", async () => {
    const editor = new Editor("one\ntwo\n");
    await editor.refresh();
    editor.disk = "one\nagent\ntwo\n";
    editor.blame.changed(editor.document, [editor.document.replace([1, 0], [1, 0], "agent\n")]);
    assert.deepEqual(editor.authors(), ["user", undefined, "claude", undefined]);
    await editor.refresh();
    assert.deepEqual(editor.authors(), ["user", "claude", "claude", undefined]);
  });

  it("are nobody's in lines that came from the disk just before somebody types", async () => {
    const editor = new Editor("one\ntwo\n");
    await editor.refresh();
    editor.disk = "one\nagent\ntwo\n";
    editor.blame.changed(editor.document, [editor.document.replace([1, 0], [1, 0], "agent\n")]);
    editor.type([3, 0], [3, 0], "typed");
    assert.deepEqual(editor.authors(), ["user", undefined, "claude", "typed"]);
    await editor.refresh();
    assert.deepEqual(editor.authors(), ["user", "claude", "claude", undefined]);
  });

  it("are asked for again where the file changed while the daemon answered", async () => {
    const editor = new Editor("one\ntwo\n");
    editor.meanwhile = () => {
      editor.disk = "one\nTWO\n";
    };
    await editor.refresh();
    assert.deepEqual(editor.authors(), [undefined, undefined, undefined]);
    editor.meanwhile = () => undefined;
    editor.disk = "one\ntwo\n";
    await editor.refresh();
    assert.deepEqual(editor.authors(), ["user", "claude", undefined]);
  });

  it("are taken for a file in another encoding, where the number of lines agrees", async () => {
    const editor = new Editor("one\ntwo\n");
    editor.disk = undefined;
    await editor.refresh();
    assert.deepEqual(editor.authors(), ["user", "claude", undefined]);
    const other = new Editor("one\rtwo\n");
    other.disk = undefined;
    await other.refresh();
    assert.deepEqual(other.authors(), [undefined, undefined, undefined]);
  });

  it("are none while the daemon is away, and in a file of no open folder", async () => {
    const editor = new Editor("one\ntwo\n");
    await editor.refresh();
    editor.isConnected = false;
    assert.deepEqual(editor.authors(), [undefined, undefined, undefined]);
    editor.blame.outdate();
    await editor.refresh();
    assert.equal(editor.asked, 1);
    editor.isConnected = true;
    await editor.refresh();
    assert.equal(editor.asked, 2);
    editor.isOpen = false;
    assert.deepEqual(editor.authors(), [undefined, undefined, undefined]);
  });

  it("are none of a file that is not text, and no news", async () => {
    const editor = new Editor("one\ntwo\n");
    editor.fail(new SnapdError("a.txt is not text", -32602, { kind: "invalidParams" }));
    await editor.refresh();
    await editor.refresh();
    assert.deepEqual([editor.asked, editor.warnings], [1, []]);
  });

  it("are asked for again once a lost connection is back; what else goes wrong is logged", async () => {
    const editor = new Editor("one\ntwo\n");
    editor.fail(new ConnectionLostError("gone"));
    await editor.refresh();
    assert.deepEqual(editor.warnings, []);
    editor.fail(new SnapdError("the store is damaged", 1007, { kind: "storeCorrupt" }));
    await editor.refresh();
    assert.match(editor.warnings.join(), /a\.txt.*the store is damaged/);
    assert.equal(editor.asked, 2);
  });

  it("are forgotten with the document", async () => {
    const editor = new Editor("one\ntwo\n");
    await editor.refresh();
    editor.blame.forget(editor.document);
    assert.deepEqual(editor.authors(), [undefined, undefined, undefined]);
    await editor.refresh();
    editor.blame.clear();
    assert.deepEqual(editor.authors(), [undefined, undefined, undefined]);
    editor.blame.dispose();
    await editor.refresh();
    assert.equal(editor.asked, 2);
  });
});
