import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Entry, Session } from "@snapd/client";
import { absenceOf, statusOf, type StatusFolder } from "../../src/daemon/status";

function session(stepCount: number, names: Partial<Session> = {}): Session {
  const startedAt = "2026-01-01T00:00:00.000Z";
  return { sessionId: "s", name: names.title ?? "s", startedAt, stepCount, undoable: 0, redoable: 0, ...names };
}

function folder(changed: Partial<StatusFolder>): StatusFolder {
  return { name: "project", sessions: [], entries: [], problem: undefined, enabled: true, ...changed };
}

function entry(at: string): Entry {
  return { kind: "user", at, before: "a", after: "b", files: [] };
}

describe("statusOf", () => {
  it("counts the steps of the session that was active last, of all folders", () => {
    const older = folder({ sessions: [session(9)], entries: [entry("2026-01-01T00:00:00.000Z")] });
    const newer = folder({
      sessions: [session(1, { title: "the parser" }), session(7)],
      entries: [entry("2026-01-02T00:00:00.000Z")],
    });
    for (const folders of [
      [older, newer],
      [newer, older],
    ]) {
      const status = statusOf("ready", undefined, folders);
      assert.match(status?.text ?? "", / 1 step$/);
      assert.match(status?.tooltip ?? "", /the parser/);
    }
    assert.match(statusOf("ready", undefined, [older])?.text ?? "", / 9 steps$/);
  });

  it("says that no agent has worked here", () => {
    assert.match(statusOf("ready", undefined, [folder({})])?.tooltip ?? "", /No agent/);
  });

  it("says that snapshots are off only where they are in every folder", () => {
    const off = folder({ enabled: false });
    assert.match(statusOf("ready", undefined, [off])?.text ?? "", /snapshots off/);
    assert.doesNotMatch(statusOf("ready", undefined, [off, folder({})])?.text ?? "", /off/);
    assert.doesNotMatch(statusOf("ready", undefined, [])?.text ?? "", /off/);
  });

  it("leads to the log with the reason where a folder is refused or there is no connection", () => {
    const refused = statusOf("ready", undefined, [folder({}), folder({ problem: new Error("the home folder") })]);
    assert.deepEqual([refused?.isWrong, refused?.tooltip], [true, "project: the home folder"]);
    const failed = statusOf("failed", new Error("no such file"), []);
    assert.equal(failed?.isWrong, true);
    assert.match(failed.tooltip, /no such file/);
  });

  it("shows nothing where there is nothing to connect to", () => {
    assert.equal(statusOf("stopped", undefined, []), undefined);
  });
});

describe("absenceOf", () => {
  it("gives the reason that holds, and not that there is no folder", () => {
    assert.match(absenceOf("untrusted"), /you trust/);
    assert.match(absenceOf("disabled"), /turned off/);
    assert.match(absenceOf("failed"), /log says why/);
    assert.equal(absenceOf("ready"), "No folder is open.");
  });
});
