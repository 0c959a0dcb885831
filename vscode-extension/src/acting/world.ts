// Where actions take place.

import type { ActingFolder } from "./action";
import type { Ui } from "./ui";

/** How a program ended. */
export interface Finished {
  readonly stdout: string;
  readonly stderr: string;
}

/** Everything outside that an action needs. */
export interface World {
  readonly ui: Ui;
  /** The folder of this workspaceUri; throws where it is not open. */
  folder(uri: string): ActingFolder;
  /** Resolves once the daemon has all unsaved text. */
  flush(): Promise<void>;
  /** Runs snapd with these arguments, and waits for its end; throws where there is none to run. */
  run(args: readonly string[]): Promise<Finished>;
  /** Which notifications are wanted. */
  notifications(): "all" | "problems" | "off";
  /** Runs work that continues after an action; nobody waits for its result. */
  later(work: Promise<unknown>): void;
  readonly log: { info(message: string): void; error(message: string): void };
}
