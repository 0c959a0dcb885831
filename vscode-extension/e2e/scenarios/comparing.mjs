/** Two states of the folder that no single step lies between. */
import { LIST, withLine } from "./texts.mjs";

/** @type {import("./index.mjs").Scenario[]} */
export const COMPARING = [
  {
    name: "compare-snapshots",
    async run(stage) {
      const { multiDiff, workbench, world } = stage;
      const [first, second] = [
        withLine(LIST, "beta", "Beta"),
        withLine(withLine(LIST, "beta", "Beta"), "zeta", "Zeta"),
      ];
      const agent = await stage.agent("Four turns");
      await agent.step("Set the table", { "table.txt": LIST });
      await agent.step("Turn left", { "table.txt": first });
      await agent.step("Turn right", { "table.txt": second });
      await agent.step("Turn away", { "table.txt": withLine(second, "kappa", "Kappa"), "away.txt": "away\n" });
      await stage.stepRow("Four turns", "Turn away");
      await workbench.run("Snapd: Compare Two Snapshots...");
      await workbench.pickFor(/^Choose a snapshot to compare/, /^Before step 2 “Turn left”/);
      await workbench.pickFor(/^Compare .* with\.\.\./, /^After step 3 “Turn right”/);
      await multiDiff.shows({ "table.txt": [LIST, second] });
      await stage.shot("compare-snapshots");

      await workbench.closeEditors();
      const now = withLine(world.read("table.txt"), "alpha", "Alpha of the user");
      world.write("table.txt", now);
      await workbench.run("Snapd: Compare Two Snapshots...");
      await workbench.pickFor(/^Choose a snapshot to compare/, /^After step 3 “Turn right”/);
      await workbench.pickFor(/^Compare .* with\.\.\./, /^Current files/);
      await multiDiff.shows({ "table.txt": [second, now], "away.txt": ["", "away\n"] });
    },
  },
  {
    name: "compare-with-current",
    async run(stage) {
      const { diff, steps, workbench, world } = stage;
      const [first, second] = [
        withLine(LIST, "beta", "Beta"),
        withLine(withLine(LIST, "beta", "Beta"), "zeta", "Zeta"),
      ];
      const agent = await stage.agent("Since then");
      await agent.step("Write it down", { "since.txt": LIST });
      await agent.step("Change it", { "since.txt": first });
      await agent.step("Change it again", { "since.txt": second });
      const now = withLine(second, "kappa", "kappa of the user");
      world.write("since.txt", now);
      await steps.choose(await stage.fileRow("Since then", "Change it", "since.txt"), "Compare with Current File");
      await diff.shows(first, now);
      await stage.shot("compare-with-current");

      await workbench.closeEditors();
      await steps.choose(await stage.fileRow("Since then", "Change it", "since.txt"), "Open File");
      await stage.text.shows(now);
    },
  },
];
