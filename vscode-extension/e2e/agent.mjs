/** An agent that works in a folder, in a process of its own. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const PROCESS = fileURLToPath(new URL("agent-process.mjs", import.meta.url));

/**
 * What a step writes: a text or bytes for each file, null to delete it.
 *
 * @typedef {Record<string, string | Buffer | null>} Changes
 */

export class Agent {
  /** @type {Map<number, { resolve: (result: any) => void, reject: (error: Error) => void }>} */
  #waiting = new Map();
  #lastId = 0;
  #process;
  #sessionId = "";

  /**
   * @param {import("./world.mjs").World} world
   * @param {string} folder
   */
  constructor(world, folder) {
    this.#process = fork(PROCESS, [world.snapd, folder], { env: world.environment() });
    this.#process.on("message", (/** @type {any} */ { id, result, error }) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) {
        waiting?.resolve(result);
      } else {
        waiting?.reject(new Error(`the agent: ${error}`));
      }
    });
    this.#process.on("exit", (code) => {
      for (const { reject } of this.#waiting.values()) {
        reject(new Error(`the agent ended with ${code}`));
      }
      this.#waiting.clear();
    });
  }

  /**
   * Starts an agent, and its session.
   *
   * @param {import("./world.mjs").World} world
   * @param {{ agent: string, title: string }} who
   * @param {string} folder
   */
  static async start(world, who, folder) {
    const agent = new Agent(world, folder);
    world.atEnd(() => agent.stop());
    await agent.#do("connect", {});
    const { sessionId } = await agent.request("session/start", who);
    agent.#sessionId = sessionId;
    return agent;
  }

  /** Its session. */
  get sessionId() {
    return this.#sessionId;
  }

  /**
   * Sends any request.
   *
   * @param {string} method
   * @param {object} params
   * @returns {Promise<any>}
   */
  request(method, params) {
    return this.#do("request", { method, params });
  }

  /**
   * Begins a step.
   *
   * @param {string} description
   * @param {string} tool
   * @returns {Promise<string>} Its id.
   */
  async begin(description, tool = "Edit") {
    const step = await this.request("step/begin", { sessionId: this.#sessionId, tool, description });
    return step.stepId;
  }

  /** @param {string} stepId */
  end(stepId) {
    return this.request("step/end", { stepId });
  }

  /** @param {Changes} changes */
  async write(changes) {
    for (const [file, content] of Object.entries(changes)) {
      if (content === null) {
        await this.#do("remove", { file });
      } else {
        await this.#do("write", { file, base64: Buffer.from(content).toString("base64") });
      }
    }
  }

  /**
   * Does a whole step.
   *
   * @param {string} description
   * @param {Changes} changes
   * @returns {Promise<string>} Its id.
   */
  async step(description, changes) {
    const stepId = await this.begin(description);
    await this.write(changes);
    await this.end(stepId);
    return stepId;
  }

  async stop() {
    if (this.#process.exitCode === null && this.#process.connected) {
      const gone = once(this.#process, "exit");
      this.#process.disconnect();
      await gone;
    }
  }

  /**
   * @param {string} deed
   * @param {object} message
   * @returns {Promise<any>}
   */
  #do(deed, message) {
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#process.send({ id, deed, ...message }, (error) => {
        if (error) {
          this.#waiting.delete(id);
          reject(error);
        }
      });
    });
  }
}
