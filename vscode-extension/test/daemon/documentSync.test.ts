import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { DocumentSync } from "../../src/daemon/documentSync";
import { FakeDocument, FakeWindow } from "./fakeWindow";

interface Started {
  readonly window: FakeWindow;
  readonly sync: DocumentSync;
  readonly document: FakeDocument;
}

/** A window with an open document, of which the daemon knows if it lies in the folder. */
function start(test: TestContext, folder = "/p"): Started {
  test.mock.timers.enable({ apis: ["setTimeout"] });
  const window = new FakeWindow();
  window.connect();
  const sync = new DocumentSync(window.editors, window);
  test.after(() => {
    sync.dispose();
  });
  const document = window.open(new FakeDocument("a.py", "disk", "file", folder));
  if (folder === "/p") window.take();
  return { window, sync, document };
}

const URI = "file:///p/a.py";
const OUTSIDE = "file:///elsewhere/a.py";

describe("DocumentSync", () => {
  it("reports a document of the folder as it is when it is opened", (test) => {
    const { window } = start(test);
    window.open(new FakeDocument("b.py", "other"));
    assert.deepEqual(window.take(), [["open", "file:///p/b.py", "python", 1, "other"]]);
  });

  it("reports at once that a document has unsaved text, and that the editor read it again", (test) => {
    const { window, document } = start(test);
    window.type(document, "typed");
    assert.deepEqual(window.take(), [["change", URI, 2, "typed"]]);
    window.becomeClean(document, "disk");
    window.becomeClean(document, "an agent wrote it");
    assert.deepEqual(window.take(), [
      ["change", URI, 3, "disk"],
      ["change", URI, 4, "an agent wrote it"],
    ]);
  });

  it("gathers what is typed on, and reports the last of it", (test) => {
    const { window, document } = start(test);
    window.type(document, "t");
    window.take();
    window.type(document, "ty");
    window.type(document, "typ");
    assert.deepEqual(window.take(), []);
    test.mock.timers.runAll();
    assert.deepEqual(window.take(), [["change", URI, 4, "typ"]]);
    test.mock.timers.runAll();
    assert.deepEqual(window.take(), []);
  });

  it("reports all with flush, once", async (test) => {
    const { window, sync, document } = start(test);
    window.type(document, "t");
    window.take();
    window.type(document, "ty");
    await sync.flush();
    assert.deepEqual(window.take(), [["change", URI, 3, "ty"]]);
    await sync.flush();
    test.mock.timers.runAll();
    assert.deepEqual(window.take(), []);
  });

  it("reports the very text that was saved before it reports the save", (test) => {
    const { window, document } = start(test);
    window.type(document, "t");
    window.type(document, "ty");
    window.take();
    window.save(document);
    test.mock.timers.runAll();
    assert.deepEqual(window.take(), [
      ["change", URI, 3, "ty"],
      ["save", URI],
    ]);
    window.type(document, "typ");
    assert.deepEqual(window.take(), [["change", URI, 4, "typ"]]);
  });

  it("reports what was typed while it was saved after the save", async (test) => {
    const { window, sync, document } = start(test);
    window.type(document, "t");
    window.type(document, "ty");
    window.take();
    window.save(document, "typ");
    assert.deepEqual(window.take(), [
      ["change", URI, 3, "ty"],
      ["save", URI],
    ]);
    await sync.flush();
    assert.deepEqual(window.take(), [["change", URI, 4, "typ"]]);
  });

  it("reports a document elsewhere while it has unsaved text", (test) => {
    const { window, document } = start(test, "/elsewhere");
    window.save(document);
    assert.deepEqual(window.take(), []);
    window.type(document, "typed");
    assert.deepEqual(window.take(), [
      ["open", OUTSIDE, "python", 2, "typed"],
      ["change", OUTSIDE, 2, "typed"],
    ]);
    window.becomeClean(document, "disk");
    assert.deepEqual(window.take(), [["close", OUTSIDE]]);
    window.type(document, "typed");
    window.take();
    window.save(document);
    assert.deepEqual(window.take(), [
      ["save", OUTSIDE],
      ["close", OUTSIDE],
    ]);
  });

  it("reports that a document was closed", (test) => {
    const { window, document } = start(test);
    window.close(document);
    assert.deepEqual(window.take(), [["close", URI]]);
  });

  it("reports to a new client all that is open, and to an absent one nothing", (test) => {
    const { window, document } = start(test);
    window.disconnect();
    window.type(document, "t");
    window.open(new FakeDocument("clean.py", "c"));
    assert.deepEqual(window.take(), []);
    window.connect();
    assert.deepEqual(window.take(), [
      ["open", URI, "python", 2, "t"],
      ["change", URI, 2, "t"],
      ["open", "file:///p/clean.py", "python", 1, "c"],
    ]);
  });

  it("reports files alone", (test) => {
    const { window } = start(test);
    window.type(window.open(new FakeDocument("x", "", "untitled")), "t");
    assert.deepEqual(window.take(), []);
  });

  it("reports nothing once it is disposed of", (test) => {
    const { window, sync, document } = start(test);
    window.type(document, "t");
    window.take();
    window.type(document, "ty");
    sync.dispose();
    window.type(document, "typ");
    test.mock.timers.runAll();
    assert.deepEqual(window.take(), []);
  });
});
