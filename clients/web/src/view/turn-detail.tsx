/** A turn: the prompt and its changes. */
import type { FileDiff } from "@snapd/client";
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { type Problem } from "../api/problem";
import { getTurnDiff } from "../api/routes";
import { visible } from "../model/names";
import { counted, moment, promptName, stateName, sums } from "../model/wording";
import { propose, revertTo, rewindTo, undoTurn } from "../store/acting";
import { givenSource } from "../store/diffs";
import { Latest } from "../store/latest";
import { sessions } from "../store/sessions";
import { isReadOnly } from "../store/status";
import { entries, messages } from "../store/timeline";
import { noted } from "../store/troubles";
import { Button, Counts, Trouble } from "./bits";
import { DetailHead } from "./detail-head";
import { DiffPane } from "./diff-pane";
import { useKeys } from "./keyboard";
import { HistoryLink } from "./links";

/** Files of one answer. */
const PAGE = 100;

export interface TurnDetailProps {
  readonly sessionId: string;
  readonly messageId: string;
  readonly file: string | undefined;
}

export function TurnDetail({ sessionId, messageId, file }: TurnDetailProps): JSX.Element {
  const message = messages.value.get(messageId);
  const entry = entries.value.find((one) => one.kind === "message" && one.messageId === messageId);
  const text = message?.text ?? entry?.text;
  const at = message?.at ?? entry?.at;
  const { diffs, problem, again } = useTurnDiff(sessionId, messageId);
  const source = useMemo(() => givenSource(diffs ?? []), [diffs]);
  const state = message === undefined ? "" : stateName(message.state);
  const movedGit = entries.value.some(({ step }) => step?.messageId === messageId && step.git !== undefined);
  const canUndo = !isReadOnly.value && message?.state !== "undone" && (movedGit || (diffs?.length ?? 0) > 0);
  const act = () => void propose(undoTurn(sessionId, messageId, text));
  useKeys(canUndo ? { undo: act } : {});
  return (
    <>
      <DetailHead
        title={promptName(text)}
        facts={
          <>
            {at !== undefined && <time dateTime={at}>{moment(at)}</time>}
            {state !== "" && <span class="state">{state}</span>}
            {message !== undefined && <span>{counted(message.steps, "step")}</span>}
            {diffs !== undefined && <span>{counted(diffs.length, "file")}</span>}
            <Counts of={sums(diffs ?? [])} />
          </>
        }
        actions={
          <>
            {canUndo && (
              <>
                <Button icon="undo" label="Undo turn" keys="u" text="Undo turn" onClick={act} />
                <Button
                  icon="history"
                  label="Restore to before this prompt: undo this turn and all later ones of the session"
                  text="Restore to before this prompt"
                  onClick={() => void propose(revertTo(sessionId, messageId, text))}
                />
              </>
            )}
            {!isReadOnly.value && (
              <Button
                icon="history"
                label="Restore with conversation: the agent goes on from before this prompt in a new session"
                text="Restore with conversation"
                onClick={() => void propose(rewindTo(sessionId, messageId, text))}
              />
            )}
          </>
        }
      />
      {problem !== undefined && <Trouble problem={problem} again={again} />}
      {problem === undefined && diffs === undefined && <div class="skeleton tall" aria-hidden="true" />}
      {diffs !== undefined && (
        <DiffPane
          source={source}
          files={diffs}
          focused={file}
          emptyTitle={state === "undone" ? "All of this turn was undone" : "This turn changed nothing"}
          head={text === undefined ? <></> : <p class="prompt-text">{visibleLines(text)}</p>}
          fileActions={(one) => <HistoryLink file={one} />}
        />
      )}
    </>
  );
}

function visibleLines(text: string): string {
  return text.split("\n").map(visible).join("\n");
}

function useTurnDiff(sessionId: string, messageId: string) {
  const [diffs, setDiffs] = useState<readonly FileDiff[]>();
  const [problem, setProblem] = useState<Problem>();
  const [tries, setTries] = useState(0);
  // the net changes of a turn differ after each step, undo and redo
  const session = sessions.value?.get(sessionId);
  const version = `${session?.stepCount ?? 0} ${session?.undoable ?? 0} ${session?.redoable ?? 0}`;
  useEffect(() => {
    const latest = new Latest();
    const isCurrent = latest.begin();
    const collect = async () => {
      let found: readonly FileDiff[] = [];
      for (let cursor: string | undefined; ;) {
        const answer = await getTurnDiff(sessionId, messageId, { cursor, limit: PAGE });
        if (!isCurrent()) return;
        found = [...found, ...answer.diffs];
        cursor = answer.nextCursor;
        if (cursor === undefined) break;
      }
      setDiffs(found);
      setProblem(undefined);
    };
    collect().catch((error: unknown) => {
      if (isCurrent()) setProblem(noted(error));
    });
    return () => {
      latest.begin();
    };
  }, [sessionId, messageId, version, tries]);
  return { diffs, problem, again: () => setTries((count) => count + 1) };
}
