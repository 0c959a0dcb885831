// Which session alone is shown; remembered for the workspace.

import { type Memento, commands } from "vscode";
import { type Listen, Signal } from "../model/signal";

const KEY = "snapd.session";

/** The session that alone is shown. */
export class SessionFilter {
  readonly #memento: Memento;
  readonly #signal = new Signal();

  /**
   * @param memento - of the workspace.
   */
  constructor(memento: Memento) {
    this.#memento = memento;
    this.#tellMenus();
  }

  /** The name of the session; undefined where all are shown. */
  get sessionId(): string | undefined {
    return this.#memento.get<string>(KEY);
  }

  /** Shows one session alone, or all. */
  async choose(sessionId: string | undefined): Promise<void> {
    await this.#memento.update(KEY, sessionId);
    this.#tellMenus();
    this.#signal.emit();
  }

  /** Calls the listener when another session was chosen. */
  readonly onDidChange: Listen = this.#signal.listen;

  #tellMenus(): void {
    void commands.executeCommand("setContext", "snapd.filtered", this.sessionId !== undefined);
  }
}
