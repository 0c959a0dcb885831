/** The review page: pending changes, to keep or undo. */
import type { FileChange, PendingFile, Session } from "@snapd/client";
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { DiffHunk } from "../model/diff";
import { exactName, visible } from "../model/names";
import { linesToComment, type Thread } from "../model/threads";
import { type Filter, fragmentOf, type Route } from "../model/route";
import { type FolderRow, type TreeFileRow, treeRows } from "../model/tree";
import { agentName, counted, grouped, sums } from "../model/wording";
import { keepPending, propose, undoPending } from "../store/acting";
import {
  areResolvedShown,
  comments,
  problem as commentsProblem,
  drafts,
  loadComments,
  setDraft,
  showResolved,
} from "../store/comments";
import { reviewSource, stateOf } from "../store/diffs";
import { currentHunk } from "../store/place";
import { loadReview, pending, problem, totals } from "../store/review";
import { goTo, replaceBy, route } from "../store/route";
import { sessions } from "../store/sessions";
import { isReadOnly } from "../store/status";
import { isViewed, setViewed } from "../store/viewed";
import { Agent, Button, colourOf, Counts, Cut, Empty, StatusLetter, Trouble } from "./bits";
import { DetailHead } from "./detail-head";
import { DiffPane } from "./diff-pane";
import { Icon } from "./icons";
import { useKeys } from "./keyboard";
import { HistoryLink } from "./links";
import { CommentBox, DraftForm } from "./threads";
import { VirtualList } from "./virtual-list";

const ROW = 30;
const NO_FOLDERS: ReadonlySet<string> = new Set();
const NO_THREADS: readonly Thread[] = [];

export function ReviewPage(): JSX.Element {
  const here = route.value;
  const [focused, of] = here.page === "review" ? [here.file, here.of] : [undefined, undefined];
  const all = pending.value;
  const files = useMemo(() => filtered(all ?? [], of, sessions.value), [all, of?.by, of?.id, sessions.value]);
  const [closed, setClosed] = useState(NO_FOLDERS);
  const seen = files.filter(isViewed).length;
  const rows = useMemo(() => treeRows(files, closed, isViewed), [files, closed, seen]);
  const to = (file?: string): Route => ({ page: "review", ...(of && { of }), ...(file !== undefined && { file }) });
  const go = (by: number) => () => {
    const at = files.findIndex(({ file }) => file === focused);
    const next = files[at < 0 ? 0 : at + by];
    if (next !== undefined) replaceBy(to(next.file));
  };
  const flip = (path: string) => {
    const next = new Set(closed);
    if (!next.delete(path)) next.add(path);
    setClosed(next);
  };
  useKeys({ next: go(1), previous: go(-1) });
  return (
    <>
      <section class="timeline" aria-label="Pending files" aria-busy={all === undefined}>
        <header class="pane-head review-head">
          <div class="pane-title">
            <h2>Pending changes</h2>
            {totals.value !== undefined && (
              <p class="quiet">
                {of === undefined
                  ? counted(totals.value.pendingFiles, "file")
                  : `${grouped(files.length)} of ${counted(totals.value.pendingFiles, "file")}`}{" "}
                <Counts of={of === undefined ? totals.value : sums(files)} />
              </p>
            )}
          </div>
          <OwnerFilter files={all ?? []} of={of} />
          <CommentsLine />
          {files.length > 0 && (
            <p class="viewed-sum" role="status">
              <progress max={files.length} value={seen} aria-hidden="true" />
              viewed {grouped(seen)} of {grouped(files.length)}
            </p>
          )}
        </header>
        <VirtualList
          rows={rows}
          heightOf={() => ROW}
          kindOf={(row) => row.kind}
          listKey={`review ${of?.by} ${of?.id}`}
          revealed={focused === undefined ? undefined : { key: focused, reason: fragmentOf(here) }}
          view={(row) =>
            row.kind === "folder" ? (
              <FolderItem row={row} flip={() => flip(row.path)} />
            ) : (
              <FileItem row={row} to={to(row.file.file)} isFocused={row.file.file === focused} />
            )
          }
        >
          {problem.value === undefined ? null : <Trouble problem={problem.value} again={() => void loadReview()} />}
        </VirtualList>
      </section>
      <section class="detail" aria-label="Pending changes of the files">
        {all === undefined ? (
          <div class="skeleton tall" aria-hidden="true" />
        ) : (
          <Pending files={files} focused={focused} of={of} next={go(1)} />
        )}
      </section>
    </>
  );
}

/** The files that an agent or a session has a part in. */
function filtered(
  files: readonly PendingFile[],
  of: Filter | undefined,
  known: ReadonlyMap<string, Session> | undefined,
): readonly PendingFile[] {
  if (of === undefined) return files;
  const isOf = (sessionId: string) => of.id === (of.by === "session" ? sessionId : known?.get(sessionId)?.agent);
  return files.filter(({ owners }) => owners.some(({ sessionId }) => isOf(sessionId)));
}

/** The sessions that have a part in a file, each once. */
function ownersOf(file: PendingFile): string[] {
  return [...new Set(file.owners.map(({ sessionId }) => sessionId))];
}

interface OwnerFilterProps {
  readonly files: readonly PendingFile[];
  readonly of: Filter | undefined;
}

/** Shows the changes of one agent, or of one session, alone. */
function OwnerFilter({ files, of }: OwnerFilterProps): JSX.Element | null {
  const known = sessions.value;
  const { agents, bySession } = useMemo(() => {
    const [agents, bySession] = [new Map<string, number>(), new Map<string, number>()];
    for (const file of files) {
      const owners = ownersOf(file);
      for (const id of owners) bySession.set(id, (bySession.get(id) ?? 0) + 1);
      for (const agent of new Set(owners.map((id) => known?.get(id)?.agent))) {
        if (agent !== undefined) agents.set(agent, (agents.get(agent) ?? 0) + 1);
      }
    }
    // the selected file stays in the list when it is no longer pending
    if (of !== undefined) {
      const chosen = of.by === "session" ? bySession : agents;
      chosen.set(of.id, chosen.get(of.id) ?? 0);
    }
    return { agents, bySession };
  }, [files, known, of?.by, of?.id]);
  if (bySession.size < 2 && of === undefined) return null;
  const nameOf = (id: string) => {
    const session = known?.get(id);
    return session === undefined ? "Session" : session.name;
  };
  return (
    <select
      class="filter"
      aria-label="Show the changes of"
      value={of === undefined ? "" : `${of.by} ${of.id}`}
      onChange={({ currentTarget: { value } }) => {
        const [by, id] = [value.slice(0, value.indexOf(" ")), value.slice(value.indexOf(" ") + 1)];
        goTo({ page: "review", ...(by === "agent" || by === "session" ? { of: { by, id } } : {}) });
      }}
    >
      <option value="">All agents and sessions</option>
      <optgroup label="Agents">
        {[...agents].map(([id, count]) => (
          <option key={id} value={`agent ${id}`}>
            {agentName(id)} ({grouped(count)})
          </option>
        ))}
      </optgroup>
      <optgroup label="Sessions">
        {[...bySession].map(([id, count]) => (
          <option key={id} value={`session ${id}`}>
            {nameOf(id)} ({grouped(count)})
          </option>
        ))}
      </optgroup>
    </select>
  );
}

function indent(depth: number): Record<string, string> {
  return { paddingLeft: `${10 + Math.min(depth, 12) * 14}px` };
}

function FolderItem({ row, flip }: { readonly row: FolderRow; readonly flip: () => void }): JSX.Element {
  const { name, depth, isOpen, files, viewed } = row;
  return (
    <button
      type="button"
      class="row folder-row"
      style={indent(depth)}
      aria-expanded={isOpen}
      title={name}
      onClick={flip}
    >
      <Icon name="chevron" />
      <Cut text={name} />
      <span class="quiet">
        {viewed > 0 && (
          <>
            {grouped(viewed)}
            <span class="heard"> viewed of </span> /{" "}
          </>
        )}
        {grouped(files)}
        <span class="heard"> {files === 1 ? "file" : "files"}</span>
      </span>
    </button>
  );
}

interface FileItemProps {
  readonly row: TreeFileRow<PendingFile>;
  readonly to: Route;
  readonly isFocused: boolean;
}

function FileItem({ row: { file, name, depth }, to, isFocused }: FileItemProps): JSX.Element {
  const isSeen = isViewed(file);
  return (
    <a
      class={isSeen ? "row pending is-viewed" : "row pending"}
      style={indent(depth)}
      href={fragmentOf(to)}
      title={visible(file.file)}
      aria-current={isFocused || undefined}
    >
      {isSeen ? (
        <span class="seen-mark" role="img" aria-label="viewed">
          <Icon name="keep" />
        </span>
      ) : (
        <StatusLetter file={file} />
      )}
      <Cut text={name} />
      <OpenComments on={file} />
      {file.binary ? <span class="quiet">binary</span> : <Counts of={file} />}
      <Owners of={file} />
    </a>
  );
}

/** How many comments there are, and whether resolved ones are shown. */
function CommentsLine(): JSX.Element {
  const open = comments.value.filter(({ state }) => state === "open").length;
  return (
    <p class="comments-line quiet">
      {counted(open, "open comment")}
      <label>
        <input
          type="checkbox"
          checked={areResolvedShown.value}
          onChange={({ currentTarget }) => showResolved(currentTarget.checked)}
        />{" "}
        Show resolved
      </label>
    </p>
  );
}

/** The number of open comments on a file. */
function OpenComments({ on }: { readonly on: PendingFile }): JSX.Element | null {
  const name = exactName(on);
  const open = comments.value.filter((one) => one.state === "open" && exactName(one) === name).length;
  if (open === 0) return null;
  const words = counted(open, "open comment");
  return (
    <span class="comment-count" role="img" aria-label={words} title={words}>
      <Icon name="comment" />
      {grouped(open)}
    </span>
  );
}

/** The agents that have a part in a file, each as a dot in its colour. */
function Owners({ of }: { readonly of: PendingFile }): JSX.Element {
  const agents = [...new Set(ownersOf(of).map((id) => sessions.value?.get(id)?.agent))];
  const names = `by ${agents.map(agentName).join(", ")}`;
  return (
    <span class="owners" role="img" aria-label={names} title={names}>
      {agents.slice(0, 4).map((agent) => (
        <span key={agent} class="has-agent" style={colourOf(agent)}>
          <span class="agent-dot" />
        </span>
      ))}
    </span>
  );
}

/** Who has a part in a file: each session by its agent, and a link to it. */
function OwnerLinks({ of }: { readonly of: PendingFile }): JSX.Element {
  return (
    <span class="owner-links">
      {ownersOf(of).map((sessionId) => {
        const session = sessions.value?.get(sessionId);
        return (
          <a
            key={sessionId}
            href={fragmentOf({ page: "timeline", scope: sessionId })}
            title={session === undefined ? undefined : `${agentName(session.agent)}: ${session.name}`}
            aria-label={`by ${agentName(session?.agent)}`}
          >
            <Agent name={session?.agent} />
          </a>
        );
      })}
    </span>
  );
}

interface PendingProps {
  readonly files: readonly PendingFile[];
  readonly focused: string | undefined;
  readonly of: Filter | undefined;
  /** Goes to the next file of the list. */
  readonly next: () => void;
}

/** Files that can be kept or undone only as a whole. */
function isWhole({ status, binary }: FileChange): boolean {
  return status !== "modified" || binary;
}

function hasHunkActions(file: FileChange): boolean {
  return !isWhole(file);
}

function Pending({ files, focused, of, next }: PendingProps): JSX.Element {
  const ids = useMemo(() => new Map(files.map((file) => [exactName(file), file.id])), [files]);
  const source = useMemo(() => reviewSource((file) => ids.get(exactName(file)) ?? ""), [ids]);
  const canAct = !isReadOnly.value;
  /** The ids of what is shown: nothing else is kept or undone. */
  const seen = (file: FileChange) => ({
    [file.file]: stateOf(source, file)?.changes?.id ?? ids.get(exactName(file)) ?? "",
  });
  const all = () => ({
    ...(of === undefined ? { all: true } : { files: files.map(exactName) }),
    expect: Object.fromEntries(files.map((file) => [file.file, file.id])),
  });
  const byName = useMemo(() => new Map(files.map((file) => [exactName(file), file])), [files]);
  const seenCount = files.filter(isViewed).length;
  const isFolded = useMemo(
    () => (file: FileChange) => {
      const known = byName.get(exactName(file));
      return known !== undefined && isViewed(known);
    },
    [byName, seenCount],
  );
  const whole = (file: FileChange) => ({ files: [exactName(file)], expect: seen(file) });
  const hunkOf = (file: FileChange, hunk: number) => ({ file: exactName(file), hunks: [hunk], expect: seen(file) });
  const undoWhole = (file: FileChange) =>
    void propose(undoPending(`Undo the pending changes of ${file.file}`, whole(file)));
  const undoOne = (file: FileChange, hunk: number) =>
    void propose(undoPending(`Undo a pending change in ${file.file}`, hunkOf(file, hunk)));
  const acting = (act: (file: PendingFile, hunk: number | undefined) => void) => () => {
    const at = currentHunk.peek();
    const name = at?.source === source.key ? at.file : focused;
    const file = files.find((one) => one.file === name);
    if (file !== undefined) act(file, at?.file === file.file && !isWhole(file) ? at.hunk : undefined);
  };
  const threads = useMemo(() => {
    const found = threadsByFile(comments.value, drafts.value);
    return (file: FileChange) => found.get(exactName(file)) ?? NO_THREADS;
  }, [comments.value, drafts.value]);
  // those of one agent are not all that is pending
  const names = useMemo(() => new Set(pending.value?.map(exactName)), [pending.value]);
  const others = <OtherComments isPending={(name) => names.has(name)} />;
  /** Begins a comment on lines of a file, or moves the one that was begun there. */
  const comment = (file: FileChange, start: number, count: number) => {
    const [name, lines] = [exactName(file), stateOf(source, file)?.changes?.texts?.after];
    if (lines === undefined) return;
    const text = drafts.peek().get(name)?.text ?? "";
    setDraft(name, { start, count, text, lines: lines.slice(start - 1, start - 1 + count) });
  };
  const pressed = (file: FileChange, line: number, extend: boolean) => {
    const begun = extend ? drafts.peek().get(exactName(file)) : undefined;
    const start = Math.min(line, begun?.start ?? line);
    comment(file, start, Math.max(line, begun === undefined ? line : begun.start + begun.count - 1) - start + 1);
  };
  useKeys({
    viewed: acting((file) => {
      setViewed(file, !isViewed(file));
      if (isViewed(file)) next();
    }),
  });
  useKeys(
    canAct
      ? {
          keep: acting((file, hunk) => void keepPending(hunk === undefined ? whole(file) : hunkOf(file, hunk))),
          undo: acting((file, hunk) => (hunk === undefined ? undoWhole(file) : undoOne(file, hunk))),
          comment: acting((file) => {
            const hunks = stateOf(source, file)?.changes?.hunks ?? [];
            const at = currentHunk.peek();
            const hunk = at?.file === file.file ? hunks.find(({ index }) => index === at.hunk) : undefined;
            const lines = (hunk ?? hunks[0]) && linesToComment((hunk ?? hunks[0]) as DiffHunk);
            if (lines !== undefined) comment(file, lines.start, lines.count);
          }),
        }
      : {},
  );
  if (files.length === 0) {
    return (
      <div class="scroller" tabIndex={0} role="region" aria-label="Comments">
        {others}
        <Empty title={of === undefined ? "Nothing is pending" : "Nothing of this is pending"}>
          <p>What agents change appears here until you keep it or undo it. Your own changes do not.</p>
        </Empty>
      </div>
    );
  }
  const fileActions = (file: FileChange) => (
    <>
      {byName.has(exactName(file)) && <ViewedBox file={byName.get(exactName(file)) as PendingFile} />}
      <HistoryLink file={file} />
      {canAct && (
        <>
          <Button
            label={`Keep ${visible(file.file)}`}
            text="Keep"
            icon="keep"
            onClick={() => void keepPending(whole(file))}
          />
          <Button label={`Undo ${visible(file.file)}`} text="Undo" icon="undo" onClick={() => undoWhole(file)} />
        </>
      )}
    </>
  );
  const hunkActions = (file: FileChange, hunk: DiffHunk) => (
    <span class="actions">
      <Button
        kind="quiet"
        label="Keep this change"
        keys="a"
        text="Keep"
        onClick={() => void keepPending(hunkOf(file, hunk.index))}
      />
      <Button kind="quiet" label="Undo this change" keys="u" text="Undo" onClick={() => undoOne(file, hunk.index)} />
    </span>
  );
  return (
    <>
      <DetailHead
        title="Keep what is good, undo what is not"
        back={{ page: "review", ...(of && { of }) }}
        facts={<span>Only what is shown here is kept or undone, even if files change meanwhile.</span>}
        actions={
          canAct && (
            <>
              <Button
                label={of === undefined ? "Keep all" : `Keep these ${counted(files.length, "file")}`}
                text={of === undefined ? "Keep all" : "Keep these"}
                icon="keep"
                onClick={() => void keepPending(all())}
              />
              <Button
                label={of === undefined ? "Undo all" : `Undo these ${counted(files.length, "file")}`}
                text={of === undefined ? "Undo all" : "Undo these"}
                icon="undo"
                onClick={() =>
                  void propose(
                    undoPending(
                      of === undefined
                        ? "Undo all pending changes"
                        : `Undo the pending changes of ${counted(files.length, "file")}`,
                      all(),
                    ),
                  )
                }
              />
            </>
          )
        }
      />
      <DiffPane
        source={source}
        files={files}
        focused={focused}
        emptyTitle=""
        fileActions={fileActions}
        isFolded={isFolded}
        threads={threads}
        head={others}
        {...(canAct ? { hunkActions, hasHunkActions, comment: pressed } : {})}
      />
    </>
  );
}

/** The comments on each file, and what is being typed about it. */
function threadsByFile(all: typeof comments.value, typed: typeof drafts.value): ReadonlyMap<string, readonly Thread[]> {
  const found = new Map<string, Thread[]>();
  const add = (name: string, thread: Thread) => found.set(name, [...(found.get(name) ?? []), thread]);
  for (const comment of all) add(exactName(comment), { comment });
  for (const [name, draft] of typed) add(name, { draft });
  return found;
}

/** Comments on files in which nothing is pending. */
function OtherComments({ isPending }: { readonly isPending: (name: string) => boolean }): JSX.Element | null {
  const all = comments.value.filter((one) => !isPending(exactName(one)));
  const typed = [...drafts.value].filter(([name]) => !isPending(name));
  if (commentsProblem.value !== undefined) {
    return <Trouble problem={commentsProblem.value} again={() => void loadComments()} />;
  }
  if (all.length + typed.length === 0) return null;
  return (
    <section class="other-comments" aria-label="Comments on other files">
      <h3>{counted(all.length + typed.length, "comment")} where nothing is pending</h3>
      {typed.map(([file, draft]) => (
        <DraftForm key={file} file={file} draft={draft} lines={undefined} />
      ))}
      {all.map((one) => (
        <CommentBox key={one.commentId} comment={one} isAtLine={false} hasName />
      ))}
    </section>
  );
}

function ViewedBox({ file }: { readonly file: PendingFile }): JSX.Element {
  return (
    <>
      <OwnerLinks of={file} />
      <label class="viewed-box">
        <input
          type="checkbox"
          checked={isViewed(file)}
          aria-label={`Viewed ${visible(file.file)}`}
          onChange={({ currentTarget }) => setViewed(file, currentTarget.checked)}
        />
        Viewed
      </label>
    </>
  );
}
