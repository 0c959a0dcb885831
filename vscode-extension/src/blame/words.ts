// Who wrote a line, in words.

import { agentTitle, type BlamedLines } from "@snapd/client";
import { type Knowing, type Maker, makersOf } from "../model/makers";
import { ago, firstLine, moment, stepNameInLine, turnName } from "../model/wording";
import type { Author } from "./documentBlame";

/** A step that wrote a line. */
export interface BlamedStep {
  readonly sessionId: string;
  readonly stepId: string;
}

/** What stands at the end of a line; undefined where nothing does: no agent and no commit brought it, or nobody knows. */
export function lineText(author: Author, folder: Knowing, now: number): string | undefined {
  if (author === "typed") return "You, not saved";
  const when = author.at === undefined ? undefined : ago(author.at, now);
  switch (author.author) {
    case "before":
      return author.commit === undefined
        ? undefined
        : joined(
            [
              `${firstLine(author.commit.author) ?? "git"}, ${ago(author.commit.at, now)}`,
              firstLine(author.commit.summary),
            ],
            " · ",
          );
    case "unknown":
      return undefined;
    case "user":
      return joined(["You", when], ", ");
    case "step":
      return joined([joined([nameOf(author, makerOf(author, folder)), when], ", "), whatFor(author, folder)], " · ");
  }
}

/** The first line of the hover, for what `lineText` has words for. */
export function hoverText(author: BlamedLines, folder: Knowing, now: number): string {
  const { commit } = author;
  const at = author.at ?? commit?.at;
  const when = at === undefined ? undefined : `${ago(at, now)} (${moment(at)})`;
  if (commit !== undefined) return joined([firstLine(commit.author), when, `git ${commit.id.slice(0, 8)}`], ", ");
  return joined([author.author === "user" ? "You" : nameOf(author, makerOf(author, folder)), when], ", ");
}

/** The step that wrote a line, where one did. */
export function stepOf(author: Author | undefined): BlamedStep | undefined {
  if (author === undefined || author === "typed") return undefined;
  const { sessionId, stepId } = author;
  return sessionId === undefined || stepId === undefined ? undefined : { sessionId, stepId };
}

/** The loaded part of that step. */
export function makerOf(author: BlamedLines, folder: Knowing): Maker | undefined {
  const step = stepOf(author);
  return step === undefined ? undefined : makersOf(folder, [step])[0];
}

function nameOf({ agent }: BlamedLines, maker: Maker | undefined): string {
  const name = agent ?? maker?.agent;
  return name === undefined ? "an agent" : agentTitle(name);
}

/** The prompt, or the name of the step if there is none. */
function whatFor(author: BlamedLines, folder: Knowing): string | undefined {
  const maker = makerOf(author, folder);
  if ((maker?.turn?.text ?? "").trim() !== "" && maker?.turn !== undefined) return turnName(maker.turn);
  return maker?.step === undefined ? undefined : stepNameInLine(maker.step);
}

function joined(parts: readonly (string | undefined)[], separator: string): string {
  return parts.filter((part) => part !== undefined).join(separator);
}
