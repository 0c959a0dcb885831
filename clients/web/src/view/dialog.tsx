/** A dialog over the page: the rest cannot be reached until it is closed, by Escape too. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Button } from "./bits";

export interface DialogProps {
  readonly title: string;
  readonly close: () => void;
  readonly children: ComponentChildren;
  readonly footer?: JSX.Element;
  readonly isWide?: boolean;
}

export function Dialog({ title, close, children, footer, isWide = false }: DialogProps): JSX.Element {
  const ref = useRef<HTMLDialogElement>(null);
  const name = useId();
  useEffect(() => {
    const element = ref.current;
    // what had the focus gets it back when the browser closes the dialog
    element?.showModal();
    return () => element?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      class={isWide ? "dialog is-wide" : "dialog"}
      aria-labelledby={name}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      onClick={(event) => {
        // a click beside it, on the backdrop, hits the element itself
        if (event.target === ref.current) close();
      }}
    >
      <div class="dialog-body">
        <header class="dialog-head">
          <h2 id={name} tabIndex={-1} autofocus>
            {title}
          </h2>
          <Button icon="close" label="Close" keys="Esc" onClick={close} />
        </header>
        <div class="dialog-content">{children}</div>
        {footer !== undefined && <footer class="dialog-foot">{footer}</footer>}
      </div>
    </dialog>
  );
}
