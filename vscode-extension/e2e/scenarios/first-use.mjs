/** Before any agent came. */
import assert from "node:assert/strict";
import { until } from "../waiting.mjs";

/** @type {import("./index.mjs").Scenario[]} */
export const FIRST_USE = [
  {
    name: "first-use",
    async run(stage) {
      const { steps, workbench, world } = stage;
      await steps.welcome.filter({ hasText: "No agent has worked here yet" }).waitFor();
      await until("the daemon runs", () => world.daemon() !== undefined);
      assert.equal(await steps.rows.count(), 0);
      await workbench.statusIs("Snapd");
      await stage.shot("welcome");
    },
  },
];
