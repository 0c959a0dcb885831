/** A computer without snapd. */
import assert from "node:assert/strict";
import { until } from "../waiting.mjs";
import { SETTINGS } from "./texts.mjs";

/** @type {import("./index.mjs").Scenario[]} */
export const FINDING = [
  {
    name: "snapd-not-found",
    setting: { missing: true },
    async run(stage) {
      const { steps, workbench, world } = stage;
      await steps.welcome.filter({ hasText: "Snapd was not found" }).waitFor();
      await steps.welcome.getByRole("button", { name: "Install Snapd" }).waitFor();
      await workbench.statusIs("Snapd: not installed");
      const offer = workbench.notification("Snapd was not found");
      for (const button of ["Install", "Choose...", "Not Now"]) {
        await offer.getByRole("button", { name: button, exact: true }).waitFor();
      }
      await stage.shot("not-found");
      await workbench.press("Snapd was not found", "Not Now");
      await until("the offer is gone", async () => (await offer.count()) === 0);
      assert.equal(world.daemon(), undefined);

      world.write(SETTINGS, JSON.stringify({ "snapd.path": world.launcher }));
      await steps.welcome.filter({ hasText: "No agent has worked here yet" }).waitFor();
      await workbench.statusIs("Snapd");
    },
  },
];
