/** A wire between browser and server that can be cut, as when a machine sleeps. */
import { once } from "node:events";
import net from "node:net";

export class Wire {
  #sockets = new Set();
  #isCut = false;
  #listener;

  /**
   * @param {net.Server} listener
   * @param {string} port
   */
  constructor(listener, port) {
    this.#listener = listener;
    this.port = port;
  }

  /**
   * Opens one on a port of its own.
   *
   * @param {string} port Of the server.
   */
  static async open(port) {
    const listener = net.createServer();
    listener.listen(0, "127.0.0.1");
    await once(listener, "listening");
    const wire = new Wire(listener, String(/** @type {net.AddressInfo} */ (listener.address()).port));
    listener.on("connection", (near) => wire.#join(near, Number(port)));
    return wire;
  }

  /** Breaks what passes, and lets nothing through. */
  cut() {
    this.#isCut = true;
    for (const socket of this.#sockets) {
      socket.destroy();
    }
  }

  mend() {
    this.#isCut = false;
  }

  close() {
    this.cut();
    this.#listener.close();
  }

  /**
   * @param {net.Socket} near
   * @param {number} port
   */
  #join(near, port) {
    if (this.#isCut) {
      near.destroy();
      return;
    }
    const far = net.connect(port, "127.0.0.1");
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ]) {
      this.#sockets.add(socket);
      socket?.on("error", () => other?.destroy());
      socket?.on("close", () => {
        this.#sockets.delete(socket);
        other?.destroy();
      });
    }
    // the server answers to its own name alone
    near.on("data", (data) => {
      far.write(data.toString("latin1").replaceAll(`127.0.0.1:${this.port}`, `127.0.0.1:${port}`), "latin1");
    });
    far.pipe(near);
  }
}
