/** Has the keys do what they mean. */
import { useEffect, useLayoutEffect } from "preact/hooks";
import { Keys } from "../model/keys";
import { offer, perform } from "../store/place";

/** Listens to the keys of the whole page. */
export function useKeyboard(): void {
  useEffect(() => {
    const keys = new Keys();
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      // a dialog has its own keys
      if (document.querySelector("dialog[open]") !== null) return;
      const { target } = event;
      if (target instanceof HTMLElement && isTyped(target)) {
        if (event.key === "Escape") target.blur();
        return;
      }
      const action = keys.press(event.key, event.timeStamp);
      if (action === undefined) return;
      if (action === "more" || perform(action)) event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

/** What keys do while a part of the page is shown. */
export function useKeys(handlers: Parameters<typeof offer>[0]): void {
  // before the next frame is painted: a user who sees a row may press a key for it at once
  useLayoutEffect(() => offer(handlers));
}

/** Whether keys write into an element. */
function isTyped(element: HTMLElement): boolean {
  if (element instanceof HTMLInputElement) return !["radio", "range", "checkbox"].includes(element.type);
  return element instanceof HTMLTextAreaElement || element.isContentEditable;
}
