/** The colours of a text by its language. Grammars are loaded when the first file of their language is shown. */
import type { Parser, Tree } from "@lezer/common";
import { classHighlighter, highlightTree } from "@lezer/highlight";
import type { Token } from "../model/segments";

const script = (dialect: string) => async () =>
  (await import("@lezer/javascript")).parser.configure({ dialect }) as Parser;
const c = async () => (await import("@lezer/cpp")).parser as Parser;
const css = async () => (await import("@lezer/css")).parser as Parser;
const markdown = async () => {
  const { parser, GFM } = await import("@lezer/markdown");
  return parser.configure(GFM) as Parser;
};
const xml = async () => (await import("@lezer/xml")).parser as Parser;
const yaml = async () => (await import("@lezer/yaml")).parser as Parser;

/** By the ends of names. */
const GRAMMARS: Readonly<Record<string, () => Promise<Parser>>> = {
  c,
  cc: c,
  cjs: script(""),
  cpp: c,
  css,
  cts: script("ts"),
  cxx: c,
  go: async () => (await import("@lezer/go")).parser,
  h: c,
  hpp: c,
  htm: async () => (await import("@lezer/html")).parser,
  html: async () => (await import("@lezer/html")).parser,
  java: async () => (await import("@lezer/java")).parser,
  js: script("jsx"),
  json: async () => (await import("@lezer/json")).parser,
  jsonc: async () => (await import("@lezer/json")).parser,
  jsx: script("jsx"),
  less: css,
  markdown,
  md: markdown,
  mjs: script("jsx"),
  mts: script("ts"),
  php: async () => (await import("@lezer/php")).parser,
  py: async () => (await import("@lezer/python")).parser,
  pyi: async () => (await import("@lezer/python")).parser,
  rs: async () => (await import("@lezer/rust")).parser,
  scss: css,
  svg: xml,
  ts: script("ts"),
  tsx: script("jsx ts"),
  xml,
  yaml,
  yml: yaml,
};

/** The grammar of a file, by its name; undefined where there is none. */
export async function languageOf(file: string): Promise<Parser | undefined> {
  const end = /\.([a-z]+)$/i.exec(file)?.[1]?.toLowerCase() ?? "";
  return Object.hasOwn(GRAMMARS, end) ? GRAMMARS[end]?.() : undefined;
}

/** Milliseconds of work between two pauses, in which the page draws. */
const SLICE = 12;

/**
 * The colours of a text.
 *
 * @returns Those of each line, ordered, with indexes within the line.
 */
export async function tokensOf(parser: Parser, text: string): Promise<Token[][]> {
  const tree = await parsed(parser, text);
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  const lines: Token[][] = starts.map(() => []);
  let line = 0;
  highlightTree(tree, classHighlighter, (from, to, style) => {
    while ((starts[line + 1] ?? Infinity) <= from) line += 1;
    // what spans lines has a part in each
    for (let at = line; (starts[at] ?? Infinity) < to; at += 1) {
      const [start, end] = [starts[at] ?? 0, (starts[at + 1] ?? text.length + 1) - 1];
      const token = { from: Math.max(0, from - start), to: Math.min(to, end) - start, style };
      if (token.to > token.from) lines[at]?.push(token);
    }
  });
  return lines;
}

async function parsed(parser: Parser, text: string): Promise<Tree> {
  const parse = parser.startParse(text);
  let since = performance.now();
  for (;;) {
    const tree = parse.advance();
    if (tree !== null) return tree;
    if (performance.now() - since > SLICE) {
      await new Promise((resolve) => setTimeout(resolve));
      since = performance.now();
    }
  }
}
