import assert from "node:assert/strict";
import { test } from "node:test";
import { fragmentOf, parseRoute, type Route } from "../../src/model/route";

const HOSTILE = "a/../%2e ?#&=\"'<img src=x onerror=alert(1)>\u202e☃\n";

const ROUTES: readonly Route[] = [
  { page: "today" },
  { page: "timeline", scope: undefined },
  { page: "timeline", scope: "s1" },
  { page: "timeline", scope: HOSTILE, shown: { what: "step", sessionId: HOSTILE, stepId: HOSTILE, file: HOSTILE } },
  { page: "timeline", scope: undefined, shown: { what: "step", sessionId: "s1", stepId: "t1" } },
  { page: "timeline", scope: "s1", shown: { what: "step", sessionId: "s2", stepId: "t1" } },
  {
    page: "timeline",
    scope: "s1",
    shown: { what: "step", sessionId: "s1", stepId: "t1", file: "added", line: { change: "added", line: 12 } },
  },
  {
    page: "timeline",
    scope: undefined,
    shown: { what: "step", sessionId: "s1", stepId: "t1", file: HOSTILE, line: { change: "deleted", line: 1 } },
  },
  { page: "timeline", scope: "s1", shown: { what: "turn", sessionId: "s1", messageId: HOSTILE } },
  { page: "timeline", scope: undefined, shown: { what: "turn", sessionId: "of", messageId: "step", file: "file" } },
  { page: "timeline", scope: "s1", shown: { what: "change", before: "aa", after: "bb", file: "x/y" } },
  { page: "review" },
  { page: "review", file: HOSTILE },
  { page: "review", of: { by: "agent", id: HOSTILE } },
  { page: "review", of: { by: "session", id: "file" }, file: "session" },
  { page: "file", file: HOSTILE },
  { page: "file", file: "blame", blame: true },
  { page: "file", file: "at", at: "aa", blame: true },
  { page: "file", file: "a", at: "blame" },
  { page: "search", text: HOSTILE },
  { page: "search", text: "" },
];

for (const route of ROUTES) {
  test(`a fragment leads back to ${JSON.stringify(route)}`, () => {
    const fragment = fragmentOf(route);
    assert.match(fragment, /^#\/[\w%.!~*'()/-]*$/);
    assert.deepEqual(parseRoute(fragment), route);
  });
}

test("the link to a step of a session reads as it is meant", () => {
  const shown = { what: "step", sessionId: "S", stepId: "T", file: "src/a.py" } as const;
  assert.equal(fragmentOf({ page: "timeline", scope: "S", shown }), "#/session/S/step/T/file/src%2Fa.py");
});

for (const rest of ["", "/added", "/added/0", "/added/-1", "/added/1e3", "/moved/3", "/deleted/99999999999"]) {
  test(`a line that is none is not looked for: ${JSON.stringify(rest)}`, () => {
    const shown = { what: "step", sessionId: "S", stepId: "T", file: "a" };
    assert.deepEqual(parseRoute(`#/session/S/step/T/file/a${rest}`), { page: "timeline", scope: "S", shown });
  });
}

for (const fragment of ["", "#", "#/", "#/nowhere", "#/file", "#/session", "#/%", "#token=x"]) {
  test(`${JSON.stringify(fragment)} leads to today`, () => {
    assert.deepEqual(parseRoute(fragment), { page: "today" });
  });
}

for (const fragment of ["#/all", "#/all/step", "#/all/step/T"]) {
  test(`${JSON.stringify(fragment)} leads to everything`, () => {
    assert.deepEqual(parseRoute(fragment), { page: "timeline", scope: undefined });
  });
}

test("what changed only git is told apart by its time", () => {
  const shown = { what: "change", before: "b", after: "b", at: "2026-11-21T10:00:00.000Z", file: "a" } as const;
  const route = { page: "timeline", scope: undefined, shown } as const;
  assert.deepEqual(parseRoute(fragmentOf(route)), route);
});

test("a percent sign that escapes nothing stands for itself", () => {
  assert.deepEqual(parseRoute("#/session/100%"), { page: "timeline", scope: "100%" });
});
