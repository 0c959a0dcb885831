/**
 * The process of an agent: it has its own connection to the daemon, and writes into the folder like any program.
 *
 * It does what its parent tells it, one message at a time, and answers each with the message's number.
 */
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { Connection } from "./rpc.mjs";

const [snapd, folder] = /** @type {[string, string]} */ (process.argv.slice(2));
const connection = new Connection(snapd);

/** @type {Record<string, (message: any) => Promise<unknown>>} */
const DEEDS = {
  async connect() {
    const folders = [{ uri: pathToFileURL(folder).href, name: path.basename(folder) }];
    await connection.request("initialize", { processId: process.pid, capabilities: {}, workspaceFolders: folders });
    connection.notify("initialized", {});
  },
  request({ method, params }) {
    return connection.request(method, params);
  },
  async write({ file, base64 }) {
    const target = path.join(folder, file);
    fs.mkdirSync(path.dirname(target), { recursive: true });
    fs.writeFileSync(target, Buffer.from(base64, "base64"));
  },
  async remove({ file }) {
    fs.rmSync(path.join(folder, file));
  },
};

process.on("message", (/** @type {any} */ message) => {
  const deed = /** @type {(message: any) => Promise<unknown>} */ (DEEDS[message.deed]);
  deed(message).then(
    (result) => process.send?.({ id: message.id, result }),
    (/** @type {Error} */ error) => process.send?.({ id: message.id, error: error.message }),
  );
});
process.on("disconnect", () => connection.close());
