import type { RequestSource } from "./request-source.ts";

/** The requests that a pause applies to: those of one conversation or client, or all. */
type PauseScope =
  | { type: "conversation"; client: string; conversation: string }
  | { type: "client"; client: string }
  | { type: "everyone" };

/** From `nextTrialAt` on, one request is let through as a trial. */
type State =
  | { status: "closed"; failures: number; scope: PauseScope | undefined }
  | { status: "open"; nextTrialAt: number; waitMs: number; scope: PauseScope }
  /** One request has been let through as a trial. */
  | {
      status: "half_open";
      nextTrialAt: number;
      waitMs: number;
      scope: PauseScope;
      trial: RequestSource;
    };

const failuresToOpen = 5;
const initialPauseMs = 5_000;
const maxPauseMs = 60_000;
/** How long other requests wait for the first byte of a trial. */
const trialTimeoutMs = 10_000;

/**
 * Pauses requests to a server or a model after repeated failures, and lets one through now and then to check whether it
 * works again. The pause applies to what the failed requests have in common: a conversation that crashes a server, or a
 * client with only such conversations, does not pause the others.
 */
export class CircuitBreaker {
  readonly #isShared: boolean;
  #state: State = { status: "closed", failures: 0, scope: undefined };

  /** `isShared`: failures never depend on the request, so a pause applies to all clients. */
  constructor(isShared = false) {
    this.#isShared = isShared;
  }

  /** Returns how many milliseconds this request must wait; undefined if it may be sent. */
  getWaitMs(source: RequestSource, now: number): number | undefined {
    const state = this.#state;
    if (state.status === "closed" || now >= state.nextTrialAt || !isInScope(state.scope, source))
      return undefined;
    return state.nextTrialAt - now;
  }

  /** Must be called before a request is sent. Its result must be recorded with the same `source`. */
  beginRequest(source: RequestSource, now: number): void {
    const state = this.#state;
    if (state.status === "closed" || now < state.nextTrialAt || !isInScope(state.scope, source))
      return;
    const { waitMs, scope } = state;
    this.#state = {
      status: "half_open",
      nextTrialAt: now + trialTimeoutMs,
      waitMs,
      scope,
      trial: source,
    };
  }

  /** Must be called at the first byte of a reply: other requests need not wait for its end. */
  recordFirstByte(source: RequestSource): void {
    if (this.#state.status === "half_open" && this.#state.trial === source) this.#close();
  }

  recordSuccess(): void {
    this.#close();
  }

  recordFailure(source: RequestSource, now: number): void {
    const state = this.#state;
    const scope = this.#isShared ? everyoneScope : widenScope(state.scope, source);
    if (state.status === "closed") {
      const failures = state.failures + 1;
      if (failures < failuresToOpen) this.#state = { status: "closed", failures, scope };
      else
        this.#state = {
          status: "open",
          nextTrialAt: now + initialPauseMs,
          waitMs: initialPauseMs,
          scope,
        };
      return;
    }
    const isTrial = state.status === "half_open" && state.trial === source;
    // Requests sent before the pause only affect its scope.
    if (now < state.nextTrialAt && !isTrial) {
      this.#state = { ...state, scope };
      return;
    }
    // The pause is over and applied to other requests: one failure, perhaps hours later, does not start another pause.
    if (!isTrial && !isInScope(state.scope, source)) {
      this.#state = { status: "closed", failures: 1, scope: widenScope(undefined, source) };
      return;
    }
    const waitMs = Math.min(maxPauseMs, state.waitMs * 2);
    this.#state = { status: "open", nextTrialAt: now + waitMs, waitMs, scope };
  }

  /** Must be called if a request says nothing about the server's health: its client disconnected, or it could not be sent. */
  recordInconclusive(source: RequestSource, now: number): void {
    const state = this.#state;
    if (state.status !== "half_open" || state.trial !== source) return;
    this.#state = { status: "open", nextTrialAt: now, waitMs: state.waitMs, scope: state.scope };
  }

  /** True while requests in the scope of the pause must wait. */
  isPaused(now: number): boolean {
    return this.#state.status !== "closed" && now < this.#state.nextTrialAt;
  }

  get state(): State["status"] {
    return this.#state.status;
  }

  #close(): void {
    this.#state = { status: "closed", failures: 0, scope: undefined };
  }
}

function isInScope(scope: PauseScope, source: RequestSource): boolean {
  if (scope.type === "everyone") return true;
  if (scope.client !== source.clientName) return false;
  return scope.type === "client" || scope.conversation === source.conversationHash;
}

const everyoneScope: PauseScope = { type: "everyone" };

/** Returns what a failure has in common with those before it. */
function widenScope(scope: PauseScope | undefined, source: RequestSource): PauseScope {
  const { clientName } = source;
  if (scope === undefined)
    return { type: "conversation", client: clientName, conversation: source.conversationHash };
  if (isInScope(scope, source)) return scope;
  return scope.type !== "everyone" && scope.client === clientName
    ? { type: "client", client: clientName }
    : everyoneScope;
}
