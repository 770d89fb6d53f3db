import type { RequestSource } from "./request-source.ts";

/** The requests that a pause is for: those of one conversation, of one client, or all. */
type Scope =
  | { of: "conversation"; client: string; conversation: string }
  | { of: "client"; client: string }
  | { of: "everybody" };

type State =
  | { is: "closed"; failures: number; scope: Scope | undefined }
  | { is: "open"; until: number; waitMs: number; scope: Scope }
  /** One request has been let through to find out; after `until` another one may. */
  | { is: "trying"; until: number; waitMs: number; scope: Scope; trial: RequestSource };

const failuresToOpen = 5;
const firstWaitMs = 5_000;
const longestWaitMs = 60_000;
/** How long others wait for the first byte of the request that finds out. */
const trialMs = 10_000;

/**
 * Pauses requests to a server or a model after repeated failures, and lets one through now and then to see whether it
 * works again. The pause covers what the failed requests have in common: a conversation that crashes a server, or a
 * client that only sends such, does not pause the others.
 */
export class Circuit {
  readonly #isShared: boolean;
  #state: State = { is: "closed", failures: 0, scope: undefined };

  /** `isShared`: its failures never depend on the request, so it pauses everybody. */
  constructor(isShared = false) {
    this.#isShared = isShared;
  }

  /** How many milliseconds this request has to wait; undefined: it may go. */
  waitMs(source: RequestSource, now: number): number | undefined {
    const state = this.#state;
    if (state.is === "closed" || now >= state.until || !isIn(state.scope, source)) return undefined;
    return state.until - now;
  }

  /** A request goes. How it ends is reported with the same `source`. */
  begin(source: RequestSource, now: number): void {
    const state = this.#state;
    if (state.is === "closed" || now < state.until || !isIn(state.scope, source)) return;
    const { waitMs, scope } = state;
    this.#state = { is: "trying", until: now + trialMs, waitMs, scope, trial: source };
  }

  /** The first byte of a reply has come: nobody has to wait for its end. */
  answering(source: RequestSource): void {
    if (this.#state.is === "trying" && this.#state.trial === source) this.#close();
  }

  succeeded(): void {
    this.#close();
  }

  failed(source: RequestSource, now: number): void {
    const state = this.#state;
    const scope = this.#isShared ? everybody : widened(state.scope, source);
    if (state.is === "closed") {
      const failures = state.failures + 1;
      if (failures < failuresToOpen) this.#state = { is: "closed", failures, scope };
      else this.#state = { is: "open", until: now + firstWaitMs, waitMs: firstWaitMs, scope };
      return;
    }
    const isTrial = state.is === "trying" && state.trial === source;
    // Requests that were on their way when it opened say nothing new, except whom it concerns.
    if (now < state.until && !isTrial) {
      this.#state = { ...state, scope };
      return;
    }
    // The pause is over and was for others: one failure, perhaps hours later, is no reason for another.
    if (!isTrial && !isIn(state.scope, source)) {
      this.#state = { is: "closed", failures: 1, scope: widened(undefined, source) };
      return;
    }
    const waitMs = Math.min(longestWaitMs, state.waitMs * 2);
    this.#state = { is: "open", until: now + waitMs, waitMs, scope };
  }

  /** The request ended without saying anything about the server: its client left, or it could not be sent. */
  undecided(source: RequestSource, now: number): void {
    const state = this.#state;
    if (state.is !== "trying" || state.trial !== source) return;
    this.#state = { is: "open", until: now, waitMs: state.waitMs, scope: state.scope };
  }

  /** True while requests have to wait, those of its scope. */
  isPausing(now: number): boolean {
    return this.#state.is !== "closed" && now < this.#state.until;
  }

  get state(): State["is"] {
    return this.#state.is;
  }

  #close(): void {
    this.#state = { is: "closed", failures: 0, scope: undefined };
  }
}

function isIn(scope: Scope, source: RequestSource): boolean {
  if (scope.of === "everybody") return true;
  if (scope.client !== source.client) return false;
  return scope.of === "client" || scope.conversation === source.conversation;
}

const everybody: Scope = { of: "everybody" };

/** What a failure has in common with those before it. */
function widened(scope: Scope | undefined, source: RequestSource): Scope {
  const { client } = source;
  if (scope === undefined) return { of: "conversation", client, conversation: source.conversation };
  if (isIn(scope, source)) return scope;
  return scope.of !== "everybody" && scope.client === client ? { of: "client", client } : everybody;
}
