/** An agent that knows nothing of snapd: its hooks report its events to the program, one process for each. */
import { execFileSync } from "node:child_process";
import { appendFileSync } from "node:fs";
import path from "node:path";

/** A hook gives up in time, so as not to hold up its agent; here it has all the time that a busy machine takes. */
const PATIENCE = "60";

export class HookedAgent {
  #prompt = "";
  #calls = 0;
  /** @type {string | null} */
  #row = null;

  /**
   * @param {import("./world.mjs").World} world
   * @param {string} sessionId
   * @param {string} [transcript] Its own file of the conversation, which it writes.
   */
  constructor(world, sessionId, transcript) {
    this.world = world;
    this.sessionId = sessionId;
    this.transcript = transcript;
  }

  /**
   * The user sends it a prompt.
   *
   * @param {string} text
   */
  prompt(text) {
    this.#prompt = `${this.sessionId}-${text.slice(0, 8)}`;
    this.#report("UserPromptSubmit", { prompt: text });
    if (this.transcript === undefined) return;
    const { sessionId } = this;
    const [uuid, promptId] = [`row of ${this.#prompt}`, this.#prompt];
    const message = { role: "user", content: text };
    const row = { type: "user", uuid, parentUuid: this.#row, promptId, sessionId, message };
    appendFileSync(this.transcript, `${JSON.stringify(row)}\n`);
    this.#row = uuid;
  }

  /**
   * It begins to edit a file.
   *
   * @param {string} file
   * @returns {() => void} Ends the edit.
   */
  begin(file) {
    this.#calls += 1;
    const call = {
      tool_name: "Edit",
      tool_input: { file_path: path.join(this.world.project, file) },
      tool_use_id: `call-${this.#calls}`,
    };
    this.#report("PreToolUse", call);
    return () => this.#report("PostToolUse", { ...call, tool_response: {} });
  }

  /**
   * It edits a file.
   *
   * @param {string} file
   * @param {string} text
   */
  edit(file, text) {
    const end = this.begin(file);
    this.world.write(file, text);
    end();
  }

  /** Its turn is over. */
  stop() {
    this.#report("Stop", {});
  }

  /**
   * @param {string} event
   * @param {object} fields
   */
  #report(event, fields) {
    const { project, snapd } = this.world;
    const told = {
      hook_event_name: event,
      session_id: this.sessionId,
      prompt_id: this.#prompt,
      cwd: project,
      ...(this.transcript === undefined ? {} : { transcript_path: this.transcript }),
      ...fields,
    };
    execFileSync(snapd, ["hook"], {
      cwd: project,
      env: { ...this.world.environment(), SNAPD_HOOK_SECONDS: PATIENCE },
      input: JSON.stringify(told),
    });
  }
}
