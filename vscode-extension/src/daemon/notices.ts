// Says once when snapd is not there, or does not start.

import type { Disposable } from "@snapd/client";
import * as vscode from "vscode";
import { offerInstall, type Installing } from "./installing";
import { currentSettings } from "./window";

/** Tells when the daemon's state becomes one that needs the user. */
export function noticeProblems(installing: Installing): Disposable {
  const { daemon, log } = installing;
  let last = daemon.state;
  return daemon.onDidChange(() => {
    const before = last;
    last = daemon.state;
    if (last === before || currentSettings().notifications === "off") return;
    if (last === "notFound") report(offerInstall(installing), log);
    if (last === "failed") report(sayFailed(installing), log);
  });
}

async function sayFailed({ daemon, log }: Installing): Promise<void> {
  const [showLog, again] = ["Show Log", "Try Again"];
  const message = `Snapd is not connected: ${daemon.problem?.message ?? "the log says why"}`;
  const answer = await vscode.window.showErrorMessage(message, showLog, again);
  if (answer === showLog) log.show();
  if (answer === again) await daemon.reconnect();
}

function report(work: Promise<void>, log: vscode.LogOutputChannel): void {
  work.catch((error: unknown) => {
    log.error(error instanceof Error ? error : String(error));
  });
}
