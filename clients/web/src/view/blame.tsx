/** Who wrote each line of a file. */
import type { BlamedLines } from "@snapd/client";
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Problem, problemOf } from "../api/problem";
import { getBlame, getContent } from "../api/routes";
import { linesOf, type Texts } from "../model/diff";
import { firstLine } from "../model/names";
import { fragmentOf } from "../model/route";
import { segmentsOf } from "../model/segments";
import { stepName } from "../model/wording";
import { coloursOf } from "../store/colours";
import { decoded } from "../store/diffs";
import { Latest } from "../store/latest";
import { noted } from "../store/troubles";
import { steps } from "../store/timeline";
import { Age, Empty, Trouble } from "./bits";
import { LINE } from "./blocks";
import { VirtualList } from "./virtual-list";

interface Row {
  readonly key: string;
  /** From 1. */
  readonly number: number;
  readonly text: string;
  readonly by: BlamedLines | undefined;
  /** Whether it is the first one by that author. */
  readonly isFirst: boolean;
}

interface Loaded {
  readonly texts: Texts;
  readonly rows: readonly Row[];
}

export interface BlameProps {
  readonly file: string;
  readonly hash: string | undefined;
  readonly isDeleted: boolean;
}

export function Blame({ file, hash, isDeleted }: BlameProps): JSX.Element {
  const [loaded, setLoaded] = useState<Loaded | Problem>();
  const [tries, setTries] = useState(0);
  useEffect(() => {
    if (isDeleted) return;
    const latest = new Latest();
    const isCurrent = latest.begin();
    load(file, hash).then(
      (found) => isCurrent() && setLoaded(found),
      (error: unknown) => isCurrent() && setLoaded(noted(problemOf(error))),
    );
    return () => {
      latest.begin();
    };
  }, [file, hash, isDeleted, tries]);
  if (isDeleted) return <Empty title="This version deleted the file" />;
  if (loaded === undefined) return <div class="skeleton tall" aria-hidden="true" />;
  if (loaded instanceof Problem) return <Trouble problem={loaded} again={() => setTries((count) => count + 1)} />;
  return <BlamedText file={file} loaded={loaded} />;
}

function BlamedText({ file, loaded }: { readonly file: string; readonly loaded: Loaded }): JSX.Element {
  const changes = useMemo(() => ({ hunks: [], texts: loaded.texts }), [loaded]);
  const colours = coloursOf(file, changes);
  if (loaded.rows.length === 0) return <Empty title="The file is empty" />;
  return (
    <div class="blame">
      <VirtualList
        rows={loaded.rows}
        heightOf={() => LINE}
        listKey={file}
        view={({ number, text, by, isFirst }) => (
          <div class={isFirst ? "blame-line is-first" : "blame-line"}>
            <span class={`author is-${by?.author ?? "before"}`}>
              {isFirst && by !== undefined && <Author by={by} />}
            </span>
            <span class="number" data-number={number} />
            <code class="code">
              {segmentsOf(text, colours?.after[number - 1] ?? [], []).map((segment, at) => (
                <span key={at} class={segment.style}>
                  {segment.text}
                </span>
              ))}
            </code>
          </div>
        )}
      />
    </div>
  );
}

function Author({ by }: { readonly by: BlamedLines }): JSX.Element {
  const { author, sessionId, stepId, agent, at, commit } = by;
  if (author === "unknown") return <>unknown {at !== undefined && <Age at={at} />}</>;
  if (author === "user") return <>you {at !== undefined && <Age at={at} />}</>;
  if (commit !== undefined) {
    const title = `${firstLine(commit.summary) ?? ""} (git ${commit.id.slice(0, 8)})`;
    return (
      <span title={title}>
        {firstLine(commit.author) ?? "git"} <span class="quiet">git {commit.id.slice(0, 8)}</span>{" "}
        <Age at={commit.at} />
      </span>
    );
  }
  if (author === "before" || sessionId === undefined || stepId === undefined) return <>earlier</>;
  const step = steps.value.get(stepId)?.step;
  return (
    <>
      <a
        class="link"
        href={fragmentOf({ page: "timeline", scope: sessionId, shown: { what: "step", sessionId, stepId } })}
        title={step === undefined ? undefined : stepName(step)}
      >
        {firstLine(agent) ?? "agent"}
        {step !== undefined && <span class="quiet"> {stepName(step)}</span>}
      </a>
      {at !== undefined && <Age at={at} />}
    </>
  );
}

async function load(file: string, hash: string | undefined): Promise<Loaded> {
  const [bytes, { lines: blamed }] = await Promise.all([getContent(hash, file), getBlame(file, hash)]);
  if (bytes.subarray(0, 8000).includes(0)) {
    throw new Problem(0, "binary", "This file is binary; it has no lines.", undefined, {});
  }
  const lines = linesOf(decoded(bytes));
  const rows: Row[] = [];
  for (const by of blamed) {
    for (let at = 0; at < by.count && by.start + at <= lines.length; at += 1) {
      const number = by.start + at;
      rows.push({ key: String(number), number, text: lines[number - 1] ?? "", by, isFirst: at === 0 });
    }
  }
  return { texts: { before: [], after: lines }, rows };
}
