/** What changed between two times: what the user did, or what an operation did. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { counted, operationName, moment, sums } from "../model/wording";
import { spanSource } from "../store/diffs";
import { entries } from "../store/timeline";
import { Counts } from "./bits";
import { DetailHead } from "./detail-head";
import { useFilesSince } from "./differences";
import { DiffPane } from "./diff-pane";
import { HistoryLink } from "./links";

export interface ChangeDetailProps {
  readonly before: string;
  readonly after: string;
  readonly file: string | undefined;
}

export function ChangeDetail({ before, after, file }: ChangeDetailProps): JSX.Element {
  const entry = entries.value.find((one) => one.step === undefined && one.before === before && one.after === after);
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
          emptyTitle="Nothing differs"
          fileActions={(one) => <HistoryLink file={one} />}
        />
      )}
    </>
  );
}
