/** What steps changed, as it is drawn. */
import assert from "node:assert/strict";
import { picture } from "../../../../vscode-extension/e2e/picture.mjs";
import { until, untilEqual } from "../../../../vscode-extension/e2e/waiting.mjs";

const lines = (/** @type {number} */ count) => Array.from({ length: count }, (_, at) => `line ${at + 1}`);
const text = (/** @type {string[]} */ all) => `${all.join("\n")}\n`;

/** A needle on line 400 of many. */
const HAYSTACK = `${"hay\n".repeat(399)}hay (needle) hay\n${"hay\n".repeat(100)}`;

/** Whether something is within the window. @param {import("playwright-core").Locator} what */
const isSeen = (what) =>
  what.evaluate((one) => {
    const { top, bottom } = one.getBoundingClientRect();
    return top >= 0 && bottom <= window.innerHeight;
  });

/** @type {import("./index.mjs").Scenario[]} */
export const LOOKING = [
  {
    name: "what-a-step-ran",
    async run(stage) {
      const { page } = stage;
      const agent = await stage.agent("claude", "Format it");
      const begin = (/** @type {object} */ more) =>
        agent.request("step/begin", { sessionId: agent.sessionId, tool: "Bash", ...more });
      const formatting = await begin({ description: "Format the page", command: "npx prettier --write \\\n  src" });
      await agent.write({ "a.js": "a;\n" });
      await agent.end(formatting.stepId);
      const looking = await begin({ description: "Only look", partId: "call-2" });
      await agent.end(looking.stepId);
      await stage.row("Format the page").filter({ hasText: "1 file" }).click();
      const command = page.getByRole("region", { name: "Command" });
      await untilEqual("the command", () => command.textContent(), "npx prettier --write \\\n  src");
      await stage.checkAccess();
      assert.equal(await stage.row("Only look").count(), 0, "a call that changed nothing is left out");
    },
  },
  {
    name: "a-step-and-its-diff",
    async run(stage) {
      const { page, world } = stage;
      const before = lines(100);
      world.write("long.txt", text(before));
      const agent = await stage.agent("claude", "Look at it");
      await agent.prompt("Change two lines.\nAnd say why.");
      const after = before.with(29, "line thirty").toSpliced(80, 0, "a new line");
      const stepId = await agent.step("Change two lines", {
        "long.txt": text(after),
        "new.py": "def f():\n    return 'x'\n",
      });
      await stage.row("Change two lines").filter({ hasText: "2 files" }).click();
      await untilEqual("the hunks as git draws them", () => stage.lines("long.txt"), [
        " line 27",
        " line 28",
        " line 29",
        "−line 30",
        "+line thirty",
        " line 31",
        " line 32",
        " line 33",
        " line 78",
        " line 79",
        " line 80",
        "+a new line",
        " line 81",
        " line 82",
        " line 83",
      ]);
      assert.deepEqual(await stage.file("long.txt").locator(".word").allTextContents(), ["30", "thirty"]);
      await untilEqual("colours of Python", () => stage.file("new.py").locator(".tok-keyword").allTextContents(), [
        "def",
        "return",
      ]);

      // the lines between are there when they are asked for
      const gaps = stage.file("long.txt").locator(".gap");
      await gaps
        .filter({ hasText: "44 unchanged lines" })
        .getByRole("button", { name: "Show 20 more lines above" })
        .click();
      await gaps.filter({ hasText: "24 unchanged lines" }).waitFor();
      await untilEqual("twenty lines more", async () => (await stage.lines("long.txt")).slice(8, 10), [
        " line 58",
        " line 59",
      ]);
      await gaps
        .filter({ hasText: "24 unchanged lines" })
        .getByRole("button", { name: "Show 20 more lines below" })
        .click();
      await gaps.filter({ hasText: "4 unchanged lines" }).getByRole("button", { name: "Show 4 lines" }).click();
      await untilEqual("all between the two hunks", async () => (await stage.lines("long.txt")).length, 15 + 44);
      await gaps.last().getByRole("button").first().click();
      await until("the end of the file", async () => (await stage.lines("long.txt")).includes(" line 100"));

      // split shows both sides
      await stage.press("Split");
      await untilEqual(
        "a pair",
        () => stage.file("long.txt").locator(".pair").filter({ hasText: "thirty" }).locator(".code").allTextContents(),
        ["line 30", "line thirty"],
      );
      await stage.checkAccess();
      await stage.shot("split");
      await page.reload();
      await stage.file("long.txt").locator(".pair").first().waitFor();
      await page.keyboard.press("v");
      await untilEqual("unified again", async () => (await stage.lines("long.txt")).length, 15);

      // a folded file is folded, and the other one is where it was
      await stage.file("long.txt").getByRole("button", { name: "Fold the file" }).click();
      await untilEqual("nothing of the file", () => stage.lines("long.txt"), []);
      assert.equal((await stage.lines("new.py")).length, 2);
      await stage.file("long.txt").getByRole("button", { name: "Unfold the file" }).click();
      await untilEqual("the file again", async () => (await stage.lines("long.txt")).length, 15);

      // the link can be kept, and sent to another browser
      await stage.row("new.py").click();
      const link = page.url();
      assert.match(link, new RegExp(`/step/${stepId}/file/new.py$`));
      const other = await stage.browser.open(stage.server.url);
      await other.locator(".page").waitFor();
      await other.goto(link);
      await other.getByRole("article", { name: "new.py" }).locator(".code").first().waitFor();
      assert.equal(
        await other.locator(".row[aria-current]").first().textContent(),
        await page.locator(".row[aria-current]").first().textContent(),
      );

      // the turn, with its prompt
      await page.getByRole("link", { name: "prompt", exact: true }).click();
      await untilEqual(
        "the whole prompt",
        () => page.locator(".prompt-text").textContent(),
        "Change two lines.\nAnd say why.",
      );
      await stage.file("new.py").waitFor();
      await stage.checkAccess();
      await page.goBack();
      await page.getByRole("heading", { name: "Change two lines", exact: true }).waitFor();
    },
  },
  {
    name: "files-of-all-kinds",
    async run(stage) {
      const { world, page } = stage;
      world.write("moved.txt", text(lines(30)));
      world.write("gone.txt", "gone\n");
      world.write("data.bin", Buffer.from([0, 1, 2, 0]));
      const agent = await stage.agent("claude", "All kinds");
      const step = await agent.begin("All kinds of files", "Bash");
      await agent.write({
        "moved.txt": null,
        "to/moved.txt": text(lines(30).with(3, "another")),
        "gone.txt": null,
        "data.bin": Buffer.from([0, 3, 0]),
        "assets/logo.png": picture([242, 129, 29], [255, 255, 255]),
        "drawing.svg":
          '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"><script>window.pwned = 1</script><rect width="20" height="20"/></svg>\n',
        "empty.txt": "",
        "open.txt": "no line break",
        "latin.txt": Buffer.from("caf\xe9\n", "latin1"),
        "windows.txt": "one\r\ntwo\r\n",
      });
      await agent.end(step);
      await stage.row("All kinds of files").filter({ hasText: "9 files" }).click();

      const show = (/** @type {string} */ file) => stage.row(file).last().click();
      const moved = stage.file("to/moved.txt");
      await show("to/moved.txt");
      await untilEqual(
        "a moved file is one",
        () =>
          moved
            .locator(".code")
            .allTextContents()
            .then((all) => all.filter((one) => /another|line 4$/.test(one))),
        ["line 4", "another"],
      );
      assert.match((await moved.locator(".file-head").textContent()) ?? "", /moved\.txt → to\/moved\.txt/);
      await show("gone.txt");
      await untilEqual("a deleted file", () => stage.lines("gone.txt"), ["−gone"]);
      await show("data.bin");
      await stage.file("data.bin").getByText("It is binary.").waitFor();
      await show("empty.txt");
      await stage.file("empty.txt").getByText("It is new and empty.").waitFor();
      await show("latin.txt");
      await untilEqual("Latin-1", () => stage.lines("latin.txt"), ["+café"]);
      await show("windows.txt");
      await untilEqual("line ends of Windows", () => stage.lines("windows.txt"), ["+one␍", "+two␍"]);
      await show("open.txt");
      await untilEqual("an open end", () => stage.file("open.txt").locator(".cut").count(), 1);

      // pictures, before and after, from the snapshots
      const sizes = () =>
        stage
          .file("assets/logo.png")
          .locator("img")
          .evaluateAll((all) => all.map((one) => /** @type {HTMLImageElement} */ (one).naturalWidth));
      await show("logo.png");
      await untilEqual("both pictures", sizes, [96, 96]);
      await stage.shot("picture");
      await stage.row("drawing.svg").click();
      await stage.file("drawing.svg").locator("img").waitFor();
      await untilEqual("its text too", async () => (await stage.lines("drawing.svg")).length, 1);
      assert.equal(await page.evaluate("window.pwned"), undefined);
      await stage.checkAccess();
    },
  },
  {
    name: "a-file-through-time",
    async run(stage) {
      const { world, page } = stage;
      world.write("story.txt", "once\nupon\na time\n");
      const agent = await stage.agent("claude", "Tell a story");
      await agent.step("Begin it", { "story.txt": "Once\nupon\na time\n" });
      await agent.step("Go on", { "story.txt": "Once\nupon\na time\nthere was\n" });
      world.write("story.txt", "Once\nupon\na time\nthere was\na cat\n");
      await agent.step("End it", { "story.txt": "Once\nupon\na time\nthere was\na cat\nThe end\n" });
      await stage.row("End it").filter({ hasText: "1 file" }).click();
      await page.getByRole("link", { name: "Versions of story.txt" }).click();
      const slider = page.getByRole("slider", { name: "Version of the file" });
      await slider.waitFor();
      await untilEqual("its versions", () => page.locator(".row.version .name").allTextContents(), [
        "End it",
        "You changed it",
        "Go on",
        "Begin it",
      ]);
      await untilEqual(
        "the last one",
        () => stage.lines("story.txt").then((all) => all.filter((one) => !one.startsWith(" "))),
        ["+The end"],
      );
      await slider.fill("0");
      await untilEqual(
        "the first one",
        () => stage.lines("story.txt").then((all) => all.filter((one) => !one.startsWith(" "))),
        ["−once", "+Once"],
      );
      await slider.focus();
      await page.keyboard.press("ArrowRight");
      await untilEqual(
        "the second one",
        () => stage.lines("story.txt").then((all) => all.filter((one) => !one.startsWith(" "))),
        ["+there was"],
      );
      await stage.press("Newer version");
      await untilEqual(
        "the user's",
        () => stage.lines("story.txt").then((all) => all.filter((one) => !one.startsWith(" "))),
        ["+a cat"],
      );
      await stage.checkAccess();

      await stage.press("Blame");
      const blamed = () =>
        page.locator(".blame-line").evaluateAll((all) =>
          all.map((one) =>
            [
              one
                .querySelector(".author")
                ?.textContent?.replace(/ *(now|\d+m)$/, "")
                .trim(),
              one.querySelector(".code")?.textContent,
            ].join("|"),
          ),
        );
      await untilEqual("who wrote what", blamed, [
        "claude Begin it|Once",
        "earlier|upon",
        "|a time",
        "claude Go on|there was",
        "you|a cat",
      ]);
      await stage.checkAccess();
      await stage.shot("blame");
      await page.reload();
      await untilEqual("the same after a reload", blamed, [
        "claude Begin it|Once",
        "earlier|upon",
        "|a time",
        "claude Go on|there was",
        "you|a cat",
      ]);
      // a new version is there at once
      await agent.step("One more", { "story.txt": "Once\n" });
      await page.locator(".row.version").filter({ hasText: "One more" }).waitFor();
    },
  },
  {
    name: "search",
    async run(stage) {
      const { page } = stage;
      const agent = await stage.agent("claude", "Find me");
      await agent.prompt("Write about the Needle in the haystack.");
      await agent.step("Hide it", { "hay.txt": HAYSTACK, "needle-work.txt": "thread\n" });
      await agent.step("Take it out", { "hay.txt": HAYSTACK.replace("hay (needle) hay\n", "") });
      await stage.row("Take it out").waitFor();
      await page.keyboard.press("/");
      await page.keyboard.type("needle");
      await page.keyboard.press("Enter");
      await page.getByText("3 hits").waitFor();
      assert.deepEqual(await page.locator(".hit-line").evaluateAll((all) => all.map((one) => one.textContent)), [
        "hay.txt:400hay (needle) hay",
        "hay.txt:400hay (needle) hay",
      ]);
      assert.deepEqual(await page.locator("mark").allTextContents(), ["needle", "needle", "Needle"]);
      await stage.checkAccess();
      await stage.shot("search");
      // it leads to the line, far down in the file, and not only to the file
      await page.locator(".hit-line.added").click();
      await page.locator(".is-current", { hasText: "hay (needle) hay" }).waitFor();
      await untilEqual("the line is seen", () => isSeen(page.locator(".line", { hasText: "hay (needle) hay" })), true);
      await stage.shot("found-line");
      await page.goBack();
      await page.locator(".hit").first().waitFor();
      await page.getByLabel("Changed lines").uncheck();
      await untilEqual("prompts and names alone", () => page.locator(".hit-line").count(), 0);
      await page.getByText("2 hits").waitFor();
      await page.getByRole("link", { name: "needle-work.txt" }).click();
      await untilEqual("the file that was found", () => stage.lines("needle-work.txt"), ["+thread"]);
      await page.goBack();
      await page.locator(".hit").first().waitFor();
      await page.locator("#search").fill("no such thing");
      await page.locator("#search").press("Enter");
      await page.getByText("Nothing found").waitFor();

      // the answer comes while one types; an older one, which comes later, does not take its place
      const asked = /** @type {string[]} */ ([]);
      await page.context().route("**/search?**", async (route) => {
        const text = new URL(route.request().url()).searchParams.get("q") ?? "";
        asked.push(text);
        if (text === "need") await new Promise((resolve) => setTimeout(resolve, 1000));
        // the page may have given the request up
        await route.continue().catch(() => undefined);
      });
      await page.locator("#search").fill("need");
      await untilEqual("it asks by itself", () => asked, ["need"]);
      await page.locator("#search").fill("hay (");
      await untilEqual("and asks again", () => asked, ["need", "hay ("]);
      await untilEqual("what was typed last", () => page.locator("mark").first().textContent(), "hay (");
      await page.waitForResponse("**/search?**", { timeout: 1500 }).catch(() => undefined);
      assert.equal(await page.locator("mark").first().textContent(), "hay (");
      assert.equal(await page.locator("#search").inputValue(), "hay (");
      await page.context().unroute("**/search?**");
    },
  },
];
