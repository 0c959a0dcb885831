/** What changed between two times: what the user did, or what an operation did. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { counted, operationName, moment, sums } from "../model/wording";
import { spanSource } from "../store/diffs";
import { entries } from "../store/timeline";
import { Counts, GitLine } from "./bits";
import { DetailHead } from "./detail-head";
import { useFilesSince } from "./differences";
import { DiffPane } from "./diff-pane";
import { HistoryLink } from "./links";

export interface ChangeDetailProps {
  readonly before: string;
  readonly after: string;
  /** When, if only git changed. */
  readonly at: string | undefined;
  readonly file: string | undefined;
}

export function ChangeDetail({ before, after, at, file }: ChangeDetailProps): JSX.Element {
  const entry = entries.value.find((one) => {
    const isHere = one.before === before && one.after === after && (at === undefined || one.at === at);
    return one.step === undefined && one.kind !== "message" && isHere;
  });
  const source = useMemo(() => spanSource(before, after), [before, after]);
  const files = useFilesSince(before, after);
  return (
    <>
      <DetailHead
        title={entry === undefined ? "Changes" : operationName(entry)}
        facts={
          <>
            {entry !== undefined && <time dateTime={entry.at}>{moment(entry.at)}</time>}
            <span>{counted(files?.length ?? 0, "file")}</span>
            <Counts of={sums(files ?? [])} />
          </>
        }
      />
      {files === undefined ? (
        <div class="skeleton tall" aria-hidden="true" />
      ) : (
        <DiffPane
          source={source}
          files={files}
          focused={file}
          head={<GitLine git={entry?.git} />}
          emptyTitle="Nothing differs"
          fileActions={(one) => <HistoryLink file={one} />}
        />
      )}
    </>
  );
}
