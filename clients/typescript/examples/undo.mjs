import { SnapdClient } from "@snapd/client";
import { writeFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

const client = await SnapdClient.connect({
  transport: { command: "snapd", args: ["connect"] },
  clientInfo: { name: "example" },
  folders: [pathToFileURL(process.cwd()).href],
});
client.onNotification("session/didChange", ({ step }) => {
  if (step?.state === "applied") {
    console.log(`${step.tool}: ${step.files.map(({ file }) => file).join(", ")}`);
  }
});

const { sessionId } = await client.request("session/start", { agent: "example" });
const { stepId } = await client.request("step/begin", { sessionId, tool: "Write" });
await writeFile("hello.txt", "hello\n");
await client.request("step/end", { stepId });

const { files } = await client.request("session/undo", { sessionId });
console.log(files); // [ { file: "hello.txt", outcome: "deleted" } ]
await client.close();
