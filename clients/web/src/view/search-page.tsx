/** The search page: matches in prompts, file names, and changed lines. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Problem } from "../api/problem";
import { type Hit, type MatchedLine, search, type SearchedPlace } from "../api/routes";
import { exactName, firstLine, visible } from "../model/names";
import { type ChangedLine, fragmentOf, type Route } from "../model/route";
import { matchesIn } from "../model/matches";
import { segmentsOf } from "../model/segments";
import { counted, moment, promptName } from "../model/wording";
import { sessions } from "../store/sessions";
import { noted } from "../store/troubles";
import { Age, Agent, Button, Empty, FileName, Trouble } from "./bits";

/** Hits that are fetched without being asked for again. */
const ENOUGH = 60;

const PLACES: readonly { readonly place: SearchedPlace; readonly label: string }[] = [
  { place: "prompts", label: "Prompts" },
  { place: "files", label: "File names" },
  { place: "texts", label: "Changed lines" },
];

interface SearchResult {
  readonly hits: readonly Hit[];
  readonly until: string | undefined;
  readonly cursor: string | undefined;
  readonly isLooking: boolean;
  readonly problem: Problem | undefined;
}

const NOTHING: SearchResult = { hits: [], until: undefined, cursor: undefined, isLooking: true, problem: undefined };

export function SearchPage({ text }: { readonly text: string }): JSX.Element {
  const [places, setPlaces] = useState<readonly SearchedPlace[]>(PLACES.map(({ place }) => place));
  const [found, setFound] = useState<SearchResult>(NOTHING);
  const [wanted, setWanted] = useState(ENOUGH);
  const names = places.join(",");
  // for another query, older pages are loaded only on request
  const question = `${text}\n${names}`;
  const asked = useRef(question);
  const limit = asked.current === question ? wanted : ENOUGH;
  useEffect(() => {
    const isOther = asked.current !== question;
    asked.current = question;
    if (isOther) setWanted(ENOUGH);
    if (text.trim() === "" || places.length === 0) {
      setFound({ ...NOTHING, isLooking: false });
      return;
    }
    // the hits of the question before stay until the first answer comes: a page that flickers is hard to read
    setFound((known) => ({ ...known, isLooking: true, problem: undefined }));
    const aborting = new AbortController();
    void look(text, places, isOther ? NOTHING : found, limit, aborting.signal, setFound);
    return () => aborting.abort();
  }, [question, limit]);
  const flip = (place: SearchedPlace) => {
    setPlaces(places.includes(place) ? places.filter((one) => one !== place) : [...places, place]);
  };
  const { hits, until, cursor, isLooking, problem } = found;
  return (
    <section class="search-page" aria-label="Search" aria-busy={isLooking}>
      <header class="pane-head">
        <div class="pane-title">
          <h2>{text === "" ? "Search" : `Search for “${visible(text)}”`}</h2>
        </div>
        <div class="choices" role="group" aria-label="Where to look">
          {PLACES.map(({ place, label }) => (
            <label key={place} class="chip">
              <input type="checkbox" checked={places.includes(place)} onChange={() => flip(place)} />
              {label}
            </label>
          ))}
        </div>
      </header>
      <div class="scroller" tabIndex={-1}>
        <ol class="hits">
          {hits.map((hit, at) => (
            <HitView key={at} hit={hit} text={text} />
          ))}
        </ol>
        {problem !== undefined && <Trouble problem={problem} />}
        <div class="search-end" role="status">
          {isLooking && <p class="quiet">Searching{until === undefined ? "" : `, back to ${moment(until)} so far`}…</p>}
          {!isLooking && hits.length > 0 && <p class="quiet">{counted(hits.length, "hit")}</p>}
          {!isLooking && cursor !== undefined && (
            <Button
              label="Search further back"
              text="Search further back"
              onClick={() => setWanted(hits.length + ENOUGH)}
            />
          )}
        </div>
        {!isLooking && hits.length === 0 && problem === undefined && (
          <Empty title={text.trim() === "" ? "Type something to search for" : "Nothing found"}>
            <p>The search covers prompts, file names, and the lines that steps added or removed.</p>
          </Empty>
        )}
      </div>
    </section>
  );
}

async function look(
  text: string,
  places: readonly SearchedPlace[],
  known: SearchResult,
  wanted: number,
  signal: AbortSignal,
  show: (found: SearchResult) => void,
): Promise<void> {
  // after a new query, the loaded matches belong to the previous one
  let { hits, cursor, until } = wanted === ENOUGH ? NOTHING : known;
  try {
    do {
      const answer = await search(text, places, cursor, signal);
      // an answer that comes late is that of an older question
      if (signal.aborted) return;
      hits = [...hits, ...answer.hits];
      ({ until, nextCursor: cursor } = { until, nextCursor: undefined, ...answer });
      const isLooking = cursor !== undefined && hits.length < wanted;
      show({ hits, until, cursor, isLooking, problem: undefined });
    } while (cursor !== undefined && hits.length < wanted);
  } catch (error) {
    if (!signal.aborted) show({ hits, until, cursor, isLooking: false, problem: noted(error) });
  }
}

function routeOf(hit: Hit, file: string | undefined, line?: ChangedLine): Route {
  const { sessionId } = hit;
  const rest = file === undefined ? {} : { file };
  const shown =
    hit.stepId === undefined
      ? ({ what: "turn", sessionId, messageId: hit.messageId ?? "", ...rest } as const)
      : ({ what: "step", sessionId, stepId: hit.stepId, ...rest, ...(line === undefined ? {} : { line }) } as const);
  return { page: "timeline", scope: sessionId, shown };
}

function HitView({ hit, text }: { readonly hit: Hit; readonly text: string }): JSX.Element {
  const session = sessions.value?.get(hit.sessionId);
  const name =
    hit.kind === "message" ? promptName(hit.prompt) : (firstLine(hit.description) ?? firstLine(hit.tool) ?? "Step");
  const files = hit.files ?? [];
  return (
    <li class="hit">
      <a class="hit-head" href={fragmentOf(routeOf(hit, undefined))}>
        <span class={hit.kind === "message" ? "name prompt" : "name"}>
          <Marked text={name} needle={text} />
        </span>
        <span class="meta">
          {hit.kind === "message" ? <span>prompt</span> : <Agent name={hit.agent} />}
          {session !== undefined && <span>{session.name}</span>}
          <Age at={hit.at} />
        </span>
      </a>
      {files.length > 0 && (
        <ul class="hit-files">
          {files.map((file) => (
            <li key={exactName(file)}>
              <a class="link" href={fragmentOf(routeOf(hit, file.file))}>
                <FileName file={file.file} />
              </a>
            </li>
          ))}
        </ul>
      )}
      {hit.lines !== undefined && hit.lines.length > 0 && (
        <ul class="hit-lines">
          {hit.lines.map((line) => (
            <HitLine key={`${line.file} ${line.change} ${line.line}`} hit={hit} line={line} text={text} />
          ))}
        </ul>
      )}
      {hit.more === true && <p class="quiet hit-more">There is more in this step.</p>}
    </li>
  );
}

interface HitLineProps {
  readonly hit: Hit;
  readonly line: MatchedLine;
  readonly text: string;
}

function HitLine({ hit, line, text }: HitLineProps): JSX.Element {
  return (
    <li>
      <a
        class={`hit-line ${line.change === "added" ? "added" : "removed"}`}
        href={fragmentOf(routeOf(hit, line.file, { change: line.change, line: line.line }))}
      >
        <span class="where">
          {visible(line.file)}:{line.line}
        </span>
        <code class="code" data-sign={line.change === "added" ? "+" : "−"}>
          <Marked text={line.text} needle={text} />
        </code>
      </a>
    </li>
  );
}

/** A text with its matches highlighted. */
function Marked({ text, needle }: { readonly text: string; readonly needle: string }): JSX.Element {
  return (
    <>
      {segmentsOf(text, [], matchesIn(text, needle)).map((segment, at) =>
        segment.differs ? <mark key={at}>{segment.text}</mark> : segment.text,
      )}
    </>
  );
}
