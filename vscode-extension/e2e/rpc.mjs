/** The least of JSON-RPC that an agent needs: requests over the standard streams of `snapd connect`. */
import { spawn } from "node:child_process";

/** @typedef {{ resolve: (result: any) => void, reject: (error: Error) => void }} Waiting */

export class Connection {
  /** @type {Map<number, Waiting>} */
  #waiting = new Map();
  #received = Buffer.alloc(0);
  #lastId = 0;
  #process;

  /** @param {string} snapd The program. */
  constructor(snapd) {
    this.#process = spawn(snapd, ["connect"], { stdio: ["pipe", "pipe", "inherit"] });
    this.#process.stdout.on("data", (chunk) => this.#receive(chunk));
    this.#process.stdin.on("error", (error) => this.#fail(error));
    this.#process.on("error", (error) => this.#fail(error));
    this.#process.on("exit", (code) => this.#fail(new Error(`snapd connect ended with ${code}`)));
  }

  /**
   * Asks and waits for the answer.
   *
   * @param {string} method
   * @param {object} params
   * @returns {Promise<any>}
   */
  request(method, params) {
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#send({ jsonrpc: "2.0", id, method, params });
    });
  }

  /**
   * @param {string} method
   * @param {object} params
   */
  notify(method, params) {
    this.#send({ jsonrpc: "2.0", method, params });
  }

  close() {
    this.#process.stdin.end();
  }

  /** @param {object} message */
  #send(message) {
    const body = Buffer.from(JSON.stringify(message));
    this.#process.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    this.#process.stdin.write(body);
  }

  /** @param {Buffer} chunk */
  #receive(chunk) {
    this.#received = Buffer.concat([this.#received, chunk]);
    for (;;) {
      const end = this.#received.indexOf("\r\n\r\n");
      if (end < 0) {
        return;
      }
      const length = Number(/content-length: *(\d+)/i.exec(this.#received.toString("latin1", 0, end))?.[1]);
      if (this.#received.length < end + 4 + length) {
        return;
      }
      const body = this.#received.subarray(end + 4, end + 4 + length);
      this.#received = this.#received.subarray(end + 4 + length);
      this.#answer(JSON.parse(body.toString()));
    }
  }

  /** @param {any} message */
  #answer(message) {
    if (message.method !== undefined) {
      return;
    }
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.error === undefined) {
      waiting?.resolve(message.result);
    } else {
      waiting?.reject(new Error(`${message.error.message} ${JSON.stringify(message.error.data ?? {})}`));
    }
  }

  /** @param {Error} error */
  #fail(error) {
    for (const { reject } of this.#waiting.values()) {
      reject(error);
    }
    this.#waiting.clear();
  }
}
