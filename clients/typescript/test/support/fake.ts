import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { type ClientOptions, SnapdClient } from "../../src/index.js";
import { Log } from "./log.js";
import { until } from "./until.js";

/** A message as it was on the wire. */
export interface Message {
  id?: number | string;
  method?: string;
  params?: Record<string, unknown>;
  result?: unknown;
  error?: { code: number; message: string; data?: unknown };
}

/** A daemon that a test plays, with a framing of its own. It answers what a client asks by itself. */
export class FakeDaemon {
  readonly messages: Message[] = [];
  readonly log = new Log();
  readonly socketPath: string;
  latest = 0;
  /** Requests that the test answers itself. */
  readonly held = new Set<string>();
  readonly #server: Server;
  readonly #sockets: Socket[] = [];

  static async make(t: TestContext): Promise<FakeDaemon> {
    const root = await mkdtemp(join(tmpdir(), "snapd-client-"));
    const daemon = new FakeDaemon(join(root, "sock"));
    daemon.#server.listen(daemon.socketPath);
    await once(daemon.#server, "listening");
    t.after(async () => {
      daemon.drop();
      daemon.#server.close();
      await rm(root, { recursive: true });
    });
    return daemon;
  }

  private constructor(socketPath: string) {
    this.socketPath = socketPath;
    this.#server = createServer((socket) => {
      this.#sockets.push(socket);
      this.#read(socket);
    });
  }

  async client(t: TestContext, options: Partial<ClientOptions> = {}): Promise<SnapdClient> {
    const client = await SnapdClient.connect({
      transport: { socketPath: this.socketPath },
      clientInfo: { name: "test" },
      folders: ["file:///w"],
      logger: this.log,
      reconnect: { firstDelay: 1, longestDelay: 10 },
      ...options,
    });
    t.after(() => client.close());
    return client;
  }

  /** Sends a message on the latest connection. */
  send(message: object): void {
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
    this.write(`Content-Length: ${String(body.length)}\r\n\r\n${body.toString()}`);
  }

  write(text: string): void {
    this.#sockets.at(-1)?.write(text);
  }

  /** Ends all connections, after what was sent. */
  drop(): void {
    for (const socket of this.#sockets.splice(0)) {
      socket.destroySoon();
    }
  }

  get connections(): number {
    return this.messages.filter(({ method }) => method === "initialize").length;
  }

  /** Waits for a message of a client. */
  async got(wanted: (message: Message) => boolean): Promise<Message> {
    await until(() => this.messages.some(wanted), "a message came");
    return this.messages.find(wanted) ?? {};
  }

  #read(socket: Socket): void {
    let buffer = Buffer.alloc(0);
    socket.on("error", () => undefined);
    socket.on("data", (data) => {
      buffer = Buffer.concat([buffer, data]);
      for (;;) {
        const head = buffer.indexOf("\r\n\r\n");
        const length = Number(/Content-Length: (\d+)/.exec(buffer.toString("latin1", 0, head))?.[1]);
        if (head < 0 || buffer.length < head + 4 + length) {
          return;
        }
        const message = JSON.parse(buffer.toString("utf8", head + 4, head + 4 + length)) as Message;
        buffer = buffer.subarray(head + 4 + length);
        this.messages.push(message);
        this.#answer(message);
      }
    });
  }

  #answer({ id, method, params }: Message): void {
    const results: Record<string, unknown> = {
      initialize: { capabilities: {}, serverInfo: { name: "fake" } },
      shutdown: null,
      "snapshot/status": { workspaceUri: params?.["workspaceUri"] },
      "snapshot/events": { reset: true, latest: this.latest },
    };
    if (id !== undefined && method !== undefined && method in results && !this.held.has(method)) {
      this.send({ id, result: results[method] });
    }
  }
}
