// Asks the Python extension, where there is one, which interpreters are selected.

import * as vscode from "vscode";
import type { Logger } from "@snapd/client";

/** What of the Python extension's interface is used here. */
interface PythonExtension {
  readonly environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { readonly path: string };
    resolveEnvironment(environment: {
      readonly path: string;
    }): Promise<{ readonly executable: { readonly uri?: vscode.Uri } } | undefined>;
  };
}

const ANSWER_TIMEOUT = 10_000;

/** The interpreters that are selected for the folders; none where the Python extension is not there or does not answer. */
export async function selectedPythons(folders: readonly vscode.Uri[], log: Logger): Promise<readonly string[]> {
  const found = new Set<string>();
  try {
    const python = await inTime(pythonExtension());
    if (python === undefined) return [];
    for (const folder of folders) {
      const environment = python.environments.getActiveEnvironmentPath(folder);
      const executable = (await inTime(python.environments.resolveEnvironment(environment)))?.executable.uri;
      if (executable !== undefined) found.add(executable.fsPath);
    }
  } catch (error) {
    // another extension's trouble is no reason not to look elsewhere
    log.warn(`the Python extension: ${error instanceof Error ? error.message : String(error)}`);
  }
  return [...found];
}

async function pythonExtension(): Promise<PythonExtension | undefined> {
  const extension = vscode.extensions.getExtension<PythonExtension>("ms-python.python");
  return extension?.activate();
}

function inTime<T>(answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Error(`no answer within ${String(ANSWER_TIMEOUT)} ms`));
    }, ANSWER_TIMEOUT);
    answer.then(resolve, reject).finally(() => {
      clearTimeout(timer);
    });
  });
}
