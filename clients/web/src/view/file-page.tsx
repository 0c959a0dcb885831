/** One file through time: a slider over its versions, what each changed, and who wrote each line. */
import type { Entry } from "@snapd/client";
import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { keyOf } from "../model/entries";
import { splitName } from "../model/names";
import { fragmentOf, type Route } from "../model/route";
import { agentName, counted, operationName, moment, stateName, stepName } from "../model/wording";
import { folderVersion, spanSource, stepSource } from "../store/diffs";
import { replaceBy } from "../store/route";
import { loadVersions, problem, versions } from "../store/versions";
import { entries as allEntries } from "../store/timeline";
import { Age, Button, Counts, Empty, FileName, Trouble } from "./bits";
import { Blame } from "./blame";
import { DetailHead } from "./detail-head";
import { DiffPane } from "./diff-pane";
import { useKeys } from "./keyboard";
import { VirtualList } from "./virtual-list";

const ROW = 48;

export interface FilePageProps {
  readonly file: string;
  /** The key of the version that is shown; by default the last. */
  readonly at: string | undefined;
  readonly isBlamed: boolean;
}

export function FilePage({ file, at, isBlamed }: FilePageProps): JSX.Element {
  // a step that ended, and whatever else is new, may be a version too
  const latest = allEntries.value[0];
  useEffect(() => void loadVersions(file), [file, latest, folderVersion.value]);
  const known = versions.value?.file === file ? versions.value : undefined;
  const list = known?.entries ?? [];
  const found = list.findIndex((entry) => nameOf(entry) === at);
  const index = found < 0 ? list.length - 1 : found;
  const show = (next: number) => {
    const entry = list[next];
    if (entry !== undefined) replaceBy(routeOf(file, entry, isBlamed));
  };
  useKeys({
    next: () => show(Math.max(0, index - 1)),
    previous: () => show(Math.min(list.length - 1, index + 1)),
  });
  const rows = useMemo(() => [...list].reverse().map((entry) => ({ key: keyOf(entry), entry })), [list]);
  const current = list[index];
  const [, name] = splitName(file);
  return (
    <>
      <section class="timeline" aria-label="Versions" aria-busy={known === undefined}>
        <header class="pane-head">
          <div class="pane-title">
            <h2>{name}</h2>
            <p class="quiet">{known === undefined ? "…" : counted(list.length, "version")}</p>
          </div>
        </header>
        <VirtualList
          rows={rows}
          heightOf={() => ROW}
          listKey={file}
          revealed={current === undefined ? undefined : { key: keyOf(current), reason: `${file} ${keyOf(current)}` }}
          view={({ entry }) => (
            <a
              class="row version"
              href={fragmentOf(routeOf(file, entry, isBlamed))}
              aria-current={entry === current || undefined}
            >
              <span class="name">{versionName(entry)}</span>
              <Age at={entry.at} />
              <VersionFacts entry={entry} />
            </a>
          )}
        >
          {problem.value === undefined ? null : (
            <Trouble problem={problem.value} again={() => void loadVersions(file)} />
          )}
        </VirtualList>
      </section>
      <section class="detail" aria-label="The file">
        {current === undefined ? (
          known !== undefined && (
            <Empty title="No step has changed this file">
              <p>Its versions appear here once one does.</p>
            </Empty>
          )
        ) : (
          <Version file={file} entry={current} index={index} count={list.length} show={show} isBlamed={isBlamed} />
        )}
      </section>
    </>
  );
}

function VersionFacts({ entry }: { readonly entry: Entry }): JSX.Element {
  const { step } = entry;
  const state = step === undefined ? "" : stateName(step.state);
  const other = entry.unknown === true ? "unknown" : "you";
  return (
    <span class="meta">
      <span class="who">{step === undefined ? other : agentName(step.agent)}</span>
      {entry.files[0] !== undefined && <Counts of={entry.files[0]} />}
      {state !== "" && <span class="state">{state}</span>}
    </span>
  );
}

interface VersionProps {
  readonly file: string;
  readonly entry: Entry;
  readonly index: number;
  readonly count: number;
  readonly show: (index: number) => void;
  readonly isBlamed: boolean;
}

function Version({ file, entry, index, count, show, isBlamed }: VersionProps): JSX.Element {
  const { step, before, after, files } = entry;
  const source = useMemo(
    () => (step?.endedAt === undefined ? spanSource(before, after) : stepSource(step)),
    [keyOf(entry), after],
  );
  const [name] = files;
  return (
    <>
      <DetailHead
        title={versionName(entry)}
        facts={
          <>
            <time dateTime={entry.at}>{moment(entry.at)}</time>
            {name !== undefined && <FileName file={name.file} />}
            {step !== undefined && (
              <a
                class="link"
                href={fragmentOf({
                  page: "timeline",
                  scope: step.sessionId,
                  shown: { what: "step", sessionId: step.sessionId, stepId: step.stepId },
                })}
              >
                whole step
              </a>
            )}
          </>
        }
        actions={
          <div class="switch" role="group" aria-label="View of the file">
            <button type="button" aria-pressed={!isBlamed} onClick={() => replaceBy(routeOf(file, entry, false))}>
              Changes
            </button>
            <button type="button" aria-pressed={isBlamed} onClick={() => replaceBy(routeOf(file, entry, true))}>
              Blame
            </button>
          </div>
        }
        hasDiff={!isBlamed}
      />
      <div class="slider">
        <Button icon="back" label="Older version" isDisabled={index === 0} onClick={() => show(index - 1)} />
        <input
          type="range"
          min={0}
          max={Math.max(0, count - 1)}
          value={index}
          aria-label="Version of the file"
          aria-valuetext={`${index + 1} of ${count}: ${versionName(entry)}`}
          onInput={(event) => show(Number(event.currentTarget.value))}
        />
        <Button icon="forward" label="Newer version" isDisabled={index === count - 1} onClick={() => show(index + 1)} />
        <output>
          {index + 1} / {count}
        </output>
      </div>
      {isBlamed ? (
        <Blame file={name?.file ?? file} hash={after} isDeleted={name?.status === "deleted"} />
      ) : (
        <DiffPane key={keyOf(entry)} source={source} files={files} focused={undefined} emptyTitle="It did not change" />
      )}
    </>
  );
}

function versionName(entry: Entry): string {
  if (entry.step !== undefined) return stepName(entry.step);
  if (entry.kind !== "user") return operationName(entry);
  return entry.unknown === true ? "Someone changed it" : "You changed it";
}

/** What a version is called in the address: by its step, or else by its time. */
function nameOf(entry: Entry): string {
  return entry.step?.stepId ?? entry.at;
}

function routeOf(file: string, entry: Entry, isBlamed: boolean): Route {
  return { page: "file", file, at: nameOf(entry), ...(isBlamed ? { blame: true } : {}) };
}
