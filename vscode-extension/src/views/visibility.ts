// Keeps "5 min ago" true.

import type { Disposable } from "@snapd/client";
import type { TreeView } from "vscode";

const EACH = 30_000;

/** Calls a function each 30 seconds while a view is visible, and when it becomes visible. */
export function whileVisible(view: TreeView<unknown>, refresh: () => void): Disposable {
  let timer: NodeJS.Timeout | undefined;
  const follow = (visible: boolean) => {
    clearInterval(timer);
    timer = visible ? setInterval(refresh, EACH) : undefined;
  };
  follow(view.visible);
  const subscription = view.onDidChangeVisibility(({ visible }) => {
    follow(visible);
    if (visible) refresh();
  });
  return {
    dispose: () => {
      follow(false);
      subscription.dispose();
    },
  };
}
