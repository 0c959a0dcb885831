// A folder of which all is said by the test.

import type { Entry, Session } from "@snapd/client";
import type { FolderModel } from "../../src/model/folder";
import { type TurnId, turnKey, turnsOf } from "../../src/model/turns";
import type { Arranged } from "../../src/views/arrange";
import { present } from "../../src/views/presentation";
import type { Item } from "../../src/views/items";

export function folder(sessions: readonly Session[], entries: readonly Entry[], more: object = {}): FolderModel {
  const turns = turnsOf(entries);
  const made = {
    id: "file:///work/app",
    uri: "file:///work/app",
    name: "app",
    sessions,
    entries,
    problem: undefined,
    enabled: true,
    comments: { openOn: () => 0 },
    loaded: true,
    session: (id: string) => sessions.find(({ sessionId }) => sessionId === id),
    step: (stepId: string) => entries.find(({ step }) => step?.stepId === stepId)?.step,
    turns: [...turns.values()],
    turn: (id: TurnId) => turns.get(turnKey(id)),
    ...more,
  };
  return made as unknown as FolderModel;
}

/** The labels of a tree, those below indented. */
export function picture({ top, below }: Arranged): string[] {
  const rows = (item: Item, depth: number): string[] => {
    const under = item.kind === "session" ? (below.get(item.session.sessionId) ?? []) : inside(item);
    return [`${"  ".repeat(depth)}${present(item, 0).label}`, ...under.flatMap((each) => rows(each, depth + 1))];
  };
  return top.flatMap((item) => rows(item, 0));
}

function inside(item: Item): readonly Item[] {
  return item.kind === "turn" ? item.items : item.kind === "step" ? item.parts : [];
}
