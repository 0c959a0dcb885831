import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { agentsOf, connectedMessage, failuresOf, installArguments, type Agent } from "../../src/daemon/agents";
import type { Finished } from "../../src/daemon/processes";

function printed(answer: unknown, code = 0): Finished {
  return { code, stdout: JSON.stringify(answer), stderr: "" };
}

function agent(changed: Partial<Agent>): Agent {
  return { name: "claude", title: "Claude Code", found: true, installed: true, hint: undefined, ...changed };
}

describe("agentsOf", () => {
  it("reads which agents are here and connected, and what keeps the hooks of one from running", () => {
    const agents = [
      { name: "claude", title: "Claude Code", found: true, installed: false, hint: "not of interest" },
      { name: "codex", title: "Codex", found: true, installed: true, problem: "not trusted", hint: "enter /hooks" },
    ];
    assert.deepEqual(agentsOf(printed({ agents })), [
      agent({ installed: false }),
      agent({ name: "codex", title: "Codex", hint: "enter /hooks" }),
    ]);
  });

  it("fails with what was said instead of an answer", () => {
    assert.throws(() => agentsOf({ code: 2, stdout: "", stderr: "no disk\n" }), /^Error: no disk$/);
    assert.throws(() => agentsOf({ code: null, stdout: "Traceback", stderr: "" }), /ended with code null/);
    const error = { kind: "wrongUsage", message: "there is no such agent", hint: "look for one" };
    assert.throws(() => agentsOf(printed({ error }, 2)), /^Error: there is no such agent; look for one$/);
  });
});

describe("failuresOf", () => {
  it("names the settings that could not be written, and why", () => {
    const files = [
      { agent: "claude", file: "/h/a.json", did: "created" },
      { agent: "codex", file: "/h/b.json", did: "nothing", error: { message: "it is no JSON", hint: "mend it" } },
    ];
    assert.deepEqual(failuresOf(printed({ files }, 3)), ["/h/b.json: it is no JSON; mend it"]);
  });
});

describe("connecting agents", () => {
  it("names them to snapd", () => {
    assert.deepEqual(installArguments([agent({}), agent({ name: "pi" })]), [
      "agent",
      "install",
      "--json",
      "claude",
      "pi",
    ]);
  });

  it("says which were connected, and what they still need", () => {
    assert.equal(connectedMessage([agent({})]), "Connected Claude Code. Restart it if it is running.");
    assert.equal(
      connectedMessage([agent({}), agent({ title: "Pi" }), agent({ title: "Codex", hint: "enter /hooks" })]),
      "Connected Claude Code, Pi and Codex. Restart those that are running. Codex: enter /hooks.",
    );
  });
});
