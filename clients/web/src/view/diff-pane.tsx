/** The changes of many files in one list, of which only the visible part is in the document. */
import type { FileChange } from "@snapd/client";
import type { JSX, RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { DiffHunk } from "../model/diff";
import { Heights } from "../model/heights";
import { exactName } from "../model/names";
import type { ChangedLine } from "../model/route";
import type { GapLines } from "../model/rows";
import type { Thread } from "../model/threads";
import { changed, isWanted, type Source, stateOf, tryAgain, want, wantTexts } from "../store/diffs";
import { currentHunk } from "../store/place";
import { layout } from "../store/preferences";
import { coloursOf } from "../store/colours";
import { Counts, Empty, FileName, GitMark, StatusLetter, Trouble } from "./bits";
import { type Block, blocksOf, type FileBlocks } from "./blocks";
import { Icon } from "./icons";
import { Lines, UNFOLDED_AT_ONCE } from "./lines";
import { isPicture, Pictures } from "./pictures";
import { useSteps } from "./steps";
import { Threads } from "./threads";
import { useViewport } from "./viewport";

const SPARE = 600;
/** Milliseconds that a file must be visible before it is fetched, so that scrolling past does not fetch it. */
const SEEN_FOR = 60;
const NOTHING_UNFOLDED: ReadonlyMap<number, GapLines> = new Map();
const NO_THREADS: readonly Thread[] = [];

export interface DiffPaneProps {
  readonly source: Source;
  readonly files: readonly FileChange[];
  /** The file to scroll to. */
  readonly focused?: string | undefined;
  /** The line of that file to scroll to. */
  readonly line?: ChangedLine | undefined;
  readonly fileActions?: (file: FileChange) => JSX.Element | null;
  /** Whether a file is folded by default. */
  readonly isFolded?: (file: FileChange) => boolean;
  readonly hunkActions?: (file: FileChange, hunk: DiffHunk) => JSX.Element | null;
  /** Whether something can be done with single hunks of a file. */
  readonly hasHunkActions?: (file: FileChange) => boolean;
  /** The comments on a file: always the same list for the same comments. */
  readonly threads?: (file: FileChange) => readonly Thread[];
  /** Begins a comment on a line of a file as it is, or extends one to it. */
  readonly comment?: ((file: FileChange, line: number, extend: boolean) => void) | undefined;
  /** What stands above the files. */
  readonly head?: JSX.Element;
  readonly emptyTitle: string;
}

export function DiffPane(props: DiffPaneProps): JSX.Element {
  const { source, files, focused, line, fileActions, isFolded, hunkActions, hasHunkActions, threads, comment, head } =
    props;
  const [ref, viewport] = useViewport<HTMLDivElement>();
  // by the files that were folded or unfolded by hand, and by how they were before
  const [flipped, setFlipped] = useState<ReadonlySet<string>>(new Set());
  const flipName = (file: FileChange) => `${isFolded?.(file) ?? false} ${file.file}`;
  const [unfolded, setUnfolded] = useState<ReadonlyMap<string, ReadonlyMap<number, GapLines>>>(new Map());
  const parts = useMemo(
    () =>
      files.map((file): FileBlocks => ({
        file,
        state: stateOf(source, file),
        isFolded: (isFolded?.(file) ?? false) !== flipped.has(flipName(file)),
        hasPicture: isPicture(file.file),
        unfolded: unfolded.get(file.file) ?? NOTHING_UNFOLDED,
        isActing: hasHunkActions?.(file) ?? false,
        threads: threads?.(file) ?? NO_THREADS,
      })),
    [source, files, flipped, isFolded, unfolded, changed.value, hasHunkActions === undefined, threads],
  );
  const blocks = useMemo(() => blocksOf(parts, layout.value), [parts, layout.value]);
  const body = useRef<HTMLDivElement>(null);
  const place = useMeasured(ref, body, blocks, viewport.width);
  const above = body.current?.offsetTop ?? 0;
  const [from, to] = place.heights.between(
    viewport.top - above - SPARE,
    viewport.top - above + viewport.height + SPARE,
  );
  const seen = blocks.slice(from, to);
  useFetched(source, files, seen);
  useFocused(ref, body, blocks, place.heights, focused, source.key);
  useSteps(ref, body, { source, parts, blocks, heights: place.heights }, focused, line);
  const current = currentHunk.value?.source === source.key ? currentHunk.value : undefined;

  const unfold = (file: FileChange) => (gap: number, side: "top" | "bottom" | "all", hidden: number | undefined) => {
    wantTexts(source, file);
    setUnfolded((all) => {
      const known = all.get(file.file)?.get(gap) ?? { top: 0, bottom: 0 };
      const more = side === "all" ? (hidden ?? UNFOLDED_AT_ONCE) : UNFOLDED_AT_ONCE;
      const next = side === "bottom" ? { ...known, bottom: known.bottom + more } : { ...known, top: known.top + more };
      return new Map(all).set(file.file, new Map(all.get(file.file)).set(gap, next));
    });
  };
  const fold = (file: FileChange) => {
    setFlipped((all) => {
      const next = new Set(all);
      if (!next.delete(flipName(file))) next.add(flipName(file));
      return next;
    });
  };

  return (
    <div class="scroller diff-scroller" ref={ref} tabIndex={0} role="region" aria-label="Changes">
      {head}
      {files.length === 0 && <Empty title={props.emptyTitle} />}
      <div class={`files ${layout.value}`} ref={body} style={{ height: `${place.heights.total}px` }}>
        {grouped(seen).map(({ file: at, blocks: group }) => {
          const part = parts[at];
          if (part === undefined) return null;
          const first = blocks.findIndex((block) => block.file === at);
          const next = place.heights.top(lastOf(blocks, first));
          const top = place.heights.top(first);
          return (
            <article
              key={part.file.file}
              class="file-box"
              style={{ top: `${top}px`, height: `${next - top}px` }}
              aria-label={part.file.file}
            >
              <FileHead
                part={part}
                fold={() => {
                  fold(part.file);
                }}
                actions={fileActions?.(part.file) ?? null}
              />
              {group.map((block) => {
                if (block.kind === "head" || block.kind === "space") return null;
                const index = blocks.indexOf(block, first);
                return (
                  <div
                    key={block.key}
                    data-block={block.key}
                    class={`block ${block.kind}`}
                    style={{
                      top: `${place.heights.top(index) - top}px`,
                      minHeight: block.kind === "waiting" ? `${block.estimate}px` : "",
                    }}
                  >
                    <BlockBody
                      block={block}
                      part={part}
                      source={source}
                      unfold={unfold(part.file)}
                      currentHunk={current?.file === part.file.file ? current.hunk : undefined}
                      hunkActions={
                        hunkActions === undefined || !part.isActing ? undefined : (hunk) => hunkActions(part.file, hunk)
                      }
                      comment={comment === undefined ? undefined : (line, extend) => comment(part.file, line, extend)}
                    />
                  </div>
                );
              })}
            </article>
          );
        })}
      </div>
    </div>
  );
}

interface FileHeadProps {
  readonly part: FileBlocks;
  readonly fold: () => void;
  readonly actions: JSX.Element | null;
}

function FileHead({ part, fold, actions }: FileHeadProps): JSX.Element {
  const { file, isFolded } = part;
  return (
    <header class="file-head">
      <button
        type="button"
        class="opener"
        aria-expanded={!isFolded}
        aria-label={isFolded ? "Unfold the file" : "Fold the file"}
        onClick={fold}
      >
        <Icon name="chevron" />
      </button>
      <StatusLetter file={file} />
      <h3>
        {file.renamedFrom !== undefined && (
          <>
            <FileName file={file.renamedFrom} />
            <span class="arrow"> → </span>
          </>
        )}
        <FileName file={file.file} />
      </h3>
      {file.binary ? <span class="quiet">binary</span> : <Counts of={file} />}
      <GitMark file={file} />
      <span class="actions">{actions}</span>
    </header>
  );
}

interface BlockBodyProps {
  readonly block: Block;
  readonly part: FileBlocks;
  readonly source: Source;
  readonly unfold: (gap: number, side: "top" | "bottom" | "all", hidden: number | undefined) => void;
  readonly hunkActions: ((hunk: DiffHunk) => JSX.Element | null) | undefined;
  readonly currentHunk: number | undefined;
  readonly comment: ((line: number, extend: boolean) => void) | undefined;
}

function BlockBody({
  block,
  part,
  source,
  unfold,
  hunkActions,
  currentHunk: here,
  comment,
}: BlockBodyProps): JSX.Element | null {
  const { file, state } = part;
  switch (block.kind) {
    case "trouble":
      return state?.problem === undefined ? null : (
        <Trouble
          problem={state.problem}
          again={() => {
            tryAgain(source, file);
          }}
        />
      );
    case "waiting":
      return <div class="skeleton" aria-hidden="true" />;
    case "picture":
      return <Pictures {...source.picture(file)} />;
    case "note":
      return <p class="note">{state?.changes?.note}</p>;
    case "rows": {
      const changes = state?.changes;
      if (changes === undefined) return null;
      return (
        <Lines
          rows={block.rows}
          colours={coloursOf(file.file, changes)}
          canUnfold={changes.texts !== undefined || source.loadTexts !== undefined}
          unfold={unfold}
          hunkActions={hunkActions}
          currentHunk={here}
          comment={comment}
          threads={(threads) => <Threads threads={threads} file={exactName(file)} lines={changes.texts?.after} />}
        />
      );
    }
    default:
      return null;
  }
}

/** Blocks of one file after the other. */
function grouped(blocks: readonly Block[]): { file: number; blocks: Block[] }[] {
  const groups: { file: number; blocks: Block[] }[] = [];
  for (const block of blocks) {
    const last = groups.at(-1);
    if (last?.file === block.file) last.blocks.push(block);
    else groups.push({ file: block.file, blocks: [block] });
  }
  return groups;
}

/** The index of the space that ends the file of a block. */
function lastOf(blocks: readonly Block[], first: number): number {
  return blocks.findIndex((block, at) => at >= first && block.kind === "space");
}

/** The positions of blocks: estimated until drawn, then measured. The visible part does not move. */
function useMeasured(
  ref: RefObject<HTMLDivElement | null>,
  body: RefObject<HTMLDivElement | null>,
  blocks: readonly Block[],
  width: number,
): { readonly heights: Heights } {
  const measured = useRef(new Map<string, number>()).current;
  const lastWidth = useRef(width);
  // other widths break lines elsewhere
  if (lastWidth.current !== width) measured.clear();
  lastWidth.current = width;
  const heights = useMemo(
    () => new Heights(blocks.map(({ key, estimate }) => measured.get(key) ?? estimate)),
    [blocks, width],
  );
  const [, setVersion] = useState(0);
  const before = useRef<{ readonly blocks: readonly Block[]; readonly heights: Heights } | undefined>(undefined);
  const names = useMemo(() => indexesOf(blocks), [blocks]);
  useLayoutEffect(() => {
    const [element, list] = [ref.current, body.current];
    if (element === null || list === null) return;
    const known = before.current;
    before.current = { blocks, heights };
    const seen = () => element.scrollTop - list.offsetTop;
    if (known !== undefined && known.blocks !== blocks && seen() > 0) {
      const at = known.heights.indexAt(seen());
      const [was, is] = [known.heights.top(at), placeNow(known.blocks, at, known.heights, names, heights)];
      if (is !== undefined && is !== was) element.scrollTop += is - was;
    }
    const top = heights.indexAt(seen());
    let [isOther, above] = [false, 0];
    for (const block of list.querySelectorAll<HTMLElement>("[data-block]")) {
      const key = block.dataset["block"] ?? "";
      const index = names.get(key);
      const height = block.getBoundingClientRect().height;
      if (index === undefined || blocks[index]?.kind === "waiting" || height === 0) continue;
      measured.set(key, height);
      if (Math.abs(heights.height(index) - height) < 0.5) continue;
      const more = heights.set(index, height);
      if (index < top) above += more;
      isOther = true;
    }
    if (above !== 0 && seen() > 0) element.scrollTop += above;
    if (isOther) setVersion((version) => version + 1);
  });
  return { heights };
}

function indexesOf(blocks: readonly Block[]): ReadonlyMap<string, number> {
  return new Map(blocks.map(({ key }, at) => [key, at]));
}

/**
 * The position of a block in a new list. A removed block keeps its distance to the header of its file.
 *
 * @returns Pixels; undefined where its file is not there either.
 */
function placeNow(
  blocks: readonly Block[],
  at: number,
  heights: Heights,
  names: ReadonlyMap<string, number>,
  now: Heights,
): number | undefined {
  const block = blocks[at];
  const same = block === undefined ? undefined : names.get(block.key);
  if (block === undefined || same !== undefined) return same === undefined ? undefined : now.top(same);
  const first = blocks.findIndex(({ file }) => file === block.file);
  const head = names.get(blocks[first]?.key ?? "");
  return head === undefined ? undefined : now.top(head) + heights.top(at) - heights.top(first);
}

/** Fetches the visible files. */
function useFetched(source: Source, files: readonly FileChange[], seen: readonly Block[]): void {
  const wanted = [...new Set(seen.map((block) => block.file))].flatMap((at) => {
    const file = files[at];
    return file !== undefined && isWanted(source, file) ? [file] : [];
  });
  const names = wanted.map(exactName).join("\n");
  useEffect(() => {
    if (names === "") return;
    const timer = setTimeout(() => {
      for (const file of wanted) want(source, file);
    }, SEEN_FOR);
    return () => {
      clearTimeout(timer);
    };
  }, [source, names]);
}

/** Goes to a file once it is chosen. */
function useFocused(
  ref: RefObject<HTMLDivElement | null>,
  body: RefObject<HTMLDivElement | null>,
  blocks: readonly Block[],
  heights: Heights,
  focused: string | undefined,
  key: string,
): void {
  const known = useRef("");
  useLayoutEffect(() => {
    const [element, list] = [ref.current, body.current];
    const name = `${key}\n${focused ?? ""}`;
    if (element === null || list === null || known.current === name) return;
    const at = focused === undefined ? 0 : blocks.findIndex((block) => block.key === `${focused}\nhead`);
    if (at < 0) return;
    known.current = name;
    element.scrollTop = focused === undefined ? 0 : list.offsetTop + heights.top(at);
  });
}
