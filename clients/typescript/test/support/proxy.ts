import { createConnection, createServer, type Server, type Socket } from "node:net";
import { once } from "node:events";
import type { TestContext } from "node:test";

/** A socket that leads to another one, until it is cut. */
export class Proxy {
  readonly #server: Server;
  readonly #pairs = new Set<[Socket, Socket]>();
  #passing = true;
  /** How often somebody connected. */
  attempts = 0;

  static async make(t: TestContext, path: string, target: string): Promise<Proxy> {
    const proxy = new Proxy(target);
    proxy.#server.listen(path);
    await once(proxy.#server, "listening");
    t.after(() => {
      proxy.cut();
      proxy.#server.close();
    });
    return proxy;
  }

  private constructor(target: string) {
    this.#server = createServer((client) => {
      this.attempts += 1;
      client.on("error", () => undefined);
      if (!this.#passing) {
        client.destroy();
        return;
      }
      const daemon = createConnection(target);
      daemon.on("error", () => undefined);
      const pair: [Socket, Socket] = [client, daemon];
      this.#pairs.add(pair);
      client.on("close", () => {
        daemon.destroy();
        this.#pairs.delete(pair);
      });
      daemon.on("close", () => client.destroy());
      client.pipe(daemon).pipe(client);
    });
  }

  /** Ends all connections, and each new one at once. */
  cut(): void {
    this.#passing = false;
    for (const [client, daemon] of this.#pairs) {
      client.destroy();
      daemon.destroy();
    }
  }

  /** Lets connections through again. */
  mend(): void {
    this.#passing = true;
  }
}
