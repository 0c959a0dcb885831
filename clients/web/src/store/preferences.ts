/** What the person has chosen for this browser. */
import { effect, signal } from "@preact/signals";
import type { Layout } from "../model/rows";

const LAYOUT = "snapd.layout";

export const layout = signal<Layout>(localStorage.getItem(LAYOUT) === "split" ? "split" : "unified");

effect(() => {
  localStorage.setItem(LAYOUT, layout.value);
});
