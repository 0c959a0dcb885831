/** What is pending: to be kept, or undone. */
import type { FileChange, PendingFile } from "@snapd/client";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { DiffHunk } from "../model/diff";
import { exactName, visible } from "../model/names";
import { fragmentOf } from "../model/route";
import { counted } from "../model/wording";
import { keepPending, propose, undoPending } from "../store/acting";
import { reviewSource, stateOf } from "../store/diffs";
import { currentHunk } from "../store/place";
import { loadReview, pending, problem, totals } from "../store/review";
import { replaceBy, route } from "../store/route";
import { isReadOnly } from "../store/status";
import { Button, Counts, Empty, FileName, StatusLetter, Trouble } from "./bits";
import { DetailHead } from "./detail-head";
import { DiffPane } from "./diff-pane";
import { useKeys } from "./keyboard";
import { HistoryLink } from "./links";
import { VirtualList } from "./virtual-list";

const ROW = 32;

interface Row {
  readonly key: string;
  readonly file: PendingFile;
}

export function ReviewPage(): JSX.Element {
  const here = route.value;
  const focused = here.page === "review" ? here.file : undefined;
  const files = pending.value;
  const rows = useMemo(() => (files ?? []).map((file): Row => ({ key: exactName(file), file })), [files]);
  const go = (by: number) => () => {
    const at = rows.findIndex((row) => row.file.file === focused);
    const next = rows[at < 0 ? 0 : at + by];
    if (next !== undefined) replaceBy({ page: "review", file: next.file.file });
  };
  useKeys({ next: go(1), previous: go(-1) });
  return (
    <>
      <section class="timeline" aria-label="Pending files" aria-busy={files === undefined}>
        <header class="pane-head">
          <div class="pane-title">
            <h2>Pending changes</h2>
            {totals.value !== undefined && (
              <p class="quiet">
                {counted(totals.value.pendingFiles, "file")} <Counts of={totals.value} />
              </p>
            )}
          </div>
        </header>
        <VirtualList
          rows={rows}
          heightOf={() => ROW}
          kindOf={() => "file"}
          listKey="review"
          revealed={focused === undefined ? undefined : { key: focused, reason: fragmentOf(here) }}
          view={({ file }) => (
            <a
              class="row pending"
              href={fragmentOf({ page: "review", file: file.file })}
              aria-current={file.file === focused || undefined}
            >
              <StatusLetter file={file} />
              <FileName file={file.file} />
              {file.binary ? <span class="quiet">binary</span> : <Counts of={file} />}
            </a>
          )}
        >
          {problem.value === undefined ? null : <Trouble problem={problem.value} again={() => void loadReview()} />}
        </VirtualList>
      </section>
      <section class="detail" aria-label="Pending changes of the files">
        {files === undefined ? (
          <div class="skeleton tall" aria-hidden="true" />
        ) : (
          <Pending files={files} focused={focused} />
        )}
      </section>
    </>
  );
}

interface PendingProps {
  readonly files: readonly PendingFile[];
  readonly focused: string | undefined;
}

/** Files that can be kept or undone only as a whole. */
function isWhole({ status, binary }: FileChange): boolean {
  return status !== "modified" || binary;
}

function hasHunkActions(file: FileChange): boolean {
  return !isWhole(file);
}

function Pending({ files, focused }: PendingProps): JSX.Element {
  const ids = useMemo(() => new Map(files.map((file) => [exactName(file), file.id])), [files]);
  const source = useMemo(() => reviewSource((file) => ids.get(exactName(file)) ?? ""), [ids]);
  const canAct = !isReadOnly.value;
  /** What was shown: nothing else is kept or undone. */
  const seen = (file: FileChange) => ({
    [file.file]: stateOf(source, file)?.changes?.id ?? ids.get(exactName(file)) ?? "",
  });
  const all = () => ({ all: true, expect: Object.fromEntries(files.map((file) => [file.file, file.id])) });
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
  useKeys(
    canAct
      ? {
          keep: acting((file, hunk) => void keepPending(hunk === undefined ? whole(file) : hunkOf(file, hunk))),
          undo: acting((file, hunk) => (hunk === undefined ? undoWhole(file) : undoOne(file, hunk))),
        }
      : {},
  );
  if (files.length === 0) {
    return (
      <Empty title="Nothing is pending">
        <p>What agents change appears here until you keep it or undo it. Your own changes do not.</p>
      </Empty>
    );
  }
  const fileActions = (file: FileChange) => (
    <>
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
        facts={<span>Only what is shown here is kept or undone, whatever changes meanwhile.</span>}
        actions={
          canAct && (
            <>
              <Button label="Keep all" text="Keep all" icon="keep" onClick={() => void keepPending(all())} />
              <Button
                label="Undo all"
                text="Undo all"
                icon="undo"
                onClick={() => void propose(undoPending("Undo all pending changes", all()))}
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
        {...(canAct ? { hunkActions, hasHunkActions } : {})}
      />
    </>
  );
}
