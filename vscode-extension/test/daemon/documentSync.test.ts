import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { DocumentSync } from "../../src/daemon/documentSync";
import { FakeDocument, FakeWindow } from "./fakeWindow";

function start(test: TestContext): { window: FakeWindow; sync: DocumentSync; document: FakeDocument } {
  test.mock.timers.enable({ apis: ["setTimeout"] });
  const window = new FakeWindow();
  window.connect();
  const sync = new DocumentSync(window.editors, window);
  test.after(() => {
    sync.dispose();
  });
  return { window, sync, document: window.open(new FakeDocument("a.py", "disk")) };
}

const URI = "file:///p/a.py";

describe("DocumentSync", () => {
  it("tells nothing of a document that nobody types into", async (test) => {
    const { window, sync, document } = start(test);
    window.save(document);
    window.close(document);
    await sync.flush();
    assert.deepEqual(window.take(), []);
  });

  it("tells at once, and as a change, that a document has unsaved text", (test) => {
    const { window, document } = start(test);
    window.type(document, "typed");
    assert.deepEqual(window.take(), [
      ["open", URI, "python", 2, "typed"],
      ["change", URI, 2, "typed"],
    ]);
  });

  it("gathers what is typed on, and tells the last of it", (test) => {
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

  it("tells all with flush, once", async (test) => {
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

  it("tells that it was saved, and forgets what waited", (test) => {
    const { window, document } = start(test);
    window.type(document, "t");
    window.type(document, "ty");
    window.take();
    window.save(document);
    test.mock.timers.runAll();
    assert.deepEqual(window.take(), [
      ["save", URI],
      ["close", URI],
    ]);
  });

  it("tells what was typed while it was saved", async (test) => {
    const { window, sync, document } = start(test);
    window.type(document, "t");
    window.take();
    window.save(document, true);
    await sync.flush();
    assert.deepEqual(window.take(), [
      ["save", URI],
      ["change", URI, 2, "t"],
    ]);
  });

  it("tells that nothing is unsaved any more after an undo in the editor, and after closing", (test) => {
    const { window, document } = start(test);
    window.type(document, "t");
    window.take();
    window.becomeClean(document);
    assert.deepEqual(window.take(), [["close", URI]]);
    window.type(document, "t");
    window.take();
    window.close(document);
    assert.deepEqual(window.take(), [["close", URI]]);
  });

  it("tells a new client of all that is unsaved, and an absent one nothing", (test) => {
    const { window, document } = start(test);
    window.disconnect();
    window.type(document, "t");
    window.open(new FakeDocument("clean.py", ""));
    assert.deepEqual(window.take(), []);
    window.connect();
    window.take();
    window.connect();
    assert.deepEqual(
      window.take().map(([name, uri]) => [name, uri]),
      [
        ["open", URI],
        ["change", URI],
      ],
    );
  });

  it("tells of files alone", (test) => {
    const { window } = start(test);
    window.type(window.open(new FakeDocument("x", "", "untitled")), "t");
    assert.deepEqual(window.take(), []);
  });

  it("tells nothing once it is let go of", (test) => {
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
