import type { Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import {
  AbstractMessageWriter,
  type DataCallback,
  type Disposable,
  type Message,
  type MessageWriter,
  StreamMessageReader,
} from "vscode-jsonrpc/node.js";

/** Writes messages in the order of the calls. Only `onError` and `onClose` report a stream that fails. */
export class Writer extends AbstractMessageWriter implements MessageWriter {
  readonly #stream: Writable;

  constructor(stream: Writable) {
    super();
    this.#stream = stream;
    stream.on("error", (error) => {
      this.fireError(error);
    });
    stream.on("close", () => {
      this.fireClose();
    });
  }

  write(message: Message): Promise<void> {
    const body = Buffer.from(JSON.stringify(message));
    if (this.#stream.writable) {
      this.#stream.write(`Content-Length: ${String(body.byteLength)}\r\n\r\n`, "ascii");
      this.#stream.write(body);
    }
    // vscode-jsonrpc leaves the rejection of a request that cannot be written unhandled, which would end the process
    return Promise.resolve();
  }

  end(): void {
    this.#stream.end();
  }
}

/** Reads messages, and counts those that are not handled yet. */
export class Reader extends StreamMessageReader {
  #unhandled = 0;

  override listen(callback: DataCallback): Disposable {
    return super.listen((message) => {
      this.#unhandled += 1;
      callback(message);
    });
  }

  /** A message was handled. */
  handled(): void {
    this.#unhandled -= 1;
  }

  /** Lets what was read so far be handled: vscode-jsonrpc does one message each time the event loop goes round. */
  async settle(): Promise<void> {
    for (let left = this.#unhandled; left > 0; left -= 1) {
      await setImmediate();
    }
  }
}
