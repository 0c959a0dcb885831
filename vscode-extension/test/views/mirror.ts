// A view as VS Code has it: it knows nothing but what it asks for when it is told to refresh.

/** Where a view asks, as VS Code does. */
export interface Provider<T> {
  /** Undefined asks for the top. */
  below(item: T | undefined): readonly T[];
  row(item: T): string;
}

interface Row<T> {
  readonly item: T;
  text: string;
  below: readonly Row<T>[];
}

/** Shows a tree, all of it opened. */
export class Mirror<T> {
  readonly #provider: Provider<T>;
  #top: readonly Row<T>[] = [];
  /** How many rows were asked for. */
  asked = 0;

  constructor(provider: Provider<T>) {
    this.#provider = provider;
  }

  /** Asks anew for these objects and all below them; undefined stands for everything. Others are not known here. */
  refresh(items: readonly T[] | undefined): void {
    if (items === undefined) {
      this.#top = this.#ask(undefined);
      return;
    }
    for (const item of items) {
      const row = this.#find(item, this.#top);
      if (row === undefined) throw new Error("a refresh of what is not shown");
      const [text, below] = [this.#row(item), this.#ask(item)];
      Object.assign(row, { text, below });
    }
  }

  /** What is shown, those below indented. */
  get picture(): readonly string[] {
    const pictured = (rows: readonly Row<T>[], indent: string): string[] =>
      rows.flatMap(({ text, below }) => [`${indent}${text}`, ...pictured(below, `${indent}  `)]);
    return pictured(this.#top, "");
  }

  #ask(item: T | undefined): readonly Row<T>[] {
    return this.#provider.below(item).map((each) => ({ item: each, text: this.#row(each), below: this.#ask(each) }));
  }

  #row(item: T): string {
    this.asked += 1;
    return this.#provider.row(item);
  }

  #find(item: T, rows: readonly Row<T>[]): Row<T> | undefined {
    for (const row of rows) {
      const found = row.item === item ? row : this.#find(item, row.below);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}
