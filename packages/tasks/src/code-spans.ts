/** A `[^n]` and where it begins. */
export interface Marker {
  reference: number;
  start: number;
}

type Token = Marker | { run: number; escaped: boolean };

/** The backticks of one paragraph. An opening run is code only if a run of the same length follows. */
export class CodeSpans {
  #open = 0;
  /** What came since the open run, for the case that nothing closes it. */
  #since: Token[] = [];

  run(length: number, escaped: boolean): void {
    if (this.#open === 0) {
      this.#open = opening({ run: length, escaped });
    } else if (this.#open === length) {
      this.#open = 0;
      this.#since = [];
    } else {
      this.#since.push({ run: length, escaped });
    }
  }

  /** Whether it certainly stands outside of code. */
  marker(marker: Marker): boolean {
    if (this.#open === 0) return true;
    this.#since.push(marker);
    return false;
  }

  /** The markers that turned out to stand outside of code. */
  end(): Marker[] {
    if (this.#open === 0) return [];
    const tokens = this.#since;
    this.#open = 0;
    this.#since = [];
    const partners = partnersOf(tokens);
    const markers: Marker[] = [];
    for (let at = 0; at < tokens.length; at += 1) {
      const token = tokens[at];
      if (token === undefined) break;
      if ("run" in token) at = partners[at] ?? at;
      else markers.push(token);
    }
    return markers;
  }
}

/** For every run the place of the next one that would close it. */
function partnersOf(tokens: readonly Token[]): (number | undefined)[] {
  const next = new Map<number, number>();
  const partners: (number | undefined)[] = Array.from({ length: tokens.length });
  for (let at = tokens.length - 1; at >= 0; at -= 1) {
    const token = tokens[at];
    if (token === undefined || !("run" in token)) continue;
    partners[at] = next.get(opening(token));
    next.set(token.run, at);
  }
  return partners;
}

/** A backslash takes the first backtick of a run that would open code; inside code it is a backslash. */
function opening({ run, escaped }: { run: number; escaped: boolean }): number {
  return escaped ? run - 1 : run;
}
