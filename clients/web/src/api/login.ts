/** The token that the address brings, once: it becomes a cookie that scripts cannot read. */
import { logIn } from "./routes";

const TOKEN = /^#token=([A-Za-z0-9._~-]+)$/;

/**
 * Gives the server the token of the address, if it has one, and takes it out of the address and of the history.
 *
 * @throws Problem if the server refuses it, or does not answer.
 */
export async function bringToken(): Promise<void> {
  const token = TOKEN.exec(location.hash)?.[1];
  if (token === undefined) return;
  history.replaceState(null, "", location.pathname + location.search);
  await logIn(token);
}
