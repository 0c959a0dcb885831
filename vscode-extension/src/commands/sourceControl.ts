// The repository of a folder, as VS Code's own git extension shows it.

import { type Uri, extensions } from "vscode";

/** What is used of the API of that extension, in its first version. */
interface GitExtension {
  readonly enabled: boolean;
  getAPI(version: 1): {
    getRepository(uri: Uri): Repository | null;
  };
}

interface Repository {
  /** The field for the message of the next commit. */
  readonly inputBox: { value: string };
  /** Reads anew what is staged. */
  status(): Promise<void>;
}

/**
 * Shows what was staged in the repository of a folder, and proposes a message for the next commit.
 *
 * @returns whether the message is there: not where git is off, does not have the folder, or has a message already.
 */
export async function proposeCommit(folder: Uri, message: string): Promise<boolean> {
  const git = await extensions.getExtension<GitExtension>("vscode.git")?.activate();
  const repository = git?.enabled === true ? git.getAPI(1).getRepository(folder) : null;
  if (repository === null) return false;
  await repository.status();
  if (repository.inputBox.value.trim() !== "") return false;
  repository.inputBox.value = message;
  return true;
}
