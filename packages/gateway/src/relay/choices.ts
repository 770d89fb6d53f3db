import {
  chatError,
  type ChatChunk,
  type JsonObject,
  type ResponseUsage,
  type UpstreamFailure,
} from "@deltawire/wire";
import type { FailedOutcome, Outcome } from "../upstream/failure.ts";
import type { Output } from "./client-wire.ts";
import type { Receiver } from "./receiver.ts";

export interface ChoicesOptions {
  receiver: Receiver;
  signal: AbortSignal;
  sendOnce: (receiver: Receiver, signal: AbortSignal) => Promise<Outcome>;
  /** A failure as the client may read it. */
  textOf: (outcome: FailedOutcome) => string;
}

/**
 * Several answers (`n`) from an upstream that gives one: it is asked so many times, and the choices go out as one
 * reply. Before the first of them has said anything, the failure of one is the failure of all.
 */
export async function sendForEachChoice(
  count: number,
  { receiver, signal, sendOnce, textOf }: ChoicesOptions,
): Promise<Outcome> {
  const stop = new AbortController();
  const merged = new MergedChoices(receiver, count);
  const outcomes = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const until = AbortSignal.any([signal, stop.signal]);
      const outcome = await sendOnce(merged.receiverOf(index), until).catch((error: unknown) => {
        stop.abort();
        throw error;
      });
      if (outcome.is !== "answered" || outcome.failure !== undefined) stop.abort();
      return outcome;
    }),
  );
  const bad = outcomes.find((outcome) => outcome.is !== "answered" && outcome.is !== "left");
  if (bad !== undefined && !receiver.hasSent) return bad;
  if (bad !== undefined) merged.fail(textOf(bad));
  const { failure } = merged;
  const isWhole = failure !== undefined || outcomes.every(({ is }) => is === "answered");
  return isWhole ? { is: "answered", usage: usageOf(outcomes), failure } : { is: "left" };
}

function usageOf(outcomes: readonly Outcome[]): ResponseUsage | undefined {
  let sum: JsonObject | undefined;
  for (const outcome of outcomes)
    if (outcome.is === "answered" && outcome.usage !== undefined)
      sum = added(sum, { ...outcome.usage });
  return sum as ResponseUsage | undefined;
}

class MergedChoices {
  readonly #receiver: Receiver;
  readonly #open = new Set<number>();
  readonly #waiting: (() => void)[] = [];
  #id: string | undefined;
  #usageChunk: ChatChunk | undefined;
  #usage: JsonObject | undefined;
  /** Why there are fewer than were asked for. */
  failure: UpstreamFailure | undefined;

  constructor(receiver: Receiver, count: number) {
    this.#receiver = receiver;
    for (let index = 0; index < count; index += 1) this.#open.add(index);
  }

  receiverOf(index: number): Receiver {
    const receiver = this.#receiver;
    return {
      streams: receiver.streams,
      get hasSent() {
        return receiver.hasSent;
      },
      send: (outputs) => {
        const mine = outputs.flatMap((output) => this.#taken(output, index));
        return mine.length === 0 || receiver.send(mine, undefined);
      },
      // Those of one choice are enough.
      keepAlive: () => {
        const [first] = this.#open;
        if (index === first) receiver.keepAlive();
      },
      clear: () => receiver.clear(),
      end: (outputs, _bytes, failure) => {
        this.#open.delete(index);
        if (this.failure !== undefined) return;
        const last = outputs.flatMap((output) => this.#taken(output, index));
        if (failure !== undefined) this.#fail(failure, last);
        else if (this.#open.size === 0) this.#end(last);
        else if (last.length > 0) receiver.send(last, undefined);
      },
      whenReady: (go) => this.#whenReady(go),
    };
  }

  /** One listener for all choices. */
  #whenReady(go: () => void): void {
    this.#waiting.push(go);
    if (this.#waiting.length > 1) return;
    this.#receiver.whenReady(() => {
      for (const each of this.#waiting.splice(0)) each();
    });
  }

  fail(text: string): void {
    const code = "upstream_error";
    this.#fail({ code, message: `one of the choices failed: ${text}` }, []);
  }

  #fail(failure: UpstreamFailure, last: readonly Output[]): void {
    if (this.failure !== undefined) return;
    this.failure = failure;
    this.#receiver.end([...last, { error: chatError(failure) }], undefined, failure);
  }

  /** The chunks of one choice; its terminal event is left out. */
  #taken(output: Output, index: number): Output[] {
    if (output === "[DONE]" || this.failure !== undefined) return [];
    const chunk = output as ChatChunk;
    this.#id ??= chunk.id;
    if (chunk.usage) {
      this.#usage = added(this.#usage, chunk.usage);
      this.#usageChunk = chunk;
    }
    if ((chunk.choices ?? []).length === 0) return [];
    const choices = (chunk.choices ?? []).map((choice) => ({ ...choice, index }));
    return [{ ...chunk, ...(this.#id === undefined ? {} : { id: this.#id }), choices }];
  }

  #end(outputs: readonly Output[]): void {
    const last: Output[] = [...outputs];
    if (this.#usage !== undefined)
      last.push({
        ...this.#usageChunk,
        ...(this.#id === undefined ? {} : { id: this.#id }),
        choices: [],
        usage: this.#usage,
      });
    last.push("[DONE]");
    this.#receiver.end(last, undefined, undefined);
  }
}

/** Token counts of all choices; the prompt was paid for by each. */
function added(sum: JsonObject | undefined, usage: JsonObject): JsonObject {
  if (sum === undefined) return usage;
  const total: JsonObject = { ...sum };
  for (const [name, value] of Object.entries(usage)) {
    const present = total[name];
    if (typeof value === "number" && typeof present === "number") total[name] = present + value;
    else if (typeof value === "object" && value !== null && !Array.isArray(value))
      total[name] = added(present as JsonObject | undefined, value);
  }
  return total;
}
