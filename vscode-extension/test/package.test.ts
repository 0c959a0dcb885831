import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";

interface Menu {
  command: string;
  when?: string;
  group?: string;
}

/** A step of a walkthrough. */
interface Walk {
  title: string;
  description: string;
  media: { image: Record<"dark" | "light" | "hc" | "hcLight", string>; altText: string };
  completionEvents: string[];
}

interface Manifest {
  icon: string;
  capabilities: { untrustedWorkspaces: { supported: string; restrictedConfigurations: string[] } };
  contributes: {
    commands: { command: string; category: string; title: string; icon?: string }[];
    menus: Record<string, Menu[]>;
    keybindings: (Menu & { key: string; mac: string })[];
    views: Record<string, { id: string; icon: string }[]>;
    viewsContainers: { activitybar: { id: string; icon: string }[] };
    viewsWelcome: { view: string; contents: string; when?: string }[];
    walkthroughs: { steps: Walk[] }[];
    mcpServerDefinitionProviders: { id: string }[];
    configuration: { properties: Record<string, { markdownDescription: string; scope: string; default: unknown }> };
  };
}

const manifest = JSON.parse(readFileSync("package.json", "utf8")) as Manifest;
const { commands, menus, keybindings, views, viewsContainers, viewsWelcome, configuration } = manifest.contributes;
const walks = manifest.contributes.walkthroughs.flatMap(({ steps }) => steps);
const providers = manifest.contributes.mcpServerDefinitionProviders.map(({ id }) => id);
const declared = commands.map(({ command }) => command);
const viewIds = Object.values(views).flatMap((inContainer) => inContainer.map(({ id }) => id));
const settings = Object.keys(configuration.properties);
const menuItems = Object.values(menus).flat();
const sources = new Map(
  readdirSync("src", { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => [name, readFileSync(path.join("src", name), "utf8")]),
);
const source = [...sources.values()].join("\n");

// what the views give their items: see contextValue in src/views/items.ts
const CONTEXT_VALUES = [
  // of the view "Pending"; folders and the row for more files have no menu
  "pending",
  "session",
  "turn.applied",
  "turn.applied.prompt",
  "turn.partly",
  "turn.partly.prompt",
  "turn.undone",
  "turn.undone.prompt",
  "turn.open",
  "turn.open.prompt",
  // one that changed nothing, and of which no text is known, has no menu: "turn.empty"
  "turn.empty.prompt",
  "step.applied",
  "step.partly",
  "step.undone",
  "step.open",
  "user",
  "operation",
  "file.step",
  "file.git",
  "file.user",
  "file.operation",
];
/** What acts on all selected rows. */
const SEVERAL = ["snapd.revertFile", "snapd.stageStep"];
const STATES = ["starting", "ready", "reconnecting", "stopped", "failed", "untrusted", "disabled"];
// names that package.json does not know: the item of the status bar, what is kept of the filter, a group of settings
const OWN = ["snapd.status", "snapd.session", "snapd.blame"];
const CONTEXT_KEYS = ["snapd.state", "snapd.filtered", "snapd.hasPending", "snapd.editorHasPending"];

describe("commands", () => {
  it("are declared once, with the one category and titles of their own", () => {
    assert.deepEqual([...new Set(declared)], declared);
    assert.deepEqual([...new Set(commands.map(({ category }) => category))], ["Snapd"]);
    assert.equal(new Set(commands.map(({ title }) => title)).size, commands.length);
  });

  it("in menus, keybindings and links are declared", () => {
    const texts = [...viewsWelcome.map(({ contents }) => contents), ...walks.map(({ description }) => description)];
    const links = texts.flatMap((text) => [...text.matchAll(/\(command:(snapd\.\w+(?:\.focus)?)/g)]);
    const used = [...menuItems, ...keybindings]
      .map(({ command }) => command)
      .concat(links.map((link) => link[1] ?? ""));
    assert.deepEqual(
      used.filter((command) => !declared.includes(command) && !viewIds.includes(command.replace(/\.focus$/, ""))),
      [],
    );
  });

  it("are registered", () => {
    const registering = [...sources.values()].filter((text) => /\bregister(Text)?\w*Command/.test(text)).join("\n");
    assert.deepEqual(
      declared.filter((command) => !registering.includes(`"${command}"`)),
      [],
    );
  });

  it("have a title bar button only with an icon", () => {
    const buttons = menuItems.filter((item) => /^(inline|navigation)/.test(item.group ?? ""));
    const withIcon = new Set(commands.filter(({ icon }) => icon !== undefined).map(({ command }) => command));
    assert.deepEqual(
      buttons.filter(({ command }) => !withIcon.has(command)),
      [],
    );
  });

  it("of a view's title are none of its rows: VS Code hands the row that has the focus to both", () => {
    const onRows = new Set((menus["view/item/context"] ?? []).map(({ command }) => command));
    assert.deepEqual(
      (menus["view/title"] ?? []).filter(({ command }) => onRows.has(command)),
      [],
    );
  });

  it("that act on one row are not offered for several", () => {
    for (const { command, when, group } of menus["view/item/context"] ?? []) {
      if (group?.startsWith("inline") === true || SEVERAL.includes(command)) continue;
      assert.match(when ?? "", /^!listMultiSelection && /, command);
    }
  });

  it("have keys of their own, on every platform", () => {
    for (const keys of [keybindings.map(({ key }) => key), keybindings.map(({ mac }) => mac)]) {
      assert.equal(new Set(keys).size, keybindings.length);
    }
  });
});

describe("names in the source", () => {
  it("are declared: commands, views, settings and context keys", () => {
    const known = new Set([
      ...declared,
      ...viewIds,
      ...viewIds.map((id) => `${id}.focus`),
      ...settings,
      ...CONTEXT_KEYS,
      ...providers,
      ...OWN,
    ]);
    const used = new Set([...source.matchAll(/"(snapd\.[a-z]\w*(?:\.focus)?)"/g)].map((match) => match[1] ?? ""));
    assert.deepEqual(
      [...used].filter((name) => !known.has(name)),
      [],
    );
  });

  it("hold every setting and every context key", () => {
    const reading = sources.get("settings.ts") ?? "";
    assert.deepEqual(
      settings.filter((name) => !reading.includes(`"${name.replace("snapd.", "")}"`)),
      [],
    );
    assert.deepEqual(
      CONTEXT_KEYS.filter((name) => !source.includes(`"${name}"`)),
      [],
    );
  });
});

describe("the walkthrough", () => {
  it("ends its steps with commands and views that there are", () => {
    for (const event of walks.flatMap(({ completionEvents }) => completionEvents)) {
      const [kind, name = ""] = event.split(":");
      assert.ok((kind === "onCommand" ? declared : kind === "onView" ? viewIds : []).includes(name), event);
    }
  });
});

describe("when clauses", () => {
  const clauses = [...menuItems, ...keybindings, ...viewsWelcome].flatMap(({ when }) => when ?? []);

  it("ask for items that there are, and leave none without a menu", () => {
    const matched = new Set<string>();
    for (const clause of clauses) {
      const asked = /viewItem (?:== (\S+)|=~ \/(.+?)\/(?: |$))/.exec(clause);
      if (asked === null) continue;
      const pattern = new RegExp(asked[2] ?? `^${(asked[1] ?? "").replace(".", "\\.")}$`);
      const found = CONTEXT_VALUES.filter((value) => pattern.test(value));
      assert.notDeepEqual(found, [], clause);
      found.forEach((value) => matched.add(value));
    }
    assert.deepEqual([...matched].sort(), [...CONTEXT_VALUES].sort());
  });

  it("ask for context keys and states that there are", () => {
    for (const clause of clauses) {
      for (const [, key] of clause.matchAll(/(?<!== )\b(snapd\.\w+)/g)) {
        assert.ok(CONTEXT_KEYS.includes(key ?? ""), clause);
      }
      for (const [, state] of clause.matchAll(/snapd\.state == (\w+)/g))
        assert.ok(STATES.includes(state ?? ""), clause);
    }
  });

  it("give the view a welcome in every state", () => {
    const welcomed = viewsWelcome.flatMap(({ when }) => [...(when ?? "").matchAll(/snapd\.state == (\w+)/g)]);
    assert.deepEqual([...new Set(welcomed.map((match) => match[1]))].sort(), [...STATES].sort());
  });

  it("of welcomes are about views that there are", () => {
    assert.deepEqual(
      viewsWelcome.filter(({ view }) => !viewIds.includes(view)),
      [],
    );
  });
});

describe("files", () => {
  it("of icons exist", () => {
    const icons = [...viewsContainers.activitybar, ...Object.values(views).flat()].map(({ icon }) => icon);
    const inCommands = commands.flatMap(({ icon }) => (icon?.startsWith("$(") === true ? [] : (icon ?? [])));
    for (const icon of [manifest.icon, ...icons, ...inCommands]) assert.ok(existsSync(icon), icon);
  });

  it("of the walkthrough exist, for dark and light themes, and are packaged", () => {
    const packaged = readFileSync(".vscodeignore", "utf8");
    assert.ok(packaged.includes("!media/walkthrough/*.png"));
    for (const { title, media } of walks) {
      for (const [theme, file] of Object.entries(media.image)) {
        assert.ok(existsSync(file), file);
        assert.match(file, theme.startsWith("hc") ? /^media.walkthrough.[\w-]+\.png$/ : new RegExp(`-${theme}\\.png$`));
      }
      assert.notEqual(media.altText, "", title);
    }
  });

  it("hold a picture of 128 by 128 points", () => {
    const picture = readFileSync(manifest.icon);
    assert.equal(picture.toString("latin1", 1, 4), "PNG");
    assert.deepEqual([picture.readUInt32BE(16), picture.readUInt32BE(20)], [128, 128]);
  });

  it("hold the licence of the repository", () => {
    assert.equal(readFileSync("LICENSE", "utf8"), readFileSync("../LICENSE", "utf8"));
  });
});

describe("settings", () => {
  it("are described", () => {
    for (const [name, { markdownDescription }] of Object.entries(configuration.properties)) {
      assert.match(markdownDescription, /\.$/, name);
    }
  });

  it("that a folder could misuse are not read while it is not trusted", () => {
    const { supported, restrictedConfigurations } = manifest.capabilities.untrustedWorkspaces;
    assert.equal(supported, "limited");
    assert.deepEqual(restrictedConfigurations, ["snapd.path", "snapd.exclude", "snapd.maxFileSize"]);
    assert.equal(configuration.properties["snapd.path"]?.scope, "machine-overridable");
  });

  it("are in the README, with every command", () => {
    const readme = readFileSync("README.md", "utf8");
    for (const name of settings) assert.ok(readme.includes(`\`${name}\``), name);
    for (const { title } of commands) assert.ok(readme.includes(`**${title}**`), title);
  });
});
