/** One story from its begin to its end; what the extension's README shows is taken here. */
import assert from "node:assert/strict";
import { HookedAgent } from "../hooked-agent.mjs";
import { untilEqual, untilMatches } from "../waiting.mjs";
import { replaced, withLine } from "./texts.mjs";

const PAGE = `# Discounts

Ten items or more: 5 % off.
`;

const MONEY = `def euro(amount):
    """An amount as it stands on a bill."""
    return f"{amount:.2f} EUR"
`;

const CHECKOUT = `"""What happens at the till."""

from money import euro

SHOP = "Basket"


def check(lines):
    """Refuses what nobody can pay for."""
    pass


def pay(lines):
    """What all of it costs."""
    total = 0
    for price, count in lines:
        total += price * count
    # TODO: is this right?
    return total


def bill(lines):
    """The lines of the bill, the total last."""
    shown = [f"{count} x {euro(price)}" for price, count in lines]
    shown.sort()
    total = pay(lines)
    return [SHOP, *shown, f"Total: {total}"]
`;

const TEST = `

def test_ten_items_are_cheaper():
    assert discount(100, items=10) == 95
`;

/** @type {import("./index.mjs").Scenario[]} */
export const PICTURES = [
  {
    name: "pictures",
    setting: {},
    async run(stage) {
      const { diff, multiDiff, steps, text, timeline, workbench, world } = stage;
      const [readme, basket, tests] = ["README.md", "basket.py", "tests/test_basket.py"].map((file) =>
        world.read(file),
      );
      assert.ok(readme !== undefined && basket !== undefined && tests !== undefined);
      const cheaper = replaced(
        basket,
        "def discount(amount):\n    return amount\n",
        "def discount(amount, items):\n    # 5 % off from ten items on\n    return amount * 0.95 if items >= 10 else amount\n",
      );
      const rounded = withLine(cheaper, "    return sum(prices)", "    return round(sum(prices), 2)");
      const euro = replaced(
        withLine(rounded, "    return str(amount)", "    return euro(amount)"),
        '"""\n',
        '"""\n\nfrom money import euro\n',
      );
      const writer = await stage.agent("Write about the discounts", "codex");
      await writer.step("Describe the shop", {
        "README.md": `${readme}See docs/discounts.md.\n`,
        "docs/discounts.md": PAGE,
      });
      const coder = await stage.agent("Discounts and prices in euro", "claude");
      await coder.step("Take 5 % off from ten items on", {
        "basket.py": cheaper,
        "tests/test_basket.py": tests + TEST,
      });
      await coder.step("Round the total to cents", { "basket.py": rounded });
      world.write("notes.md", "Ask Grace about the tax.\n");
      await coder.step("Show prices in euro", { "basket.py": euro, "money.py": MONEY });
      await stage.stepRow("Discounts and prices in euro", "Show prices in euro");

      await steps.click(await stage.fileRow("Discounts and prices in euro", "Show prices in euro", "basket.py"));
      await diff.shows(rounded, euro);
      await stage.shot("diff");

      await workbench.closeEditors();
      await steps.click(steps.row("Take 5 % off from ten items on"));
      await multiDiff.shows({ "test_basket.py": [tests, tests + TEST], "basket.py": [basket, cheaper] });
      await stage.shot("multi-diff");

      await workbench.closeEditors();
      await text.open("basket.py");
      await text.shows(euro);
      await steps.open();
      await steps.press(steps.row("Round the total to cents"), "Undo This Step");
      await workbench.told(/Undid step 2/);
      const merged = replaced(euro, "    return round(sum(prices), 2)", "    return sum(prices)");
      await untilEqual("basket.py", () => world.read("basket.py"), merged);
      await text.shows(merged);
      await steps.row("Round the total to cents").filter({ hasText: "undone" }).waitFor();
      await stage.shot("undo-notification");

      await workbench.clearNotifications();
      await stage.shot("steps-view");
      await timeline.open();
      await timeline.row("Show prices in euro").waitFor();
      await stage.shot("file-timeline");
      await timeline.fold();

      await workbench.closeEditors();
      const [mine, page] = [`${readme}The discounts are in docs/discounts.md.\n`, PAGE.replace("5 %", "7 %")];
      world.write("README.md", mine);
      world.write("docs/discounts.md", page);
      await steps.press(await stage.stepRow("Write about the discounts", "Describe the shop"), "Undo This Step");
      await workbench.pressInRow("docs/discounts.md", "Overwrite");
      await workbench.choices();
      assert.deepEqual([world.read("README.md"), world.read("docs/discounts.md")], [mine, page]);
      await stage.shot("conflict");
      await workbench.pick("Go On");
      await untilEqual("docs/discounts.md", () => world.exists("docs/discounts.md"), false);
      assert.equal(world.read("README.md"), mine);

      await workbench.clearNotifications();
      await workbench.run("Snapd: Keep All...");
      await workbench.answer("Keep All");
      await stage.pending.welcome.waitFor();
      await workbench.clearNotifications();
      world.write("checkout.py", CHECKOUT);
      const tidy = replaced(CHECKOUT, "    # TODO: is this right?\n", "");
      const tester = new HookedAgent(world, "checkout");
      tester.prompt("Refuse an empty basket");
      tester.edit(
        "checkout.py",
        replaced(tidy, "    pass\n", '    if not lines:\n        raise ValueError("empty")\n'),
      );
      tester.stop();
      const now = replaced(world.read("checkout.py"), "{total}", "{total:.2f}");
      await (await stage.agent("Bills", "codex")).step("Show cents on the bill", { "checkout.py": now });
      await text.open("checkout.py");
      await text.shows(now);
      await steps.open();
      await untilEqual("the hunks", () => text.lenses("Keep").count(), 3);
      await stage.shot("review");
      await workbench.run("Snapd: Toggle Line Blame");
      await text.goTo(11);
      await untilMatches("who wrote the line", () => text.lineEnd(), /^Claude Code, .* · Refuse an empty basket/);
      await stage.shot("blame-line");
    },
  },
];
