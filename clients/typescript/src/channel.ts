import type { Readable, Writable } from "node:stream";
import type { Address, Launch, Logger } from "./options.js";
import { launch } from "./process.js";
import { reach } from "./socket.js";

/** The bytes between this process and the daemon. */
export interface Channel {
  readonly readable: Readable;
  readonly writable: Writable;
  /** Lets go of it, and gives why it ended where that is known. A command that was launched has ended by then. */
  close(): Promise<string | undefined>;
}

/**
 * Opens a channel.
 *
 * @throws ConnectError - The command cannot be started, or nobody listens.
 */
export function openChannel(transport: Launch | Address, logger: Logger, signal: AbortSignal): Promise<Channel> {
  return "socketPath" in transport ? reach(transport, signal) : launch(transport, logger);
}
