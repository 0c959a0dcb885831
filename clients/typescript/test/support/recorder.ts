import type { NotificationName, Notifications, SnapdClient } from "../../src/index.js";

const NAMES: readonly NotificationName[] = [
  "snapshot/didTrack",
  "snapshot/didChange",
  "snapshot/didRevert",
  "session/didChange",
  "review/didChange",
];

/** A notification, or a reset. */
export type Record =
  { method: NotificationName; params: Notifications[NotificationName] } | { method: "reset"; workspaceUri: string };

/** Keeps all that a client tells, in its order. */
export class Recorder {
  readonly records: Record[] = [];

  constructor(client: Pick<SnapdClient, "onNotification" | "onReset">) {
    for (const method of NAMES) {
      client.onNotification(method, (params) => this.records.push({ method, params }));
    }
    client.onReset((workspaceUri) => this.records.push({ method: "reset", workspaceUri }));
  }

  /** The hashes of the snapshots that were told. */
  get tracked(): string[] {
    return this.records.flatMap((record) =>
      record.method === "snapshot/didTrack" && "hash" in record.params ? [record.params.hash] : [],
    );
  }

  get resets(): string[] {
    return this.records.flatMap((record) => (record.method === "reset" ? [record.workspaceUri] : []));
  }

  /** The numbers of the notifications of a folder. */
  seqs(workspaceUri: string): number[] {
    return this.records.flatMap((record) =>
      record.method !== "reset" && record.params.workspaceUri === workspaceUri ? [record.params.seq] : [],
    );
  }
}
