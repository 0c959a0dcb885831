// The catch-up, for orders of things that cannot be forced upon a real daemon.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ConnectionLostError, type EventsResult, SnapdError } from "../src/index.js";
import { Feed, type FolderNotification } from "../src/feed.js";

function notification(seq: number): FolderNotification {
  return { method: "snapshot/didTrack", params: { workspaceUri: "file:///w", seq } };
}

function events(...seqs: number[]): EventsResult {
  return { events: seqs.map(notification) as NonNullable<EventsResult["events"]>, latest: seqs.at(-1) ?? 0 };
}

/** A daemon whose answers the test gives, and what the feed tells. */
class Play {
  readonly received: (number | "reset")[] = [];
  readonly asked: { since: number; answer: (result: EventsResult) => void; fail: (error: Error) => void }[] = [];
  readonly feed: Feed = new Feed({
    deliver: ({ params }) => {
      this.received.push(params.seq);
      this.onDeliver(params.seq);
    },
    reset: () => {
      this.received.push("reset");
    },
  });
  onDeliver: (seq: number) => void = () => undefined;

  readonly ask = (since: number): Promise<EventsResult> =>
    new Promise((answer, fail) => {
      this.asked.push({ since, answer, fail });
    });

  receive(...seqs: number[]): void {
    for (const seq of seqs) {
      this.feed.receive(notification(seq));
    }
  }

  /** Answers the last question, and lets the feed take it. */
  async answer(result: EventsResult): Promise<void> {
    this.asked.at(-1)?.answer(result);
    await settled();
  }

  async fail(error: Error): Promise<void> {
    this.asked.at(-1)?.fail(error);
    await settled();
  }

  /** Has the feed begin after a number. */
  static async begun(after: number): Promise<Play> {
    const play = new Play();
    void play.feed.connect(play.ask);
    await play.answer({ reset: true, latest: after });
    return play;
  }
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

void test("it begins after what was told before the folder was opened", async () => {
  const play = new Play();
  void play.feed.connect(play.ask);
  play.receive(4, 5, 6);
  assert.deepEqual(play.received, []);
  await play.answer({ reset: true, latest: 5 });
  play.receive(7);
  assert.deepEqual(play.received, [6, 7]);
});

void test("a notification that comes twice is told once", async () => {
  const play = await Play.begun(0);
  play.receive(1, 1, 2, 1, 2, 3);
  assert.deepEqual(play.received, [1, 2, 3]);
});

void test("what was missed is told first, and what arrives meanwhile after it and once", async () => {
  const play = await Play.begun(0);
  play.receive(1);
  play.feed.disconnect();
  void play.feed.connect(play.ask);
  play.receive(4, 5);
  assert.equal(play.asked.at(-1)?.since, 1);
  await play.answer(events(2, 3, 4));
  assert.deepEqual(play.received, [1, 2, 3, 4, 5]);
});

void test("what was told and is delivered late is not told again", async () => {
  const play = await Play.begun(0);
  play.feed.disconnect();
  void play.feed.connect(play.ask);
  await play.answer(events(1, 2));
  play.receive(2, 3);
  assert.deepEqual(play.received, [1, 2, 3]);
});

void test("a gap is asked for", async () => {
  const play = await Play.begun(0);
  play.receive(1, 4, 5);
  assert.deepEqual(play.received, [1]);
  assert.equal(play.asked.at(-1)?.since, 1);
  await play.answer(events(2, 3, 4));
  assert.deepEqual(play.received, [1, 2, 3, 4, 5]);
});

void test("a gap in what waits is asked for too", async () => {
  const play = await Play.begun(0);
  play.feed.disconnect();
  void play.feed.connect(play.ask);
  play.receive(2, 5);
  await play.answer(events(1));
  assert.deepEqual(play.received, [1, 2]);
  assert.equal(play.asked.at(-1)?.since, 2);
  await play.answer(events(3, 4, 5));
  assert.deepEqual(play.received, [1, 2, 3, 4, 5]);
});

void test("numbers that are skipped are no reason to ask again", async () => {
  const play = await Play.begun(0);
  play.receive(3);
  await play.answer({ events: [], latest: 3 });
  play.receive(4);
  assert.equal(play.asked.length, 2);
});

void test("a reset is told before what comes after it", async () => {
  const play = await Play.begun(0);
  play.receive(1);
  play.feed.disconnect();
  void play.feed.connect(play.ask);
  play.receive(1000, 1001);
  await play.answer({ reset: true, latest: 1000 });
  assert.deepEqual(play.received, [1, "reset", 1001]);
});

void test("a daemon whose data are gone begins with lower numbers", async () => {
  const play = await Play.begun(70);
  play.feed.disconnect();
  void play.feed.connect(play.ask);
  await play.answer({ reset: true, latest: 2 });
  play.receive(3);
  assert.deepEqual(play.received, ["reset", 3]);
});

void test("a connection that is lost during the catch-up loses and doubles nothing", async () => {
  const play = await Play.begun(0);
  play.receive(1);
  play.feed.disconnect();
  void play.feed.connect(play.ask);
  play.receive(3);
  const late = play.asked.at(-1);
  play.feed.disconnect();
  late?.answer(events(2, 3));
  await settled();
  assert.deepEqual(play.received, [1]);
  void play.feed.connect(play.ask);
  await play.answer(events(2, 3, 4));
  play.receive(5);
  assert.deepEqual(play.received, [1, 2, 3, 4, 5]);
});

void test("a catch-up that ends with its connection waits for the next one", async () => {
  const play = await Play.begun(0);
  void play.feed.connect(play.ask);
  await play.fail(new ConnectionLostError("gone"));
  play.receive(2);
  assert.deepEqual(play.received, []);
  play.feed.disconnect();
  void play.feed.connect(play.ask);
  await play.answer(events(1, 2));
  assert.deepEqual(play.received, [1, 2]);
});

void test("a gap that cannot be filled is a reset, and later notifications are delivered", async () => {
  const play = await Play.begun(0);
  play.feed.disconnect();
  void play.feed.connect(play.ask);
  await play.fail(new SnapdError("gone", 1004, { kind: "workspaceGone" }));
  play.receive(9, 10);
  assert.deepEqual(play.received, ["reset", 9, 10]);
});

void test("a folder that was refused at first is told of from when it is opened", () => {
  const play = new Play();
  play.feed.refuse();
  play.receive(7, 8);
  assert.deepEqual(play.received, [7, 8]);
});

void test("a daemon that knows of less than it told is not asked without end", async () => {
  const play = await Play.begun(0);
  play.receive(5);
  await play.answer({ events: [], latest: 2 });
  assert.equal(play.asked.length, 2);
  assert.deepEqual(play.received, ["reset", 5]);
});

void test("nothing is told after a listener has closed the folder", async () => {
  const play = await Play.begun(0);
  play.feed.disconnect();
  void play.feed.connect(play.ask);
  play.receive(4);
  play.onDeliver = (seq) => {
    if (seq === 2) {
      play.feed.disconnect();
    }
  };
  await play.answer(events(1, 2, 3));
  assert.deepEqual(play.received, [1, 2]);
});
