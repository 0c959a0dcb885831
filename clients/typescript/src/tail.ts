const KEPT_CHARACTERS = 8192;
const LONGEST_LINE = 4096;

/** Cuts what a command writes into lines, and keeps the last of it. */
export class Tail {
  readonly #onLine: (line: string) => void;
  #kept = "";
  #line = "";

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  /** What was written last, without the line ends around it. */
  get text(): string {
    return this.#kept.trim();
  }

  take(text: string): void {
    this.#kept = (this.#kept + text).slice(-KEPT_CHARACTERS);
    const lines = (this.#line + text).split(/\r?\n/);
    this.#line = lines.pop() ?? "";
    lines.forEach(this.#report, this);
    while (this.#line.length > LONGEST_LINE) {
      this.#onLine(this.#line.slice(0, LONGEST_LINE));
      this.#line = this.#line.slice(LONGEST_LINE);
    }
  }

  /** Nothing more will be written. */
  end(): void {
    this.#report(this.#line);
    this.#line = "";
  }

  #report(line: string): void {
    if (line !== "") {
      this.#onLine(line);
    }
  }
}
