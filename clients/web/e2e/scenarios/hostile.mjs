/** Names and contents that want to be something else. */
import assert from "node:assert/strict";
import { untilEqual } from "../../../../vscode-extension/e2e/waiting.mjs";

const SCRIPT = "<script>window.pwned = 1</script>";
const IMAGE = "<img src=x onerror='window.pwned = 1'>";
const TEXT = `${SCRIPT}${IMAGE}"'\`&amp;\u202egnp.exe\u0007\u001b[31m`;

const NAMES = [
  "<img src=x onerror=alert(1)>.txt",
  '"onmouseover=alert(1) x="',
  "javascript:alert(1)",
  "line\nbreak.md",
  "right\u202egnp.txt",
  "..%2f..%2fetc%2fpasswd",
  "#frag?query=1&a=b.txt",
  "-rf.txt",
  "__proto__",
  "constructor",
  "%s%n%00",
  " leading and trailing ",
  "emoji 😀 ümlaut.txt",
  `${"x".repeat(250)}`,
];

/** @type {import("./index.mjs").Scenario[]} */
export const HOSTILE = [
  {
    name: "hostile-names-and-contents",
    async run(stage) {
      const { page } = stage;
      const agent = await stage.agent(TEXT, `Title ${TEXT}`);
      await agent.prompt(`Prompt ${TEXT}\n${IMAGE}`);
      const changes = Object.fromEntries(NAMES.map((name) => [`dir <b>/${name}`, `${TEXT}\n${name}\n`]));
      await agent.step(`Step ${TEXT}`, changes);
      await stage
        .row("Step")
        .filter({ hasText: `${NAMES.length} files` })
        .click();
      await untilEqual("a row for each file", () => page.locator(".row.file").count(), NAMES.length);
      await page.goto(`${page.url()}/file/${encodeURIComponent(`dir <b>/${NAMES[0]}`)}`);
      await untilEqual("its text is text", async () => (await stage.lines(`dir <b>/${NAMES[0]}`))[1], `+${NAMES[0]}`);
      const shown = (await stage.lines(`dir <b>/${NAMES[0]}`))[0] ?? "";
      assert.ok(shown.startsWith(`+${SCRIPT}${IMAGE}`));
      assert.ok(shown.includes("⟨U+202E⟩") && shown.includes("⟨U+0007⟩") && shown.includes("⟨U+001B⟩"));
      await stage.shot("hostile");

      // each of them through time, and to blame
      for (const name of [NAMES[0], NAMES[3], NAMES[5], NAMES[6], NAMES[8]]) {
        await stage.goTo(`#/file/${encodeURIComponent(`dir <b>/${name}`)}/blame`);
        await untilEqual(
          `the lines of ${JSON.stringify(name)}`,
          () => page.locator(".blame-line").count(),
          name === NAMES[3] ? 3 : 2,
        );
        await page.getByText("1 / 1").waitFor();
      }
      await page.getByRole("link", { name: /Pending changes/ }).click();
      await untilEqual("all of it is pending", () => page.locator(".row.pending").count(), NAMES.length);
      await page
        .locator(".row.pending")
        .filter({ hasText: NAMES[0] ?? "" })
        .click();
      await stage.press(`Keep dir <b>/${NAMES[0]}`);
      await untilEqual("one is kept", () => page.locator(".row.pending").count(), NAMES.length - 1);
      await stage.press("Undo all");
      await stage.dialog.getByText(`${NAMES.length - 1} files will be deleted`).waitFor();
      await stage.checkAccess();
      await page.keyboard.press("Escape");

      await page.keyboard.press("/");
      await page.keyboard.type(IMAGE);
      await page.keyboard.press("Enter");
      await page.locator(".hit").first().waitFor();
      await page.getByText(/Search for/).waitFor();
      assert.equal(await page.evaluate("window.pwned"), undefined);
      assert.equal(await page.locator("img").count(), 0);
      assert.equal(await page.locator("#app script").count(), 0);
    },
  },
  {
    name: "hostile-addresses",
    async run(stage) {
      const { page } = stage;
      const agent = await stage.agent("claude", "Real");
      await agent.step("Real", { "a.txt": "a\n" });
      for (const fragment of [
        "#/session/..%2f..%2fstatus",
        "#/session/none/step/none",
        "#/file/..%2f..%2fetc%2fpasswd",
        "#/all/change/xx/yy",
        `#/search/${encodeURIComponent(IMAGE)}`,
        "#/file/%00",
        "#/%%%",
        "#token=",
      ]) {
        await stage.goTo(fragment);
        await page.locator(".timeline, .search-page, .today-page").first().waitFor();
      }
      assert.equal(await page.evaluate("window.pwned"), undefined);
      await stage.goTo("#/all");
      await stage.row("Real").waitFor();
    },
  },
];
