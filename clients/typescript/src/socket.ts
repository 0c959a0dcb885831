import { once } from "node:events";
import { createConnection } from "node:net";
import type { Channel } from "./channel.js";
import { ConnectError } from "./errors.js";
import type { Address } from "./options.js";

/**
 * Connects to a Unix socket or a named pipe.
 *
 * @throws ConnectError - Nobody listens there, or the signal was aborted.
 */
export async function reach({ socketPath }: Address, signal: AbortSignal): Promise<Channel> {
  const socket = createConnection(socketPath);
  try {
    await once(socket, "connect", { signal });
  } catch (error) {
    socket.destroy();
    throw new ConnectError(`cannot connect to ${socketPath}: ${(error as Error).message}`, { cause: error });
  }
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
