/** Links that stand in many places. */
import type { FileChange } from "@snapd/client";
import type { JSX } from "preact";
import { exactName, visible } from "../model/names";
import { fragmentOf } from "../model/route";
import { Icon } from "./icons";

/** Leads to the versions of a file. */
export function HistoryLink({ file }: { readonly file: FileChange }): JSX.Element {
  const label = `Versions of ${visible(file.file)}`;
  return (
    <a class="button" href={fragmentOf({ page: "file", file: exactName(file) })} aria-label={label} title={label}>
      <Icon name="history" />
    </a>
  );
}
