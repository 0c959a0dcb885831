/** The daemon, and whether it may run at all. */
import assert from "node:assert/strict";
import fs from "node:fs";
import { until } from "../waiting.mjs";
import { SETTINGS } from "./texts.mjs";

/** @type {import("./index.mjs").Scenario[]} */
export const STATE = [
  {
    name: "daemon-killed",
    async run(stage) {
      const { workbench, world } = stage;
      const before = await stage.agent("Before the end");
      await before.step("Seen", { "seen.txt": "seen\n" });
      await stage.stepRow("Before the end", "Seen");
      await workbench.statusIs("1 step");
      world.hold();
      const killed = /** @type {number} */ (world.daemon());
      process.kill(killed, "SIGKILL");
      await workbench.statusIs("Snapd");
      await stage.shot("daemon-killed");
      const meanwhile = await stage.agent("While nobody looked");
      await meanwhile.step("Not seen yet", { "seen.txt": "seen again\n" });
      world.release();
      await stage.stepRow("While nobody looked", "Not seen yet");
      assert.notEqual(world.daemon(), killed);
      await workbench.statusIs("1 step");
      await meanwhile.step("Seen as it comes", { "seen.txt": "seen at once\n" });
      await stage.stepRow("While nobody looked", "Seen as it comes");
      await workbench.statusIs("2 steps");
      await stage.stepRow("Before the end", "Seen");
    },
  },
  {
    name: "daemon-ended-by-itself",
    async run(stage) {
      const { world } = stage;
      const killed = /** @type {number} */ (world.daemon());
      process.kill(killed, "SIGKILL");
      await until("the editor has started another daemon", () => {
        const now = world.daemon();
        return now !== undefined && now !== killed;
      });
      const agent = await stage.agent("After the end");
      await agent.step("Begin anew", { "anew.txt": "anew\n" });
      await stage.stepRow("After the end", "Begin anew");
    },
  },
  {
    name: "restart-daemon",
    async run(stage) {
      const { workbench, world } = stage;
      const agent = await stage.agent("Before the restart");
      await agent.step("Still there", { "still.txt": "there\n" });
      await stage.stepRow("Before the restart", "Still there");
      const before = world.daemon();
      await workbench.run("Snapd: Restart Daemon");
      await until("the daemon is another", () => ![before, undefined].includes(world.daemon()));
      await workbench.statusIs("1 step");
      await stage.stepRow("Before the restart", "Still there");
    },
  },
  {
    name: "doctor",
    async run(stage) {
      const { workbench } = stage;
      await workbench.run("Snapd: Doctor");
      await workbench.told("Snapd doctor: no problems found.");
      const output = stage.browser.page.locator(".part.panel .view-lines");
      // how many lines there are, and so which are in sight, is the doctor's affair
      await output.filter({ hasText: /\[info\]\sok\s/ }).waitFor();
      await stage.shot("doctor");
      await workbench.closePanel();
    },
  },
  {
    name: "turned-off",
    async run(stage) {
      const { steps, workbench, world } = stage;
      const agent = await stage.agent("On and off");
      await agent.step("While it is on", { "on.txt": "on\n" });
      await stage.stepRow("On and off", "While it is on");
      await workbench.statusIs("1 step");
      world.write(SETTINGS, JSON.stringify({ "snapd.enable": false }));
      await steps.welcome.filter({ hasText: "turned off" }).waitFor();
      await workbench.statusIs("Snapd: off");
      assert.equal(await steps.rows.count(), 0);
      await stage.shot("turned-off");
      await agent.step("While it is off", { "on.txt": "off\n" });
      world.remove(SETTINGS);
      await stage.stepRow("On and off", "While it is off");
      await workbench.statusIs("2 steps");
    },
  },
  {
    name: "untrusted",
    setting: { untrusted: true },
    async run(stage) {
      const { steps, world, workbench } = stage;
      if (await until("the editor asks for trust", () => workbench.dialog.isVisible())) {
        await workbench.answer("No, I don't trust the authors");
      }
      await steps.open();
      await steps.welcome.filter({ hasText: "do not trust" }).waitFor();
      await workbench.run("Snapd: Snapshot Now");
      await until("the command says why it does nothing", async () =>
        (await workbench.notifications.allInnerTexts()).some((text) => text.includes("you trust this workspace")),
      );
      assert.equal(world.daemon(), undefined);
      assert.deepEqual(fs.readdirSync(world.runtime), []);
      assert.deepEqual(fs.readdirSync(world.data), []);
      await stage.shot("untrusted");
      await workbench.clearNotifications();

      await steps.welcome.getByRole("button", { name: "Manage Workspace Trust" }).click();
      const trust = stage.browser.page
        .locator(".workspace-trust-editor")
        .getByRole("button", { name: "Trust", exact: true });
      await trust.click();
      await until("the daemon runs", () => world.daemon() !== undefined);
      await steps.welcome.filter({ hasText: "No agent has worked here yet" }).waitFor();
    },
  },
];
