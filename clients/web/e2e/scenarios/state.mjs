/** How the page tells what is the matter: no token, read-only, a daemon or a server that went away. */
import assert from "node:assert/strict";
import { until, untilEqual } from "../../../../vscode-extension/e2e/waiting.mjs";
import { Server } from "../server.mjs";
import { Wire } from "../wire.mjs";

/** @type {import("./index.mjs").Scenario[]} */
export const STATE = [
  {
    name: "the-token",
    async run(stage) {
      const { page, server, browser } = stage;
      assert.equal(page.url(), `${server.origin}/#/all`);
      assert.equal(await page.evaluate(() => document.cookie), "");
      await page.reload();
      await page.locator(".page").waitFor();
      await page.getByText("On", { exact: true }).waitFor();
      const stranger = await browser.open(`${server.origin}/`);
      await stranger.getByText("This address has no access").waitFor();
      await stage.checkAccess(stranger);
      const wrong = await browser.open(`${server.origin}/#token=${"x".repeat(43)}`);
      await wrong.getByText("This address has no access").waitFor();
      assert.equal(wrong.url(), `${server.origin}/`);
    },
  },
  {
    name: "read-only",
    setting: { readOnly: true },
    async run(stage) {
      const { page } = stage;
      const agent = await stage.agent("claude", "Only look");
      await agent.prompt("Write it.");
      await agent.step("Write it", { "a.txt": "a\n" });
      await page.getByText("Read-only").waitFor();
      await stage.row("Write it").filter({ hasText: "1 file" }).click();
      await stage.file("a.txt").locator(".code").waitFor();
      const changing = page.getByRole("button", { name: /undo|redo|keep|restore/i });
      await untilEqual("no button that changes something", () => changing.count(), 0);
      await page.keyboard.press("u");
      await page.getByRole("link", { name: "prompt", exact: true }).click();
      await page.locator(".prompt-text").waitFor();
      await untilEqual("none beside the turn", () => changing.count(), 0);
      await page.getByRole("link", { name: /Only look/ }).click();
      await untilEqual("none in the session", () => changing.count(), 0);
      await page.keyboard.press("u");
      await page.keyboard.press("r");
      await page.getByRole("link", { name: /Pending changes/ }).click();
      await stage.file("a.txt").locator(".code").waitFor();
      await untilEqual("none beside what is pending", () => changing.count(), 0);
      await page.keyboard.press("a");
      await page.keyboard.press("?");
      await stage.dialog.getByText("Next change").waitFor();
      assert.equal(await stage.dialog.getByText("Redo").count(), 0);
      assert.equal((await stage.server.get("/review")).pendingFiles, 1);
    },
  },
  {
    name: "the-daemon-is-restarted",
    async run(stage) {
      const { page, world } = stage;
      const agent = await stage.agent("claude", "Before");
      await agent.step("Before it", { "a.txt": "a\n" });
      await stage.row("Before it").filter({ hasText: "1 file" }).waitFor();
      const daemon = world.daemon();
      assert.ok(daemon !== undefined);
      process.kill(daemon, "SIGKILL");
      await until("the daemon is gone", () => world.daemon() !== daemon);
      const next = await stage.agent("codex", "After");
      await next.step("After it", { "b.txt": "b\n" });
      await stage.row("After it").filter({ hasText: "1 file" }).waitFor();
      await page.getByText("On", { exact: true }).waitFor();
      await stage.row("After it").click();
      await stage.press("Undo step");
      await stage.carryOut();
      await untilEqual("the page acts again", () => world.exists("b.txt"), false);
    },
  },
  {
    name: "cut-off",
    async run(stage) {
      const { browser, server, world } = stage;
      const wire = await Wire.open(server.port);
      world.atEnd(() => wire.close());
      const page = await browser.open(server.url.replace(server.port, wire.port));
      await page.locator(".page").waitFor();
      await page.evaluate(() => (location.hash = "#/all"));
      const row = (/** @type {string} */ text) => page.locator(".timeline .row").filter({ hasText: text });
      const agent = await stage.agent("claude", "Awake");
      await agent.step("Seen", { "a.txt": "a\n" });
      await row("Seen").filter({ hasText: "1 file" }).waitFor();
      wire.cut();
      await page.getByText("Offline").waitFor();
      await stage.checkAccess(page);
      await agent.step("Missed", { "b.txt": "b\n" });
      const undone = await agent.step("Also missed", { "c.txt": "c\n" });
      await agent.request("session/undo", { stepId: undone });
      wire.mend();
      await row("Also missed").filter({ hasText: "undone" }).waitFor();
      await row("Missed").first().waitFor();
      await page.getByText("On", { exact: true }).waitFor();
      await untilEqual("each of them once", () => page.locator(".timeline .row.step").count(), 3);
    },
  },
  {
    name: "the-server-is-restarted",
    async run(stage) {
      const { page, server, world, browser } = stage;
      await page.getByText("On", { exact: true }).waitFor();
      await server.stop();
      await page.getByText("Offline").waitFor();
      const again = await Server.start(world, { port: server.port });
      // another server has another token, and says so
      await page.getByText("This address has no access").waitFor();
      const fresh = await browser.open(again.url);
      await fresh.getByText("On", { exact: true }).waitFor();
    },
  },
  {
    name: "off",
    async run(stage) {
      const { page, world } = stage;
      await page.getByText("On", { exact: true }).waitFor();
      world.write(".config/snapd/config.toml", "snapshot = false\n", world.home);
      await page.reload();
      await page.locator(".status.is-off").waitFor();
      await page.getByText(/turned off/).waitFor();
      await stage.checkAccess();
    },
  },
];
