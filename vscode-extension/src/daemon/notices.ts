// Reports once that snapd does not start.

import type { Disposable } from "@snapd/client";
import * as vscode from "vscode";
import type { Daemon } from "./daemon";
import { currentSettings } from "./window";

/** Reports a state of the daemon that needs the user. */
export function noticeProblems(daemon: Daemon, log: vscode.LogOutputChannel): Disposable {
  let last = daemon.state;
  return daemon.onDidChange(() => {
    const before = last;
    last = daemon.state;
    if (last === before || last !== "failed" || currentSettings().notifications === "off") return;
    sayFailed(daemon, log).catch((error: unknown) => {
      log.error(error instanceof Error ? error : String(error));
    });
  });
}

async function sayFailed(daemon: Daemon, log: vscode.LogOutputChannel): Promise<void> {
  const [showLog, again] = ["Show Log", "Try Again"];
  const message = `Snapd is not connected: ${daemon.problem?.message ?? "the log says why"}`;
  const answer = await vscode.window.showErrorMessage(message, showLog, again);
  if (answer === showLog) log.show();
  if (answer === again) await daemon.reconnect();
}
