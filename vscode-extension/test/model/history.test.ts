import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Entry } from "@snapd/client";
import { KEPT, lastActivity, affectedSteps, readHistory, unsettled, withKnown } from "../../src/model/history";
import {
  below,
  change,
  message,
  openStep,
  operation,
  randomness,
  session,
  step,
  stepEntry,
  time,
  userEntry,
} from "./making";

const PAGE = 7;

/** Answers as the daemon does: a cursor stands for an entry, and new entries come at the top. */
function pages(entries: readonly Entry[]) {
  return (cursor: string | undefined) => {
    const rest = cursor === undefined ? entries.length : Number(cursor);
    const page = entries.slice(entries.length - rest).slice(0, PAGE);
    return Promise.resolve(rest > PAGE ? { entries: page, nextCursor: String(rest - PAGE) } : { entries: page });
  };
}

describe("lastActivity", () => {
  it("is that of a message too", () => {
    const entries = [message("p", 9, "Go", "other"), message("p", 5, "Go", "s"), stepEntry(step("a", 1))];
    assert.equal(lastActivity(session("s"), entries), time(5));
    assert.equal(lastActivity(session("none"), entries), time(0));
  });
});

describe("readHistory", () => {
  it("gives what is told anew, after any changes that were told of", async () => {
    for (let seed = 1; seed <= 300; seed += 1) {
      const random = randomness(seed);
      const entries: Entry[] = [];
      let known: readonly Entry[] = [];
      let at = 0;
      for (let round = 0; round < 12; round += 1) {
        const news = new Set<string>();
        for (let each = below(random, 8); each > 0; each -= 1) {
          at += 1;
          const what = below(random, 7);
          const steps = entries.flatMap(({ step: one }) => (one === undefined ? [] : [one]));
          const some = steps[below(random, steps.length)];
          if (what === 0) entries.unshift(userEntry(at));
          else if (what === 6) {
            // two agents get messages at one moment, and one of them once more
            const sent = ["one", "two"].map((session) => message(`m${below(random, 3)}`, at, `${at}`, session));
            entries.unshift(...sent);
          } else if (what === 1) entries.unshift(operation("undo", at));
          else if (what <= 3 || some === undefined) {
            const parent = what === 3 ? some : undefined;
            const begun = openStep(`step${at}`, at, parent === undefined ? {} : { parentStepId: parent.stepId });
            entries.unshift(stepEntry(begun));
            for (const name of affectedSteps(begun)) news.add(name);
          } else {
            // it ends, is undone or looks different, and so does what it is a part of, of which nobody tells
            for (const name of affectedSteps(some)) news.add(name);
            for (let one: string | undefined = some.stepId; one !== undefined;) {
              const place = entries.findIndex((entry) => entry.step?.stepId === one);
              const old = entries[place]?.step;
              assert.ok(old);
              const { stepId, index, parentStepId } = old;
              const files = [change(`f${at}.txt`)];
              const parent = parentStepId === undefined ? {} : { parentStepId };
              const state = old.state === "open" || below(random, 2) === 0 ? "applied" : "undone";
              const turned = one === some.stepId ? step(stepId, index, { ...parent, files, state }) : { ...old, files };
              entries[place] = stepEntry(turned);
              one = parentStepId;
            }
          }
        }
        known = withKnown(await readHistory(known, unsettled(known, news), pages(entries)), known);
        assert.deepEqual(known, entries, `seed ${seed}`);
      }
    }
  });

  it("keeps the latest entries alone", async () => {
    const entries = Array.from({ length: KEPT + 20 }, (_, place) => userEntry(KEPT + 20 - place));
    assert.deepEqual(await readHistory([], 0, pages(entries)), entries.slice(0, KEPT));
  });
});
