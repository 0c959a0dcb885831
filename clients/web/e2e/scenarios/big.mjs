/** Long lists, many files, large files. */
import assert from "node:assert/strict";
import { untilEqual } from "../../../../vscode-extension/e2e/waiting.mjs";

const STEPS = 10_000;

/**
 * Scrolls an element from its top to its end and counts frames.
 *
 * @param {import("playwright-core").Locator} locator
 * @param {number} frames
 * @returns {Promise<{ median: number, worst: number }>} Milliseconds between two frames.
 */
function scrolled(locator, frames) {
  return locator.evaluate(
    (element, count) =>
      new Promise((resolve) => {
        /** @type {number[]} */
        const times = [];
        let last = performance.now();
        const step = () => {
          const now = performance.now();
          times.push(now - last);
          last = now;
          element.scrollTop += (element.scrollHeight - element.clientHeight) / count;
          if (times.length < count) requestAnimationFrame(step);
          else {
            times.sort((one, other) => one - other);
            resolve({ median: times[times.length >> 1] ?? 0, worst: times.at(-1) ?? 0 });
          }
        };
        requestAnimationFrame(step);
      }),
    frames,
  );
}

/** @type {import("./index.mjs").Scenario[]} */
export const BIG = [
  {
    name: "ten-thousand-steps",
    async run(stage) {
      const { page, server } = stage;
      // while it is made, nobody looks
      await page.close();
      const agent = await stage.agent("claude", "Very busy");
      for (let at = 0; at < STEPS; at += 1) {
        if (at % 50 === 0) await agent.prompt(`Prompt number ${at / 50 + 1}`);
        await agent.step(`Step number ${at + 1}`, { [`many/${at % 100}.txt`]: `${at}\n` });
      }
      // a browser that comes anew
      const fresh = await stage.browser.open(server.url);
      await fresh.locator(".page").waitFor();
      await fresh.evaluate(() => (location.hash = "#/all"));
      // since the page was asked for: how long the browser takes for a new window is not ours
      const elapsed = () => fresh.evaluate(() => performance.now());
      const row = (/** @type {string} */ text) =>
        fresh.locator(".timeline .row").filter({ has: fresh.getByText(text, { exact: true }) });
      await row(`Step number ${STEPS}`).waitFor();
      const first = await elapsed();
      const list = fresh.locator(".timeline [aria-setsize]").first();
      await untilEqual("all of them", () => list.getAttribute("aria-setsize"), String(STEPS + STEPS / 50));
      const all = await elapsed();
      const scroller = fresh.locator(".timeline .scroller");
      const { median, worst } = await scrolled(scroller, 200);
      console.log(
        `     first rows after ${first.toFixed(0)} ms, all after ${all.toFixed(0)} ms; a frame of scrolling takes ${median.toFixed(1)} ms (worst ${worst.toFixed(0)})`,
      );
      await scroller.evaluate((element) => (element.scrollTop = element.scrollHeight));
      await row("Step number 1").waitFor();
      assert.ok((await fresh.locator(".timeline .row").count()) < 60);
      await row("Step number 1").click();
      await fresh.getByRole("article", { name: "many/0.txt" }).locator(".code").waitFor();
      await fresh.reload();
      await row("Step number 1").waitFor();
      await stage.checkAccess(fresh);
      // what comes at the top does not move what is seen
      const place = await row("Step number 1").evaluate((one) => one.getBoundingClientRect().top);
      await agent.step("The very last", { "last.txt": "1\n" });
      await untilEqual("it came", () => list.getAttribute("aria-setsize"), String(STEPS + STEPS / 50 + 2));
      assert.equal(await row("Step number 1").evaluate((one) => one.getBoundingClientRect().top), place);
      await fresh
        .getByRole("navigation", { name: "Sessions" })
        .getByRole("link", { name: /Very busy/ })
        .click();
      await row("Prompt number 200").waitFor();
    },
  },
  {
    name: "many-sessions",
    async run(stage) {
      const { page } = stage;
      const agent = await stage.agent("claude", "The first");
      const oldest = agent.sessionId;
      for (let at = 1; at <= 250; at += 1) await agent.startAnother(`Session ${at}`);
      const sessions = page.getByRole("navigation", { name: "Sessions" });
      await sessions.getByRole("link", { name: /Session 250/ }).waitFor();
      const count = () => sessions.locator(".session").count();
      await untilEqual("the newest", count, 100);
      await stage.checkAccess();
      // the one that is shown is there, however old it is
      await stage.goTo(`#/session/${oldest}`);
      await sessions.getByRole("link", { name: /The first/ }).waitFor();
      await sessions.getByRole("button", { name: /Show more sessions: 150 older ones/ }).click();
      await untilEqual("more of them", count, 201);
      await stage.shot("many-sessions");
      await sessions.getByRole("button", { name: /Show more sessions: 50 older ones/ }).click();
      await untilEqual("all of them", count, 251);
      await untilEqual("no more", () => sessions.getByRole("button").count(), 0);
    },
  },
  {
    name: "a-thousand-files",
    async run(stage) {
      const { page } = stage;
      const agent = await stage.agent("claude", "Many files");
      const name = (/** @type {number} */ at) =>
        `src/part${Math.floor(at / 100)}/file${String(at).padStart(4, "0")}.py`;
      const changes = Object.fromEntries(
        Array.from({ length: 1000 }, (_, at) => [name(at), `def f${at}():\n    return ${at}\n`]),
      );
      await agent.step("A thousand files", changes);
      await stage.row("A thousand files").filter({ hasText: "1,000 files" }).click();
      await untilEqual("the first file", () => stage.lines(name(0)), ["+def f0():", "+    return 0"]);
      assert.ok((await page.locator("article").count()) < 40);
      await page.locator(".diff-scroller").evaluate((element) => (element.scrollTop = element.scrollHeight));
      await untilEqual("the last file", () => stage.lines(name(999)), ["+def f999():", "+    return 999"]);
      await stage.goTo(`${new URL(page.url()).hash}/file/${encodeURIComponent(name(500))}`);
      await untilEqual("one in the middle", () => stage.lines(name(500)), ["+def f500():", "+    return 500"]);
      await page.locator(".row.file[aria-current]").filter({ hasText: "file0500.py" }).waitFor();
      const { median, worst } = await scrolled(page.locator(".diff-scroller"), 120);
      console.log(`     a frame of scrolling over the files takes ${median.toFixed(1)} ms (worst ${worst.toFixed(0)})`);
      await stage.checkAccess();
      await page.getByRole("link", { name: /Pending changes/ }).click();
      await untilEqual(
        "as many are pending",
        () =>
          page
            .locator(".pane-title .quiet")
            .textContent()
            .then((text) => text?.includes("1,000 files")),
        true,
      );
      await stage.press("Keep all");
      await page.getByText("Nothing is pending").waitFor();
    },
  },
  {
    name: "five-megabytes",
    async run(stage) {
      const { page, world } = stage;
      const agent = await stage.agent("claude", "Large");
      const text = (/** @type {string} */ word) =>
        Array.from({ length: 120_000 }, (_, at) => `const value${at} = "${word} of some length ${at}";\n`).join("");
      assert.ok(text("old").length > 5_000_000);
      world.write("large.ts", text("old"));
      await agent.step("Write a large file", {
        "other.ts": text("new"),
        "wide.json": JSON.stringify({ wide: "w".repeat(5_000_000) }),
      });
      await agent.step("Change one line of it", { "large.ts": text("old").replace("old of some length 50000", "NEW") });
      await stage.row("Write a large file").filter({ hasText: "2 files" }).click();
      await untilEqual(
        "its beginning",
        async () => (await stage.lines("other.ts"))[0],
        '+const value0 = "new of some length 0";',
      );
      assert.ok((await page.locator(".line").count()) < 500);
      const scroller = page.locator(".diff-scroller");
      const { median, worst } = await scrolled(scroller, 120);
      console.log(
        `     a frame of scrolling over 120,000 lines takes ${median.toFixed(1)} ms (worst ${worst.toFixed(0)})`,
      );
      await stage.row("wide.json").click();
      await untilEqual(
        "a line of five megabytes is cut",
        () =>
          stage
            .file("wide.json")
            .locator(".cut")
            .first()
            .textContent()
            .then((one) => one?.includes("more characters")),
        true,
      );
      await stage.row("Change one line of it").click();
      await untilEqual(
        "one line",
        () => stage.lines("large.ts").then((all) => all.filter((one) => !one.startsWith(" "))),
        ['−const value50000 = "old of some length 50000";', '+const value50000 = "NEW";'],
      );
      await stage.file("large.ts").getByRole("button", { name: "Show 20 more lines above" }).first().click();
      await untilEqual(
        "lines above it",
        async () => (await stage.lines("large.ts"))[0],
        ' const value49977 = "old of some length 49977";',
      );
      await stage.checkAccess();
    },
  },
];
