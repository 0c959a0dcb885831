/** Comments in a diff: their texts, and fields for new ones. */
import type { Comment } from "@snapd/client";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { visible } from "../model/names";
import type { Draft, PlacedThread } from "../model/threads";
import { agentName, counted } from "../model/wording";
import { replies, sending, sendDraft, sendReply, setDraft, setReply, setState } from "../store/comments";
import { sessions } from "../store/sessions";
import { isReadOnly } from "../store/status";
import { Age, Agent, Button } from "./bits";

export interface ThreadsProps {
  readonly threads: readonly PlacedThread[];
  /** The exact name of the file. */
  readonly file: string;
  /** The lines of the file, as they are shown. */
  readonly lines: readonly string[] | undefined;
}

export function Threads({ threads, file, lines }: ThreadsProps): JSX.Element {
  return (
    <div class="threads">
      {threads.map(({ thread, isAtLine }) =>
        "draft" in thread ? (
          <DraftForm key="draft" file={file} draft={thread.draft} lines={lines} />
        ) : (
          <CommentBox key={thread.comment.commentId} comment={thread.comment} isAtLine={isAtLine} />
        ),
      )}
    </div>
  );
}

function placeOf({ start, count }: Pick<Comment, "start" | "count">): string {
  return count === 1 ? `line ${start}` : `lines ${start} to ${start + count - 1}`;
}

function agentOf(sessionId: string | undefined): string | undefined {
  return sessionId === undefined ? undefined : sessions.value?.get(sessionId)?.agent;
}

/** A text of several lines, without what would be unseen. */
function textOf(text: string): string {
  return text.split(/\r?\n/).map(visible).join("\n");
}

export function CommentBox({
  comment,
  isAtLine,
  hasName = false,
}: {
  readonly comment: Comment;
  readonly isAtLine: boolean;
  /** Whether it names its file. */
  readonly hasName?: boolean;
}): JSX.Element {
  const { commentId, file, sessionId, deliveredAt, outdated, lines, author, state } = comment;
  const reply = replies.value.get(commentId);
  const isBusy = sending.value.has(commentId);
  const where = `${hasName ? `${visible(file)}, ` : ""}${placeOf(comment)}`;
  const canAct = !isReadOnly.value;
  return (
    <section class={`thread ${state}`} aria-label={`Comment on ${where}`}>
      <header class="thread-head">
        <span class="quiet">{where}</span>
        <span class="quiet">
          {sessionId === undefined
            ? "for no agent"
            : `for ${agentName(agentOf(sessionId))}, ${deliveredAt === undefined ? "not told yet" : "told"}`}
        </span>
        {outdated === true && <span class="state">outdated</span>}
        {state === "resolved" && <span class="state">resolved</span>}
        {canAct && (
          <span class="actions">
            {reply === undefined && (
              <Button kind="quiet" label="Reply" text="Reply" onClick={() => setReply(commentId, "")} />
            )}
            <Button
              kind="quiet"
              label={state === "open" ? "Resolve this comment" : "Reopen this comment"}
              text={state === "open" ? "Resolve" : "Reopen"}
              isDisabled={isBusy}
              onClick={() => void setState(commentId, state === "open" ? "resolved" : "open")}
            />
          </span>
        )}
      </header>
      {!isAtLine && lines !== "" && <pre class="thread-lines">{textOf(lines.replace(/\r?\n$/, ""))}</pre>}
      <Remark author={author} text={comment.text} at={comment.at} />
      {comment.replies.map((one, at) => (
        <Remark key={at} {...one} />
      ))}
      {reply !== undefined && canAct && (
        <Field
          label="Your reply"
          button="Send the reply"
          text={reply}
          isBusy={isBusy}
          change={(text) => setReply(commentId, text)}
          send={() => void sendReply(commentId, reply)}
          cancel={() => setReply(commentId, undefined)}
        />
      )}
    </section>
  );
}

function Remark(props: Pick<Comment, "author" | "text" | "at"> & { readonly sessionId?: string }): JSX.Element {
  const { author, text, at, sessionId } = props;
  return (
    <div class="remark">
      <p class="remark-head">
        {author === "user" ? <b>You</b> : <Agent name={agentOf(sessionId)} />} <Age at={at} />
      </p>
      <p class="remark-text">{textOf(text)}</p>
    </div>
  );
}

interface DraftProps {
  readonly file: string;
  readonly draft: Draft;
  readonly lines: readonly string[] | undefined;
}

export function DraftForm({ file, draft, lines }: DraftProps): JSX.Element {
  const { start, count, text } = draft;
  const isBusy = sending.value.has(file);
  const choose = (from: number, to: number) => {
    if (!Number.isInteger(from) || !Number.isInteger(to) || lines === undefined) return;
    const first = Math.min(Math.max(1, from), lines.length);
    const last = Math.min(Math.max(first, to), lines.length);
    setDraft(file, { ...draft, start: first, count: last - first + 1, lines: lines.slice(first - 1, last) });
  };
  const now = lines?.slice(start - 1, start + count - 1);
  // what an agent does meanwhile must not move the comment to other lines
  const isMoved = now !== undefined && (now.length !== count || now.some((line, at) => line !== draft.lines[at]));
  const number = (label: string, value: number, change: (value: number) => void) => (
    <input
      type="number"
      aria-label={label}
      min={1}
      max={lines?.length}
      value={value}
      onChange={({ currentTarget }) => change(currentTarget.valueAsNumber)}
    />
  );
  return (
    <section class="thread" aria-label={`New comment on ${placeOf(draft)}`}>
      {lines === undefined ? (
        <p class="thread-head quiet">
          {visible(file)}, {placeOf(draft)}
        </p>
      ) : (
        <p class="thread-head quiet">
          Comment on lines {number("First line", start, (value) => choose(value, Math.max(value, start + count - 1)))}{" "}
          to {number("Last line", start + count - 1, (value) => choose(Math.min(start, value), value))}
        </p>
      )}
      {isMoved && (
        <p class="thread-head" role="alert">
          {counted(count, "line")} changed since. Choose the lines again.
        </p>
      )}
      <Field
        label="Your comment"
        button="Comment"
        text={text}
        isBusy={isBusy || isMoved}
        change={(value) => setDraft(file, { ...draft, text: value })}
        send={() => void sendDraft(file, draft)}
        cancel={() => setDraft(file, undefined)}
      />
    </section>
  );
}

interface FieldProps {
  readonly label: string;
  readonly button: string;
  readonly text: string;
  readonly isBusy: boolean;
  readonly change: (text: string) => void;
  readonly send: () => void;
  readonly cancel: () => void;
}

function Field({ label, button, text, isBusy, change, send, cancel }: FieldProps): JSX.Element {
  const ref = useRef<HTMLTextAreaElement>(null);
  // whoever scrolls back to a field that has text goes on reading
  useEffect(() => {
    if (text === "") ref.current?.focus();
  }, []);
  const isReady = !isBusy && text.trim() !== "";
  return (
    <div class="field">
      <textarea
        ref={ref}
        aria-label={label}
        placeholder="Ctrl+Enter sends it"
        rows={3}
        maxLength={10_000}
        value={text}
        onInput={({ currentTarget }) => change(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || !isReady) return;
          event.preventDefault();
          send();
        }}
      />
      <span class="actions">
        <Button kind="primary" label={button} text={button} isDisabled={!isReady} onClick={send} />
        <Button label="Discard" text="Discard" onClick={cancel} />
      </span>
    </div>
  );
}
