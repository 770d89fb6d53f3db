import {
  toChatError,
  type ChatChunk,
  type JsonObject,
  type ResponseUsage,
  type UpstreamFailure,
} from "@deltawire/wire";
import type { FailedAttempt, AttemptOutcome } from "../upstream/attempt-outcome.ts";
import type { ClientEvent } from "./client-wire.ts";
import type { ReplyReceiver } from "./receiver.ts";

export interface MergeChoicesOptions {
  receiver: ReplyReceiver;
  signal: AbortSignal;
  sendOnce: (receiver: ReplyReceiver, signal: AbortSignal) => Promise<AttemptOutcome>;
  /** Formats a failure for the client. */
  formatFailure: (outcome: FailedAttempt) => string;
}

/**
 * Implements `n` for upstreams that return a single answer: sends the request `n` times and merges the choices into one reply.
 * If one of the requests fails, the others are aborted; if the client has received nothing yet, its outcome is returned.
 */
export async function sendForEachChoice(
  count: number,
  { receiver, signal, sendOnce, formatFailure }: MergeChoicesOptions,
): Promise<AttemptOutcome> {
  const abortController = new AbortController();
  const merger = new ChoiceMerger(receiver, count);
  const outcomes = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const choiceSignal = AbortSignal.any([signal, abortController.signal]);
      const outcome = await sendOnce(merger.createReceiver(index), choiceSignal).catch(
        (error: unknown) => {
          abortController.abort();
          throw error;
        },
      );
      if (outcome.type !== "answered" || outcome.failure !== undefined) abortController.abort();
      return outcome;
    }),
  );
  const failedOutcome = outcomes.find(
    (outcome) => outcome.type !== "answered" && outcome.type !== "aborted",
  );
  if (failedOutcome !== undefined && !receiver.hasSent) return failedOutcome;
  if (failedOutcome !== undefined) merger.fail(formatFailure(failedOutcome));
  const { failure } = merger;
  const isComplete = failure !== undefined || outcomes.every(({ type }) => type === "answered");
  return isComplete
    ? { type: "answered", usage: sumUsage(outcomes), failure }
    : { type: "aborted" };
}

function sumUsage(outcomes: readonly AttemptOutcome[]): ResponseUsage | undefined {
  let sum: JsonObject | undefined;
  for (const outcome of outcomes)
    if (outcome.type === "answered" && outcome.usage !== undefined)
      sum = addUsageCounts(sum, { ...outcome.usage });
  return sum as ResponseUsage | undefined;
}

class ChoiceMerger {
  readonly #receiver: ReplyReceiver;
  readonly #openChoices = new Set<number>();
  readonly #waitingResumes: (() => void)[] = [];
  #id: string | undefined;
  #usageChunk: ChatChunk | undefined;
  #usage: JsonObject | undefined;
  /** Set if a choice failed. */
  failure: UpstreamFailure | undefined;

  constructor(receiver: ReplyReceiver, count: number) {
    this.#receiver = receiver;
    for (let index = 0; index < count; index += 1) this.#openChoices.add(index);
  }

  createReceiver(index: number): ReplyReceiver {
    const receiver = this.#receiver;
    return {
      isStreaming: receiver.isStreaming,
      get hasSent() {
        return receiver.hasSent;
      },
      send: (events) => {
        const choiceEvents = events.flatMap((event) => this.#toChoiceEvents(event, index));
        return choiceEvents.length === 0 || receiver.send(choiceEvents, undefined);
      },
      // Keep-alives of one choice are enough.
      keepAlive: () => {
        const [firstOpenChoice] = this.#openChoices;
        if (index === firstOpenChoice) receiver.keepAlive();
      },
      reset: () => receiver.reset(),
      end: (events, _bytes, failure) => {
        this.#openChoices.delete(index);
        if (this.failure !== undefined) return;
        const lastEvents = events.flatMap((event) => this.#toChoiceEvents(event, index));
        if (failure !== undefined) this.#fail(failure, lastEvents);
        else if (this.#openChoices.size === 0) this.#end(lastEvents);
        else if (lastEvents.length > 0) receiver.send(lastEvents, undefined);
      },
      whenReady: (resume) => this.#whenReady(resume),
    };
  }

  /** Adds a single listener for all choices. */
  #whenReady(resume: () => void): void {
    this.#waitingResumes.push(resume);
    if (this.#waitingResumes.length > 1) return;
    this.#receiver.whenReady(() => {
      for (const resumeChoice of this.#waitingResumes.splice(0)) resumeChoice();
    });
  }

  fail(reason: string): void {
    const code = "upstream_error";
    this.#fail({ code, message: `one of the choices failed: ${reason}` }, []);
  }

  #fail(failure: UpstreamFailure, lastEvents: readonly ClientEvent[]): void {
    if (this.failure !== undefined) return;
    this.failure = failure;
    this.#receiver.end([...lastEvents, { error: toChatError(failure) }], undefined, failure);
  }

  /** Returns the chunks of one choice, with its index. The terminal event and the usage chunk are left out. */
  #toChoiceEvents(event: ClientEvent, index: number): ClientEvent[] {
    if (event === "[DONE]" || this.failure !== undefined) return [];
    const chunk = event as ChatChunk;
    this.#id ??= chunk.id;
    if (chunk.usage) {
      this.#usage = addUsageCounts(this.#usage, chunk.usage);
      this.#usageChunk = chunk;
    }
    if ((chunk.choices ?? []).length === 0) return [];
    const choices = (chunk.choices ?? []).map((choice) => ({ ...choice, index }));
    return [{ ...chunk, ...(this.#id === undefined ? {} : { id: this.#id }), choices }];
  }

  #end(events: readonly ClientEvent[]): void {
    const lastEvents: ClientEvent[] = [...events];
    if (this.#usage !== undefined)
      lastEvents.push({
        ...this.#usageChunk,
        ...(this.#id === undefined ? {} : { id: this.#id }),
        choices: [],
        usage: this.#usage,
      });
    lastEvents.push("[DONE]");
    this.#receiver.end(lastEvents, undefined, undefined);
  }
}

/** Adds token counts. Prompt tokens are counted once per choice, because each request is billed for them. */
function addUsageCounts(sum: JsonObject | undefined, usage: JsonObject): JsonObject {
  if (sum === undefined) return usage;
  const total: JsonObject = { ...sum };
  for (const [name, value] of Object.entries(usage)) {
    const currentValue = total[name];
    if (typeof value === "number" && typeof currentValue === "number")
      total[name] = currentValue + value;
    else if (typeof value === "object" && value !== null && !Array.isArray(value))
      total[name] = addUsageCounts(currentValue as JsonObject | undefined, value);
  }
  return total;
}
