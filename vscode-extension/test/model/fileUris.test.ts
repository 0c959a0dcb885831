import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { fileUri, folderAbove, pathKey, relativeName, splitName } from "../../src/model/fileUris";
import { change } from "./making";

describe("file URIs", () => {
  it("are the same whatever is escaped", () => {
    assert.equal(pathKey("file:///a%20b/%c3%a4"), pathKey("file:///a b/ä"));
    assert.equal(pathKey("FILE://localhost/a/"), pathKey("file:///a"));
    assert.notEqual(pathKey("file:///%ff"), pathKey("file:///%fe"));
  });

  it("name files within a folder", () => {
    assert.equal(relativeName("file:///a%20b", "file:///a b/ä/c.txt"), "ä/c.txt");
    assert.equal(relativeName("file:///a", "file:///a/%FF.txt"), "\ufffd.txt");
    assert.equal(relativeName("file:///a", "file:///ab/c"), undefined);
    assert.equal(relativeName("file:///", "file:///c"), "c");
  });

  it("lead to files with any name", () => {
    for (const name of ["a#b?.txt", "100%.txt", "%41.txt", "ä/日本 x.md", "a+b&c=d;'.txt"]) {
      const expected = pathToFileURL(`/work/app/${name}`).href;
      assert.equal(pathKey(fileUri("file:///work/app", change(name))), pathKey(expected));
      assert.equal(relativeName("file:///work/app", expected), name);
    }
    assert.equal(fileUri("file:///a", change("\ufffd", { uri: "file:///a/%FF" })), "file:///a/%FF");
  });

  it("lead to the folder around, by the names that the window has", () => {
    assert.equal(folderAbove("file:///a%20b/c/%C3%A4", "c/ä"), "file:///a%20b");
    assert.equal(folderAbove("file:///a/b/", "b"), "file:///a");
    assert.equal(folderAbove("file:///link", "src/app"), undefined);
  });

  it("are split into name and folder", () => {
    assert.deepEqual(splitName("a/b/c.txt"), { base: "c.txt", directory: "a/b" });
    assert.deepEqual(splitName("c.txt"), { base: "c.txt", directory: "" });
  });
});
