import { ModelError, type Model } from "@deltawire/agent";
import type { JsonObject, ResponsesRequest } from "@deltawire/wire";
import type { ModelTarget } from "../config/config.ts";
import { Problem, problemReply } from "../http/problem.ts";
import type { Output } from "../relay/client-wire.ts";
import type { ClientRequest } from "../relay/plan.ts";
import type { Receiver } from "../relay/receiver.ts";
import type { ExchangeRecord, Relay } from "../relay/relay.ts";
import { isPassing } from "../relay/retry.ts";

type TargetsOf = (model: string) => Promise<readonly ModelTarget[]>;
type Batch = readonly JsonObject[];

/** One of the gateway's models in process: its tries, its lessons and its other upstreams included. */
export function relayModel(relay: Relay, targetsOf: TargetsOf, name: string): Model {
  return {
    stream: (request, signal) => ({
      [Symbol.asyncIterator]: () => {
        const events = new RelayedEvents(signal);
        void events.follow(relay, targetsOf, { ...request, model: name });
        return events;
      },
    }),
  };
}

/** A consumer that is behind by more than this holds up the upstream. */
const mostQueued = 256;

type State =
  | { is: "open" }
  | { is: "ended" }
  /** Nothing of it has been told yet. */
  | { is: "failed"; error: ModelError };

/** What a relay sends, for one who takes it when ready. */
class RelayedEvents implements Receiver, AsyncIterator<Batch, undefined> {
  readonly #outer: AbortSignal;
  readonly #stop = new AbortController();
  readonly #leave = (): void => {
    this.#queued = [];
    this.#stop.abort();
    this.#close({ is: "ended" });
  };
  #state: State = { is: "open" };
  #queued: JsonObject[] = [];
  #wake: (() => void) | undefined;
  #ready: (() => void) | undefined;
  /** Nobody has to be kept waiting with words: while nothing is said, another upstream can still be asked. */
  readonly streams = false;
  hasSent = false;

  constructor(signal: AbortSignal) {
    this.#outer = signal;
    if (signal.aborted) this.#leave();
    else signal.addEventListener("abort", this.#leave, { once: true });
  }

  async follow(relay: Relay, targetsOf: TargetsOf, request: ResponsesRequest): Promise<void> {
    const { signal } = this.#stop;
    if (signal.aborted) return;
    try {
      const client: ClientRequest = {
        wire: "responses",
        request: { ...request, stream: true, store: false },
        codex: false,
        reasoning: "summary",
      };
      const record: ExchangeRecord = { attempts: 0, lessons: [], repairs: new Map() };
      const targets = await targetsOf(request.model ?? "");
      if (signal.aborted) return;
      const ran = await relay.run({ client, targets, receiver: this, signal, record });
      if (ran === "left" && !signal.aborted)
        throw new Problem("upstream_error", "the reply was left unread for too long");
      this.#close({ is: "ended" });
    } catch (error) {
      this.#fail(error);
    }
  }

  async next(): Promise<IteratorResult<Batch, undefined>> {
    while (this.#queued.length === 0 && this.#state.is === "open")
      await new Promise<void>((resolve) => (this.#wake = resolve));
    if (this.#queued.length > 0) {
      const value = this.#queued;
      this.#queued = [];
      const go = this.#ready;
      this.#ready = undefined;
      go?.();
      return { done: false, value };
    }
    const state = this.#state;
    this.#state = { is: "ended" };
    if (state.is === "failed") throw state.error;
    return { done: true, value: undefined };
  }

  return(): Promise<IteratorResult<Batch, undefined>> {
    this.#leave();
    return Promise.resolve({ done: true, value: undefined });
  }

  send(outputs: readonly Output[]): boolean {
    if (this.#state.is !== "open") return true;
    const refusal = this.hasSent ? undefined : refusalIn(outputs);
    if (refusal !== undefined) {
      this.#close({ is: "failed", error: refusal });
      return true;
    }
    this.hasSent = true;
    // The relay uses its array again.
    for (const output of outputs) this.#queued.push(output as JsonObject);
    this.#wake?.();
    return this.#queued.length <= mostQueued;
  }

  whenReady(go: () => void): void {
    if (this.#queued.length === 0) go();
    else this.#ready = go;
  }

  keepAlive(): void {}

  clear(): void {}

  end(): void {
    this.#close({ is: "ended" });
  }

  #fail(cause: unknown): void {
    const error = modelError(cause);
    if (!this.hasSent) return this.#close({ is: "failed", error });
    const { code, message } = error;
    const response = { object: "response", status: "failed", error: { code, message }, output: [] };
    this.send([{ type: "response.failed", response }]);
    this.#close({ is: "ended" });
  }

  #close(state: State): void {
    if (this.#state.is !== "open") return;
    this.#state = state;
    this.#outer.removeEventListener("abort", this.#leave);
    this.#wake?.();
  }
}

/** Some refusals are told to Responses clients in a stream that says nothing else. */
function refusalIn(outputs: readonly Output[]): ModelError | undefined {
  const last = outputs.at(-1) as { type?: string; response?: { error?: unknown } } | undefined;
  if (last?.type !== "response.failed") return undefined;
  const error = (last.response?.error ?? {}) as { code?: string; message?: string };
  const { code = "upstream_error", message = "the upstream failed" } = error;
  return new ModelError(code, message);
}

function modelError(cause: unknown): ModelError {
  const { code, status, body } = problemReply(cause);
  const { code: said, message } = body.error as { code: unknown; message: string };
  const retryable = isPassing(status) && !lasting.has(code);
  return new ModelError(typeof said === "string" ? said : code, message, { retryable, cause });
}

/** What only somebody can mend, whatever the status says. */
const lasting = new Set<string>([
  "insufficient_quota",
  "upstream_key_missing",
  "upstream_redirect",
  "internal_error",
]);
