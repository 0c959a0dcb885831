/** Agents that do as they are told, each in a process of its own with a connection of its own. */
import { appendFileSync } from "node:fs";
import { Agent } from "../../../vscode-extension/e2e/agent.mjs";

/** @typedef {import("../../../vscode-extension/e2e/agent.mjs").Changes} Changes */

export class ScriptedAgent {
  #hands;
  #messages = 0;

  /**
   * @param {Agent} hands
   * @param {string} sessionId
   */
  constructor(hands, sessionId) {
    this.#hands = hands;
    this.sessionId = sessionId;
  }

  /**
   * Starts an agent, and its session.
   *
   * @param {import("../../../vscode-extension/e2e/world.mjs").World} world
   * @param {string} agent
   * @param {string} title
   */
  static async start(world, agent, title) {
    const hands = await Agent.start(world, { agent, title }, world.project);
    const { sessions } = await hands.request("session/list", {});
    const session = sessions.find((/** @type {any} */ one) => one.title === title);
    return new ScriptedAgent(hands, session.sessionId);
  }

  /**
   * Gets a prompt; what it does from now on is the turn of it.
   *
   * @param {string} text
   * @returns {Promise<string>} The id of the message.
   */
  async prompt(text) {
    this.#messages += 1;
    const messageId = `${this.sessionId}-${this.#messages}`;
    await this.#hands.request("session/message", { sessionId: this.sessionId, messageId, text });
    return messageId;
  }

  /**
   * Gets a prompt as Claude Code does, which keeps its conversation in a file.
   *
   * @param {string} transcript The file.
   * @param {string} text
   */
  async promptIn(transcript, text) {
    const parentUuid = this.#messages === 0 ? null : `${this.sessionId}-${this.#messages}`;
    this.#messages += 1;
    const { sessionId } = this;
    const messageId = `${sessionId}-${this.#messages}`;
    await this.#hands.request("agent/report", { sessionId, event: "prompt", messageId, text, transcript });
    const message = { role: "user", content: text };
    const row = { type: "user", uuid: messageId, parentUuid, promptId: messageId, sessionId, message };
    appendFileSync(transcript, `${JSON.stringify(row)}\n`);
  }

  /**
   * Starts another session, and does nothing in it.
   *
   * @param {string} title
   * @returns {Promise<string>} Its id.
   */
  async startAnother(title) {
    return (await this.#hands.request("session/start", { title })).sessionId;
  }

  /**
   * @param {string} description
   * @param {string} tool
   */
  begin(description, tool = "Edit") {
    return this.#hands.begin(description, tool);
  }

  /**
   * @param {string} stepId
   * @param {string[]} [files] Those that it says it wrote.
   */
  end(stepId, files) {
    return this.#hands.request("step/end", files === undefined ? { stepId } : { stepId, files });
  }

  /** @param {Changes} changes */
  write(changes) {
    return this.#hands.write(changes);
  }

  /**
   * Does a whole step, and says which files it wrote.
   *
   * @param {string} description
   * @param {Changes} changes
   * @returns {Promise<string>} Its id.
   */
  async step(description, changes) {
    const stepId = await this.begin(description);
    await this.write(changes);
    await this.end(stepId, Object.keys(changes));
    return stepId;
  }

  /**
   * @param {string} method
   * @param {object} params
   */
  request(method, params) {
    return this.#hands.request(method, params);
  }
}
