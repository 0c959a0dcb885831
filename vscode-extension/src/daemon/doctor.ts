// What `snapd doctor` found in each folder.

import type { Finished } from "./processes";

/** What was found in a folder. */
export interface Report {
  readonly folder: string;
  /** For people, one line a check. */
  readonly lines: readonly string[];
  /** The checks that failed. */
  readonly failed: readonly string[];
}

interface Check {
  readonly check: string;
  readonly ok: boolean;
  readonly found: string;
  readonly hint?: string;
}

/** The arguments that examine a folder. */
export function doctorArguments(folder: string): string[] {
  return ["doctor", "--json", "-C", folder];
}

/** Reads the answer of `snapd doctor --json`. */
export function reportOf(folder: string, { code, stdout, stderr }: Finished): Report {
  const checks = checksIn(stdout);
  if (checks === undefined) {
    const output = (stderr.trim() || stdout.trim()).split("\n");
    return { folder, lines: [`snapd doctor ended with code ${String(code)}`, ...output], failed: ["doctor"] };
  }
  return {
    folder,
    lines: checks.flatMap(({ check, ok, found, hint }) => [
      `${ok ? "ok " : "bad"} ${check.padEnd(9)} ${found}`,
      ...(hint === undefined ? [] : [`hint: ${hint}`]),
    ]),
    failed: checks.filter(({ ok }) => !ok).map(({ check }) => check),
  };
}

/** All reports in short. */
export function summaryOf(reports: readonly Report[]): string {
  const bad = reports.filter((report) => report.failed.length > 0);
  if (bad.length === 0) return "Snapd doctor: no problems found.";
  const found = bad.map(({ folder, failed }) => `${failed.join(", ")} (${folder})`).join("; ");
  return `Snapd doctor found problems: ${found}. The log has the details.`;
}

function checksIn(output: string): readonly Check[] | undefined {
  try {
    const answer: unknown = JSON.parse(output);
    if (typeof answer !== "object" || answer === null || !("checks" in answer)) return undefined;
    const { checks } = answer;
    return Array.isArray(checks) && checks.every(isCheck) ? checks : undefined;
  } catch {
    // output that is not JSON is shown unchanged
    return undefined;
  }
}

function isCheck(value: unknown): value is Check {
  const { check, ok, found, hint } = (value ?? {}) as Record<string, unknown>;
  const isRow = typeof check === "string" && typeof ok === "boolean" && typeof found === "string";
  return isRow && (hint === undefined || typeof hint === "string");
}
