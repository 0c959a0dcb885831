// What the model needs of a client.

import type { SnapdClient } from "@snapd/client";

/** The connection that the model uses; `SnapdClient` is one. */
export type Connection = Pick<SnapdClient, "request" | "onNotification" | "onReset" | "state" | "onDidChangeState">;
