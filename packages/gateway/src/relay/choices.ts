import { errorText, type Redactor } from "@deltawire/agent";
import {
  errorObject,
  upstreamFailure,
  type ChatChunk,
  type JsonObject,
  type ResponseUsage,
} from "@deltawire/wire";
import { attempt, type AttemptOptions } from "./attempt.ts";
import type { Output } from "./client-wire.ts";
import type { Outcome } from "./outcome.ts";
import type { Receiver } from "./receiver.ts";

/**
 * Several answers (`n`) from an upstream that gives one: it is asked so many times, and the choices go out as one
 * reply. Before the first of them has said anything, the failure of one is the failure of all.
 */
export async function attemptChoices(options: AttemptOptions, count: number): Promise<Outcome> {
  const { receiver, signal } = options;
  const stop = new AbortController();
  const merged = new MergedChoices(receiver, count, options.redactor);
  const outcomes = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const outcome = await attempt({
        ...options,
        receiver: merged.receiverOf(index),
        signal: AbortSignal.any([signal, stop.signal]),
      }).catch((error: unknown) => {
        stop.abort();
        throw error;
      });
      if (outcome.is !== "answered" || outcome.reply.failure !== undefined) stop.abort();
      return outcome;
    }),
  );
  const bad = outcomes.find(({ is }) => is !== "answered" && is !== "left");
  if (bad !== undefined && !receiver.hasSent) return bad;
  if (bad !== undefined) merged.fail(bad);
  const { failure } = merged;
  const isWhole = failure !== undefined || outcomes.every(({ is }) => is === "answered");
  return isWhole
    ? { is: "answered", reply: { usage: usageOf(outcomes), failure } }
    : { is: "left" };
}

function causeOfFailure(outcome: Outcome): string {
  switch (outcome.is) {
    case "unreachable":
      return outcome.cause;
    case "refused":
      return upstreamFailure({ status: outcome.status, ...errorObject(outcome.body) }).message;
    case "failed":
      return upstreamFailure(outcome.failure).message;
    default:
      return outcome.is;
  }
}

function usageOf(outcomes: readonly Outcome[]): ResponseUsage | undefined {
  let sum: JsonObject | undefined;
  for (const outcome of outcomes)
    if (outcome.is === "answered" && outcome.reply.usage !== undefined)
      sum = added(sum, { ...outcome.reply.usage });
  return sum as ResponseUsage | undefined;
}

class MergedChoices {
  readonly #receiver: Receiver;
  readonly #redactor: Redactor;
  readonly #open = new Set<number>();
  readonly #waiting: (() => void)[] = [];
  #id: string | undefined;
  #usageChunk: ChatChunk | undefined;
  #usage: JsonObject | undefined;
  /** Why there are fewer than were asked for. */
  failure: JsonObject | undefined;

  constructor(receiver: Receiver, count: number, redactor: Redactor) {
    this.#receiver = receiver;
    this.#redactor = redactor;
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
      end: () => {
        this.#open.delete(index);
        if (this.failure !== undefined) receiver.end();
        else if (this.#open.size === 0) this.#end();
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

  fail(outcome: Outcome): void {
    if (this.failure !== undefined) return;
    const message = `one of the choices failed: ${errorText(causeOfFailure(outcome), this.#redactor)}`;
    const error = { message, type: "upstream_error", code: "upstream_error", param: null };
    this.failure = error;
    this.#receiver.send([{ error }], undefined);
    this.#receiver.end();
  }

  #taken(output: Output, index: number): Output[] {
    if (output === "[DONE]" || this.failure !== undefined) return [];
    const chunk = output as ChatChunk;
    if (chunk.error !== undefined) {
      this.failure = Object(chunk.error) as JsonObject;
      return [output];
    }
    this.#id ??= chunk.id;
    if (chunk.usage) {
      this.#usage = added(this.#usage, chunk.usage);
      this.#usageChunk = chunk;
    }
    if ((chunk.choices ?? []).length === 0) return [];
    const choices = (chunk.choices ?? []).map((choice) => ({ ...choice, index }));
    return [{ ...chunk, ...(this.#id === undefined ? {} : { id: this.#id }), choices }];
  }

  #end(): void {
    const last: Output[] = [];
    if (this.#usage !== undefined)
      last.push({
        ...this.#usageChunk,
        ...(this.#id === undefined ? {} : { id: this.#id }),
        choices: [],
        usage: this.#usage,
      });
    last.push("[DONE]");
    this.#receiver.send(last, undefined);
    this.#receiver.end();
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
