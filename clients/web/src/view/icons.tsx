/** Drawings of one size, in the colour of the text around them. They add nothing to the text. */
import type { JSX } from "preact";

const SHAPES = {
  mark: (
    <>
      <path d="M4.6 7.6A9 9 0 1 1 3 12.8" />
      <path d="M3.6 3.4v4.4H8" />
      <circle cx="10.6" cy="9.2" r="1.3" />
      <circle cx="10.6" cy="16.2" r="1.3" />
      <circle cx="15.6" cy="10.4" r="1.3" />
      <path d="M10.6 10.5v4.4" />
      <path d="M15.6 11.7c0 1.9-1.8 2.4-4.1 3.5" />
    </>
  ),
  today: (
    <>
      <rect x="4" y="5.5" width="16" height="14.5" rx="2" />
      <path d="M4 10h16M8.5 3v4M15.5 3v4" />
    </>
  ),
  all: <path d="M4 6h16M4 12h16M4 18h10" />,
  pending: (
    <>
      <path d="M12 5v8M8 9h8M8 19h8" />
    </>
  ),
  search: (
    <>
      <circle cx="11" cy="11" r="6" />
      <path d="m20 20-4.5-4.5" />
    </>
  ),
  close: <path d="m6 6 12 12M18 6 6 18" />,
  forward: <path d="m10 6 6 6-6 6" />,
  back: <path d="m14 6-6 6 6 6" />,
  comment: <path d="M5 5h14v10h-8l-4 4v-4H5Z" />,
  undo: (
    <>
      <path d="M9 7 4.5 11.5 9 16" />
      <path d="M5 11.5h9a5 5 0 0 1 0 10h-2" transform="translate(0 -2)" />
    </>
  ),
  redo: (
    <>
      <path d="M15 7l4.5 4.5L15 16" />
      <path d="M19 11.5h-9a5 5 0 0 0 0 10h2" transform="translate(0 -2)" />
    </>
  ),
  keep: <path d="m5 12.5 4.5 4.5L19 7.5" />,
  history: (
    <>
      <circle cx="12" cy="12" r="8" />
      <path d="M12 7.5V12l3 2" />
    </>
  ),
  blame: (
    <>
      <circle cx="12" cy="8" r="3.5" />
      <path d="M5 20c.8-4 3.4-6 7-6s6.2 2 7 6" />
    </>
  ),
  link: (
    <>
      <path d="M10 14a4 4 0 0 0 5.7 0l3-3A4 4 0 0 0 13 5.3l-1 1" />
      <path d="M14 10a4 4 0 0 0-5.7 0l-3 3A4 4 0 0 0 11 18.7l1-1" />
    </>
  ),
  help: (
    <>
      <circle cx="12" cy="12" r="8.5" />
      <path d="M9.7 9.5a2.4 2.4 0 1 1 3.5 2.1c-.8.5-1.2.9-1.2 1.9" />
      <path d="M12 16.5v.01" />
    </>
  ),
  chevron: <path d="m9 6 6 6-6 6" />,
  up: <path d="m7 14 5-5 5 5" />,
  down: <path d="m7 10 5 5 5-5" />,
  unfold: (
    <>
      <path d="m8 9 4-4 4 4M8 15l4 4 4-4" />
    </>
  ),
  warning: (
    <>
      <path d="M12 4.5 3 19.5h18L12 4.5Z" />
      <path d="M12 10.5v4M12 17v.01" />
    </>
  ),
  prompt: <path d="M5 6.5h14v9H11l-4 3.5v-3.5H5z" />,
  user: (
    <>
      <circle cx="12" cy="8.5" r="3.5" />
      <path d="M5.5 19.5c.8-3.5 3.2-5 6.5-5s5.7 1.5 6.5 5" />
    </>
  ),
} as const;

export type IconName = keyof typeof SHAPES;

export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      {SHAPES[name]}
    </svg>
  );
}
