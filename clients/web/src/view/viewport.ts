/** The visible part of a scrolled element. */
import { type RefObject, createRef } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

export interface Viewport {
  /** Pixels above the visible part. */
  readonly top: number;
  /** Pixels in the visible part. */
  readonly height: number;
  readonly width: number;
}

/** Follows the scrolling and the size of an element. */
export function useViewport<E extends HTMLElement>(): readonly [RefObject<E | null>, Viewport] {
  const ref = useRef(createRef<E>()).current;
  const [viewport, setViewport] = useState<Viewport>({ top: 0, height: 800, width: 0 });
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) return;
    let frame = 0;
    const look = () => {
      frame = 0;
      const { scrollTop: top, clientHeight: height, clientWidth: width } = element;
      setViewport((known) =>
        known.top === top && known.height === height && known.width === width ? known : { top, height, width },
      );
    };
    const soon = () => {
      frame ||= requestAnimationFrame(look);
    };
    look();
    element.addEventListener("scroll", soon, { passive: true });
    const observer = new ResizeObserver(soon);
    observer.observe(element);
    return () => {
      element.removeEventListener("scroll", soon);
      observer.disconnect();
      cancelAnimationFrame(frame);
    };
  }, [ref]);
  return [ref, viewport];
}
