// Putting what steps changed into the git index. `snapd stage` does it, with the user's own git.

import type { ActingFolder } from "./action";
import { capitalized, counted } from "../model/wording";
import { Refused } from "./errors";
import { absolutePath, listed } from "./names";
import type { Notice } from "./ui";
import type { Finished, World } from "./world";

/** The used part of the answer of `snapd stage --json`. */
interface Staged {
  readonly files: readonly { readonly file: string }[];
  readonly left: readonly { readonly file: string }[];
  readonly alreadyStaged: number;
  readonly message: string;
}

interface Failure {
  readonly message: string;
  readonly hint: string;
  readonly files?: readonly { readonly file: string }[];
}

/**
 * Stages what some steps changed, and proposes the message of the commit.
 *
 * @param whose - whose changes they are, within a sentence: "step 3".
 * @returns the message about it.
 * @throws Refused - nothing was staged; the message says why. Error - snapd could not be run.
 */
export async function stageSteps(
  world: World,
  folder: Pick<ActingFolder, "uri" | "name">,
  stepIds: readonly string[],
  whose: string,
): Promise<Notice> {
  const root = absolutePath(folder.uri, { file: "" });
  const finished = await world.ui.busy("Staging", () =>
    world.run(["stage", "--json", "--here", "-C", root, ...stepIds]),
  );
  const staged = stagedBy(finished);
  const sentences: string[] = [];
  if (staged.files.length > 0) {
    const isProposed = await world.ui.proposeCommit(folder.uri, staged.message);
    sentences.push(`Staged what ${whose} changed: ${listed(staged.files.map(({ file }) => file))}.`);
    if (isProposed) sentences.push("A commit message is ready in Source Control.");
    if (staged.alreadyStaged > 0)
      sentences.push(
        `${counted(staged.alreadyStaged, "other file was", "other files were")} staged already and will be in the commit, too.`,
      );
  } else {
    sentences.push(
      `There was nothing to stage: everything that ${whose} changed is in the index already, or was undone.`,
    );
  }
  if (staged.left.length > 0)
    sentences.push(
      `Left out, because git ignores it or the same lines have changed since: ${listed(staged.left.map(({ file }) => file))}.`,
    );
  return { severity: staged.left.length > 0 ? "warning" : "info", message: sentences.join(" "), buttons: [] };
}

function stagedBy({ stdout, stderr }: Finished): Staged {
  const answer = parsed(stdout);
  if (answer !== undefined && "error" in answer) throw new Refused(explained(answer["error"] as Failure));
  if (answer === undefined || !Array.isArray(answer["files"]) || !Array.isArray(answer["left"]))
    throw new Error(`snapd stage gave no answer: ${(stderr.trim() || stdout.trim()).slice(0, 500)}`);
  return answer as unknown as Staged;
}

function explained({ message, hint, files = [] }: Failure): string {
  const named = files.length > 1 ? ` (${listed(files.map(({ file }) => file))})` : "";
  return `${capitalized(message)}${named}. ${capitalized(hint)}.`;
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const found: unknown = JSON.parse(text);
    return typeof found === "object" && found !== null ? (found as Record<string, unknown>) : undefined;
  } catch {
    // a snapd that is too old for the command prints its usage
    return undefined;
  }
}
