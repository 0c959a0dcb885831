// What the model needs of a client.

import type { SnapdClient } from "@snapd/client";

/** What the model asks and hears; `SnapdClient` is one. */
export type Connection = Pick<SnapdClient, "request" | "onNotification" | "onReset" | "state" | "onDidChangeState">;
