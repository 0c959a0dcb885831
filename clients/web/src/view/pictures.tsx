/** A picture before and after. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";

const KINDS = /\.(png|jpe?g|gif|webp|avif|bmp|ico|svg)$/i;

/** Whether a file is a picture that browsers show. */
export function isPicture(file: string): boolean {
  return KINDS.test(file);
}

export interface PicturesProps {
  readonly before: string | undefined;
  readonly after: string | undefined;
}

export function Pictures({ before, after }: PicturesProps): JSX.Element {
  return (
    <div class="pictures">
      {before !== undefined && <Picture title="Before" address={before} kind="removed" />}
      {after !== undefined && <Picture title={before === undefined ? "Now" : "After"} address={after} kind="added" />}
    </div>
  );
}

interface PictureProps {
  readonly title: string;
  readonly address: string;
  readonly kind: "removed" | "added";
}

function Picture({ title, address, kind }: PictureProps): JSX.Element {
  const [size, setSize] = useState<string>();
  const [isBroken, setBroken] = useState(false);
  return (
    <figure class={`picture ${kind}`}>
      {isBroken ? (
        <p class="quiet">It cannot be shown as a picture.</p>
      ) : (
        <img
          src={address}
          alt={title}
          onLoad={({ currentTarget }) => {
            setSize(`${currentTarget.naturalWidth} × ${currentTarget.naturalHeight}`);
          }}
          onError={() => {
            setBroken(true);
          }}
        />
      )}
      <figcaption>
        {title}
        {size !== undefined && <span class="quiet"> · {size}</span>}
      </figcaption>
    </figure>
  );
}
