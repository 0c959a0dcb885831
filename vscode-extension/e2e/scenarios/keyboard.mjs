/** All of it without a pointer. */
import { until, untilEqual } from "../waiting.mjs";
import { LIST, withLine } from "./texts.mjs";

const TAKEN = /Took snapshot \w+ of shop/;

/** @type {import("./index.mjs").Scenario[]} */
export const KEYBOARD = [
  {
    name: "keyboard-only",
    setting: {},
    async run(stage) {
      const { diff, steps, workbench, world } = stage;
      const { keyboard } = stage.browser.page;
      const changed = withLine(LIST, "theta", "Theta");
      const agent = await stage.agent("By keys");
      await agent.step("Write by keys", { "keys.txt": LIST });
      await agent.step("Change by keys", { "keys.txt": changed });
      const step = await stage.stepRow("By keys", "Change by keys");

      await steps.focusByKeys();
      await keyboard.press("Home");
      await steps.isFocused(steps.row("By keys"));
      await keyboard.press("ArrowDown");
      await steps.isFocused(step);
      await keyboard.press("ArrowRight");
      await untilEqual("the step is unfolded", () => step.getAttribute("aria-expanded"), "true");
      const file = await steps.fileOf(step, "keys.txt");
      await keyboard.press("ArrowDown");
      await steps.isFocused(file);
      await keyboard.press("Enter");
      await diff.shows(LIST, changed);

      await steps.focusByKeys();
      // a key that comes before is the editor's
      await steps.isFocused(file);
      await keyboard.press("ArrowUp");
      await steps.isFocused(step);
      await keyboard.press("Shift+F10");
      await workbench.chooseByKeys("Undo This Step");
      await workbench.told(/Undid step 2/);
      await untilEqual("keys.txt", () => world.read("keys.txt"), LIST);
      await keyboard.press("Control+Alt+r");
      await workbench.told(/Redid step 2/);
      await untilEqual("keys.txt", () => world.read("keys.txt"), changed);
      await keyboard.press("Control+Alt+u");
      await untilEqual("keys.txt", () => world.read("keys.txt"), LIST);

      await workbench.clearNotifications();
      await keyboard.press("Control+Alt+s");
      await until("the snapshot is told", async () => (await workbench.toldBefore()).some((text) => TAKEN.test(text)));
      await until("the step is undone", async () => ((await step.textContent()) ?? "").includes("undone"));
    },
  },
];
