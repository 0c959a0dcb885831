/** Notes about results and errors, at the edge of the page. */
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { visible } from "../model/names";
import { type Note, notes, putAway } from "../store/troubles";
import { Button } from "./bits";

/** Milliseconds until a note disappears; errors stay until dismissed. */
const STAYS = 12_000;

export function Notes(): JSX.Element {
  return (
    <div class="notes" aria-live="polite">
      {notes.value.map((note) => (
        <NoteView key={note.id} note={note} />
      ))}
    </div>
  );
}

function NoteView({ note }: { readonly note: Note }): JSX.Element {
  const { id, text, hint, isProblem, action } = note;
  useEffect(() => {
    if (isProblem) return;
    const timer = setTimeout(() => putAway(id), STAYS);
    return () => clearTimeout(timer);
  }, [id, isProblem]);
  return (
    <div class={isProblem ? "note-card is-problem" : "note-card"} role={isProblem ? "alert" : undefined}>
      <div class="note-text">
        <p>{visible(text)}</p>
        {hint !== undefined && <p class="quiet">{visible(hint)}</p>}
      </div>
      {action !== undefined && (
        <Button
          label={action.label}
          text={action.label}
          onClick={() => {
            putAway(id);
            action.act();
          }}
        />
      )}
      <Button icon="close" label="Dismiss this note" onClick={() => putAway(id)} />
    </div>
  );
}
