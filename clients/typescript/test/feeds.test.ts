// Which folder a notification belongs to, where names differ and folders are refused.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Feeds, type Source } from "../src/feeds.js";
import { type EventsResult, SnapdError, type StatusResult } from "../src/index.js";
import { Log } from "./support/log.js";

class Play {
  readonly received: string[] = [];
  readonly names = new Map<string, string>();
  statusRequests = 0;
  events = (): Promise<EventsResult> => Promise.resolve({ reset: true, latest: 0 });
  readonly feeds = new Feeds(
    {
      deliver: ({ params }) => this.received.push(`${params.workspaceUri} ${String(params.seq)}`),
      reset: (folder) => this.received.push(`${folder} reset`),
    },
    new Log(),
  );
  readonly source: Source = {
    status: (folder) => {
      this.statusRequests += 1;
      const workspaceUri = this.names.get(folder);
      return workspaceUri === undefined
        ? Promise.reject(new SnapdError("refused", 1003))
        : Promise.resolve({ workspaceUri } as StatusResult);
    },
    events: () => this.events(),
  };

  async open(...folders: string[]): Promise<void> {
    for (const folder of folders) {
      this.feeds.add(folder);
    }
    await this.feeds.connect(this.source, folders);
  }

  async receive(workspaceUri: string, seq: number): Promise<void> {
    this.feeds.receive({ method: "snapshot/didTrack", params: { workspaceUri, seq } });
    await new Promise((resolve) => setImmediate(resolve));
  }
}

void test("a folder is told of by the name that the client has for it, and by each that it has", async () => {
  const play = new Play();
  play.names.set("file:///link", "file:///real").set("file:///real", "file:///real").set("file:///b", "file:///b");
  await play.open("file:///link", "file:///real", "file:///b");
  await play.receive("file:///real", 1);
  await play.receive("file:///b", 1);
  assert.deepEqual(play.received, ["file:///link 1", "file:///real 1", "file:///b 1"]);
});

void test("what arrives before the name is known is told as soon as it is", async () => {
  const play = new Play();
  play.names.set("file:///link", "file:///real");
  play.feeds.add("file:///link");
  const connected = play.feeds.connect(play.source, ["file:///link"]);
  play.feeds.receive({ method: "snapshot/didTrack", params: { workspaceUri: "file:///real", seq: 1 } });
  await connected;
  assert.deepEqual(play.received, ["file:///link 1"]);
});

void test("a folder that was refused, and opened by a later request, is told of", async () => {
  const play = new Play();
  await play.open("file:///a");
  play.names.set("file:///a", "file:///a");
  await play.receive("file:///a", 8);
  await play.receive("file:///a", 9);
  assert.deepEqual(play.received, ["file:///a 8", "file:///a 9"]);
});

void test("a folder that is refused on a new connection is reset, once", async () => {
  const play = new Play();
  play.names.set("file:///a", "file:///a");
  await play.open("file:///a");
  play.feeds.disconnect();
  play.names.clear();
  await play.feeds.connect(play.source, ["file:///a"]);
  assert.deepEqual(play.received, ["file:///a reset"]);
});

void test("a folder that was closed is not told of, and nobody is asked about it", async () => {
  const play = new Play();
  play.names.set("file:///a", "file:///a");
  await play.open("file:///a");
  play.feeds.remove("file:///a");
  await play.receive("file:///a", 1);
  assert.deepEqual(play.received, []);
  assert.equal(play.statusRequests, 1);
});

void test("an answer that comes after the connection was lost is not told", async () => {
  const play = new Play();
  play.names.set("file:///a", "file:///a");
  await play.open("file:///a");
  play.feeds.disconnect();
  let answer: (result: EventsResult) => void = () => undefined;
  play.events = () => new Promise((resolve) => (answer = resolve));
  const connected = play.feeds.connect(play.source, ["file:///a"]);
  await new Promise((resolve) => setImmediate(resolve));
  play.feeds.disconnect();
  answer({ reset: true, latest: 5 });
  await connected;
  assert.deepEqual(play.received, []);
});
