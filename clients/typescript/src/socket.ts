import { once } from "node:events";
import { createConnection, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { Channel } from "./channel.js";
import { ConnectError } from "./errors.js";
import type { Address } from "./options.js";

/** How long a connection is tried for that the system refuses: where too many wait, or the daemon begins. */
const CROWDED_MS = 1000;
const FIRST_PAUSE_MS = 5;
const CROWDED = ["EAGAIN", "ECONNREFUSED"];

/**
 * Connects to a Unix socket or a named pipe.
 *
 * @throws ConnectError - Nobody listens there, or the signal was aborted.
 */
export async function reach({ socketPath }: Address, signal: AbortSignal): Promise<Channel> {
  const socket = await persist(socketPath, signal).catch((error: unknown) => {
    throw new ConnectError(`cannot connect to ${socketPath}: ${(error as Error).message}`, { cause: error });
  });
  let failure: string | undefined;
  socket.on("error", (error) => {
    failure = error.message;
  });
  return {
    readable: socket,
    writable: socket,
    close() {
      // what was written is still sent
      socket.destroySoon();
      return Promise.resolve(failure);
    },
  };
}

/** Connects, and retries briefly if too many others connect at the same time. */
async function persist(socketPath: string, signal: AbortSignal): Promise<Socket> {
  const last = performance.now() + CROWDED_MS;
  for (let pause = FIRST_PAUSE_MS; ; pause *= 2) {
    const socket = createConnection(socketPath);
    try {
      await once(socket, "connect", { signal });
      return socket;
    } catch (error) {
      socket.destroy();
      const crowded = CROWDED.includes((error as NodeJS.ErrnoException).code ?? "");
      if (!crowded || performance.now() + pause > last) {
        throw error;
      }
    }
    await delay(pause, undefined, { signal });
  }
}
