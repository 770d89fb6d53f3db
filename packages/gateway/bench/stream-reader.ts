import { microsecondsBetween, numberDigits, stampDigits } from "./deltas.ts";
import type { Wire } from "./streams.ts";

/** Finds the stamps in a stream of any wire, and checks that it is complete. */
export class StreamReader {
  chunks = 0;

  readonly #wire: Wire;
  readonly #expected: readonly string[];
  #rest = "";
  #problem: string | undefined;
  #finished = false;

  constructor(wire: Wire, expected: readonly string[]) {
    this.#wire = wire;
    this.#expected = expected;
  }

  read(bytes: Buffer, now: number, lags: number[]): void {
    const text = this.#rest + bytes.toString("latin1");
    let index = 0;
    for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n", index)) {
      this.#event(text, index, end, now, lags);
      index = end + 2;
    }
    this.#rest = text.slice(index);
  }

  problem(): string | undefined {
    if (this.#problem !== undefined) return this.#problem;
    if (this.#rest.trim() !== "") return `cut off in an event: ${this.#rest.slice(0, 200)}`;
    if (this.chunks !== this.#expected.length)
      return `${this.chunks} chunks instead of ${this.#expected.length}`;
    return this.#finished ? undefined : "ended without its last event";
  }

  #event(text: string, start: number, end: number, now: number, lags: number[]): void {
    if (this.#finished && !text.startsWith("data: [DONE]", start))
      this.#problem ??= `more after the end: ${text.slice(start, Math.min(end, start + 200))}`;
    if (this.#wire === "chat") {
      if (text.startsWith("data: [DONE]", start)) this.#finished = true;
      else this.#stamps(text, start, end, now, lags);
      return;
    }
    if (this.#wire === "messages") {
      if (text.startsWith("event: message_stop\n", start)) this.#finished = true;
      else this.#stamps(text, start, end, now, lags);
      return;
    }
    const event = text.slice(start, end);
    if (event.includes('.delta"')) this.#stamps(text, start, end, now, lags);
    else if (event.includes('"type":"response.completed"')) {
      this.#finished = true;
      // This event repeats all deltas.
      const repeated = event.split("@").length - 1;
      if (repeated !== this.#expected.length)
        this.#problem ??= `response.completed holds ${repeated} of ${this.#expected.length} chunks`;
    }
  }

  #stamps(text: string, start: number, end: number, now: number, lags: number[]): void {
    for (
      let index = text.indexOf("@", start);
      index !== -1 && index < end;
      index = text.indexOf("@", index + 1)
    ) {
      const expected = this.#expected[this.chunks];
      const number = Number(text.slice(index + 1, index + 1 + numberDigits));
      if (
        expected === undefined ||
        number !== this.chunks ||
        !text.startsWith(expected, index - expected.length)
      )
        this.#problem ??= `not chunk ${this.chunks}: ${text.slice(index - 20, index + 20)}`;
      const sent = Number(
        text.slice(index + 2 + numberDigits, index + 2 + numberDigits + stampDigits),
      );
      lags.push(microsecondsBetween(sent, now) / 1000);
      this.chunks += 1;
    }
  }
}
