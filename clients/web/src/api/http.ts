/** Requests to the server that the page came from: JSON in, JSON out. */
import { Problem } from "./problem";

/** Values of a query: undefined values are omitted, and a list gives one parameter for each value. */
export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/**
 * The address of a route, below the folder of the page.
 *
 * @param parts Each part of the path, unescaped: they may hold any character.
 */
export function address(parts: readonly string[], query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const one of Array.isArray(value) ? (value as readonly string[]) : [value]) search.append(name, String(one));
  }
  const path = `/${parts.map(encodeURIComponent).join("/")}`;
  return search.size > 0 ? `${path}?${search.toString()}` : path;
}

/**
 * Asks for something.
 *
 * @throws Problem if the server refuses, or does not answer.
 */
export async function get<T>(url: string, signal?: AbortSignal): Promise<T> {
  return (await json(await send(url, signal ? { signal } : {}))) as T;
}

/**
 * Has the server do something.
 *
 * @throws Problem if the server refuses, or does not answer.
 */
export async function post<T>(url: string, body: object): Promise<T> {
  const headers = { "Content-Type": "application/json" };
  return (await json(await send(url, { method: "POST", headers, body: JSON.stringify(body) }))) as T;
}

/**
 * The bytes of a file.
 *
 * @throws Problem if the server refuses, or does not answer.
 */
export async function bytes(url: string, signal?: AbortSignal): Promise<Uint8Array> {
  const answer = await send(url, signal ? { signal } : {});
  return new Uint8Array(await answer.arrayBuffer());
}

async function send(url: string, options: RequestInit): Promise<Response> {
  let answer;
  try {
    answer = await fetch(url, { credentials: "same-origin", cache: "no-store", ...options });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw Problem.unreachable();
  }
  if (!answer.ok) throw Problem.from(answer.status, await json(answer).catch(() => undefined));
  return answer;
}

async function json(answer: Response): Promise<unknown> {
  const text = await answer.text();
  return text === "" ? {} : JSON.parse(text);
}
