/** One story from its begin to its end; what the documentation shows is taken here. */
import { picture } from "../../../../vscode-extension/e2e/picture.mjs";
import { untilEqual } from "../../../../vscode-extension/e2e/waiting.mjs";

const MONEY = `def euro(amount):
    """An amount as it stands on a bill."""
    return f"{amount:.2f} EUR"
`;

/** @type {import("./index.mjs").Scenario[]} */
export const PICTURES = [
  {
    name: "pictures",
    async run(stage) {
      const { page, world, browser, server } = stage;
      const basket = world.read("basket.py");
      const cheaper = basket.replace(
        "def discount(amount):\n    return amount\n",
        "def discount(amount, items=1):\n    # 5 % off from ten items on\n    return amount * 0.95 if items >= 10 else amount\n",
      );
      const euro = cheaper
        .replace("    return str(amount)", "    return euro(amount)")
        .replace('"""\n', '"""\n\nfrom money import euro\n');
      const coder = await stage.agent("claude", "Discounts and prices in euro");
      const writer = await stage.agent("codex", "Write about the shop");
      await coder.prompt("Give customers five percent off when they buy ten items or more, with a test.");
      await coder.step("Take 5 % off from ten items on", {
        "basket.py": cheaper,
        "tests/test_discount.py":
          "from basket import discount\n\n\ndef test_ten_items():\n    assert discount(100, items=10) == 95\n",
      });
      await writer.prompt("Describe the shop and its discounts.");
      await writer.step("Describe the shop", {
        "README.md": "# Basket\n\nA small shop. See docs/discounts.md.\n",
        "docs/discounts.md": "# Discounts\n\nTen items or more: **5 %** off.\n",
      });
      world.write("notes.md", "Ask Grace about the tax.\n");
      await coder.prompt("Show prices in euro everywhere, and make the logo orange.");
      const step = await coder.step("Show prices in euro", { "basket.py": euro, "money.py": MONEY });
      await coder.step("Make the logo orange", { "assets/logo.png": picture([242, 129, 29], [255, 255, 255]) });
      const late = await coder.step("Round half up", { "money.py": MONEY.replace(".2f", ".3f") });
      await coder.request("session/undo", { stepId: late });
      world.write("README.md", "# Basket\n\nA very small shop. See docs/discounts.md.\n");
      await coder.step("Look around", {});

      await stage.goTo("#/");
      const cards = page.locator(".session-card");
      await untilEqual("today", () => cards.locator(".prompts li").count(), 3);
      await page.getByRole("link", { name: /Review \d+ pending files/ }).waitFor();
      await stage.shot("web-today");
      await stage.checkAccess();

      const at = `#/session/${coder.sessionId}/step/${step}`;
      await stage.goTo(at);
      await stage.file("money.py").locator(".tok-keyword").first().waitFor();
      await stage.shot("web-step");
      await stage.checkAccess();
      const dark = await browser.open(server.url, { colorScheme: "dark", reducedMotion: "reduce" });
      await dark.locator(".page").waitFor();
      await dark.evaluate((to) => (location.hash = to), at);
      await dark.getByRole("article", { name: "money.py" }).locator(".tok-keyword").first().waitFor();
      await stage.shot("web-step-dark", dark);
      await stage.checkAccess(dark);
      await dark.evaluate(() => (location.hash = "#/review"));
      await dark.getByRole("article", { name: "basket.py" }).locator(".tok-keyword").first().waitFor();
      await stage.checkAccess(dark);

      const narrow = await browser.open(server.url, { viewport: { width: 390, height: 844 } });
      await narrow.locator(".session-card").first().waitFor();
      await stage.checkAccess(narrow);
      await stage.shot("web-narrow-today", narrow);
      await narrow.evaluate(() => (location.hash = "#/all"));
      await narrow.locator(".timeline .row").first().waitFor();
      await stage.checkAccess(narrow);
      await stage.shot("web-narrow-list", narrow);
      await narrow.locator(".row").filter({ hasText: "Show prices in euro" }).first().click();
      await narrow.locator(".code").first().waitFor();
      await untilEqual(
        "nothing is wider than the window",
        () => narrow.evaluate(() => document.documentElement.scrollWidth),
        390,
      );
      await stage.shot("web-narrow-step", narrow);
      await narrow.getByRole("link", { name: "Back to the timeline" }).click();
      await narrow.locator(".timeline .row").first().waitFor();

      await page.getByRole("link", { name: /Pending changes/ }).click();
      await stage.file("basket.py").locator(".tok-keyword").first().waitFor();
      await stage.shot("web-review");
      await stage.goTo(`#/file/basket.py`);
      await stage.file("basket.py").locator(".tok-keyword").first().waitFor();
      await stage.shot("web-versions");
      await page.getByRole("link", { name: /Write about the shop/ }).click();
      await stage.row("Describe the shop").filter({ hasText: "2 files" }).click();
      await stage.press("Undo step");
      await stage.dialog.getByRole("region", { name: /Conflict in README.md/ }).waitFor();
      await stage.shot("web-conflict");
      await page.keyboard.press("Escape");
    },
  },
];
