/** What happens to a field of a client's request. Fields that cannot be translated are refused with a `WireError`. */
export interface FieldOutcome {
  /** The path of the field; `[]` stands for every element. */
  path: string;
  outcome: "preserved" | "translated" | "dropped";
  /** The upstream's field, or why the field was dropped. */
  detail: string;
}

/** Collects the outcome of each field, so that nothing is lost without a trace. */
export class FieldReport {
  readonly #outcomes = new Map<string, FieldOutcome>();

  preserve(path: string): void {
    this.#add({ path, outcome: "preserved", detail: path });
  }

  translate(path: string, target: string): void {
    this.#add({ path, outcome: "translated", detail: target });
  }

  drop(path: string, reason: string): void {
    this.#add({ path, outcome: "dropped", detail: reason });
  }

  /** True if the outcome of the field, or of a part of it, is known. */
  has(path: string): boolean {
    return this.#outcomes.has(path);
  }

  /** One outcome per path, in the order in which the fields were read. A loss replaces other outcomes. */
  get outcomes(): FieldOutcome[] {
    return [...this.#outcomes.values()];
  }

  #add(outcome: FieldOutcome): void {
    const known = this.#outcomes.get(outcome.path);
    if (known === undefined || outcome.outcome === "dropped")
      this.#outcomes.set(outcome.path, outcome);
  }
}
