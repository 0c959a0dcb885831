/** The lines of a diff. */
import { Fragment, type JSX } from "preact";
import type { DiffHunk, Line } from "../model/diff";
import type { DiffRow, GapRow } from "../model/rows";
import { MOST_DRAWN, segmentsOf, type Token } from "../model/segments";
import { visible } from "../model/names";
import type { PlacedThread } from "../model/threads";
import { differingWords, type Span } from "../model/words";
import { counted, grouped } from "../model/wording";
import { Icon } from "./icons";

/** The colours of the lines of both texts, by line, where they are known. */
export interface Colours {
  readonly before: readonly (readonly Token[])[];
  readonly after: readonly (readonly Token[])[];
}

export interface LinesProps {
  readonly rows: readonly DiffRow[];
  readonly colours: Colours | undefined;
  /** Whether lines between hunks can be shown. */
  readonly canUnfold: boolean;
  readonly unfold: (gap: number, side: "top" | "bottom" | "all", hidden: number | undefined) => void;
  /** What can be done with a hunk. */
  readonly hunkActions?: ((hunk: DiffHunk) => JSX.Element | null) | undefined;
  /** The hunk that the keyboard is at. */
  readonly currentHunk: number | undefined;
  /** Begins a comment on a line of the file as it is, or extends one to it. */
  readonly comment?: ((line: number, extend: boolean) => void) | undefined;
  readonly threads?: ((threads: readonly PlacedThread[]) => JSX.Element) | undefined;
}

export function Lines(props: LinesProps): JSX.Element {
  return (
    <>
      {props.rows.map((row) => {
        if (row.kind === "threads") {
          return <Fragment key={`threads ${threadKey(row.threads)}`}>{props.threads?.(row.threads)}</Fragment>;
        }
        if (row.kind === "gap") return <Gap key={`gap ${row.gap}`} row={row} {...props} />;
        const isCurrent = row.hunk !== undefined && row.hunk === props.currentHunk;
        if (row.kind === "pair") {
          const { left, right } = row;
          const key = `${left?.old ?? ""}:${right?.new ?? ""}`;
          return (
            <div key={key} class={isCurrent ? "pair is-current" : "pair"}>
              <Side line={left} other={left === right ? undefined : right} side="before" colours={props.colours} />
              <Side
                line={right}
                other={left === right ? undefined : left}
                side="after"
                colours={props.colours}
                comment={props.comment}
              />
            </div>
          );
        }
        const { line } = row;
        return (
          <div key={`${line.old ?? ""}:${line.new ?? ""}`} class={`line ${line.kind}${isCurrent ? " is-current" : ""}`}>
            <span class="number" data-number={line.old ?? ""} />
            <NewNumber number={line.new} comment={props.comment} />
            <Code
              line={line}
              other={row.other}
              colours={props.colours}
              side={line.kind === "removed" ? "before" : "after"}
            />
          </div>
        );
      })}
    </>
  );
}

/** The same for the same comments, so that a field keeps the focus. */
function threadKey(threads: readonly PlacedThread[]): string {
  const [first] = threads;
  return first === undefined || "draft" in first.thread ? "draft" : first.thread.comment.commentId;
}

type Commenting = Pick<LinesProps, "comment">;

/** The number of a line of the file as it is; pressing it begins a comment. The keyboard has a key for that. */
function NewNumber({ number, comment }: Commenting & { readonly number: number | undefined }): JSX.Element {
  if (number === undefined || comment === undefined) return <span class="number" data-number={number ?? ""} />;
  return (
    <span
      class="number can-comment"
      data-number={number}
      title="Comment on this line (Shift: on the lines up to here)"
      onClick={(event) => comment(number, event.shiftKey)}
    />
  );
}

interface SideProps {
  readonly line: Line | undefined;
  readonly other: Line | undefined;
  readonly side: "before" | "after";
  readonly colours: Colours | undefined;
}

function Side({ line, other, side, colours, comment }: SideProps & Commenting): JSX.Element {
  if (line === undefined) return <div class={`half ${side} nothing`} />;
  const number = side === "before" ? line.old : line.new;
  return (
    <div class={`half ${side} ${line.kind}`}>
      <NewNumber number={number} comment={comment} />
      <Code line={line} other={other} colours={colours} side={side} />
    </div>
  );
}

const SIGNS = { same: " ", added: "+", removed: "−" } as const;

function Code({ line, other, side, colours }: SideProps & { readonly line: Line }): JSX.Element {
  const number = side === "before" ? line.old : line.new;
  const tokens = (number === undefined ? undefined : colours?.[side][number - 1]) ?? [];
  const more = line.text.length - MOST_DRAWN;
  return (
    <code class="code" data-sign={SIGNS[line.kind]}>
      {segmentsOf(line.text, tokens, differing(line, other)).map(({ text, style, differs }, at) => {
        const classes = differs ? `${style} word` : style;
        return classes === "" ? (
          text
        ) : (
          <span key={at} class={classes}>
            {text}
          </span>
        );
      })}
      {more > 0 && <span class="cut"> … {counted(more, "more character")}</span>}
      {line.isOpen === true && (
        <span class="cut" title="No line break at the end of the file">
          {" "}
          ⏎̸
        </span>
      )}
    </code>
  );
}

const NONE: readonly Span[] = [];

function differing(line: Line, other: Line | undefined): readonly Span[] {
  if (other === undefined || line.kind === "same") return NONE;
  return line.kind === "removed"
    ? differingWords(line.text, other.text).before
    : differingWords(other.text, line.text).after;
}

/** Lines of a gap that one press shows. */
export const UNFOLDED_AT_ONCE = 20;

function Gap({ row, canUnfold, unfold, hunkActions, currentHunk }: LinesProps & { readonly row: GapRow }): JSX.Element {
  const { gap, hidden, hunk } = row;
  const isSome = hidden === undefined || hidden > 0;
  const isLong = hidden === undefined || hidden > UNFOLDED_AT_ONCE;
  const isCurrent = hunk !== undefined && hunk.index === currentHunk;
  const open = (side: "top" | "bottom" | "all") => () => {
    unfold(gap, side, hidden);
  };
  return (
    <div class={isCurrent ? "gap is-current" : "gap"} data-hunk={hunk?.index}>
      <span class="gap-openers">
        {canUnfold && isSome && isLong && gap > 0 && (
          <button
            type="button"
            class="opener"
            aria-label={`Show ${UNFOLDED_AT_ONCE} more lines below`}
            onClick={open("top")}
          >
            <Icon name="down" />
          </button>
        )}
        {canUnfold && isSome && isLong && hunk !== undefined && (
          <button
            type="button"
            class="opener"
            aria-label={`Show ${UNFOLDED_AT_ONCE} more lines above`}
            onClick={open("bottom")}
          >
            <Icon name="up" />
          </button>
        )}
        {canUnfold && isSome && !isLong && (
          <button type="button" class="opener" aria-label={`Show ${counted(hidden, "line")}`} onClick={open("all")}>
            <Icon name="unfold" />
          </button>
        )}
      </span>
      <span class="gap-text">
        {hidden !== undefined && hidden > 0 && (
          <span>
            {grouped(hidden)} unchanged {hidden === 1 ? "line" : "lines"}
          </span>
        )}
        {hunk !== undefined && hunk.context !== "" && <span class="context">{visible(hunk.context)}</span>}
      </span>
      {hunk !== undefined && hunkActions?.(hunk)}
    </div>
  );
}
