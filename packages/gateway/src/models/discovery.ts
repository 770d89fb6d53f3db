import { errorText, type Redactor } from "@deltawire/agent";
import type { UpstreamConfig } from "../config/config.ts";
import type { Upstream } from "../upstream/upstream.ts";
import { ListingError } from "./ask-upstream.ts";
import { type DiscoveredModel, parseModelList } from "./parse.ts";
import type { Discovered } from "./resolve.ts";

export interface ModelDiscoveryOptions {
  readonly upstreams: Iterable<UpstreamConfig>;
  /** The body of `GET {base_url}/models`, parsed. It ends in time by itself, or rejects. */
  readonly ask: (upstream: UpstreamConfig) => Promise<unknown>;
  /** False for a model that is not listed. All are unless this says otherwise. */
  readonly isListed?: (id: string) => boolean;
  /** Milliseconds. */
  readonly now: () => number;
  /** Told of every failure, once for each time that an upstream was asked. */
  readonly onFailure?: (upstream: UpstreamConfig, cause: unknown) => void;
}

type State =
  | { readonly is: "unasked" }
  | { readonly is: "asking"; readonly answer: Promise<void> }
  | { readonly is: "answered"; readonly until: number }
  | {
      readonly is: "failed";
      readonly until: number;
      readonly at: number;
      readonly why: string;
      readonly status: number | undefined;
    };

/** `configured`: it is not asked. `told`: it has said it, now or before. */
export type DiscoveryStanding =
  | { readonly is: "configured" | "asking" | "told" }
  /** `at`: in milliseconds since 1970. `status`: what it answered with, if it did. `hasListed`: it did list models before. */
  | {
      readonly is: "failed";
      readonly at: number;
      readonly why: string;
      readonly status: number | undefined;
      readonly hasListed: boolean;
    };

const freshMs = 5 * 60_000;
const failedMs = 30_000;

/**
 * What the upstreams have, as far as they said. Nobody waits for an upstream here: an old list is used while a new one
 * is asked for, and one that does not answer keeps the list that it gave last.
 */
export class ModelDiscovery {
  readonly #options: ModelDiscoveryOptions;
  readonly #states = new Map<UpstreamConfig, State>();
  #known: Discovered = new Map();

  constructor(options: ModelDiscoveryOptions) {
    this.#options = options;
    for (const upstream of options.upstreams)
      if (upstream.models === undefined) this.#states.set(upstream, { is: "unasked" });
  }

  /** What is known now. It is the same object until an upstream said something new. */
  snapshot(): Discovered {
    this.#refresh();
    return this.#known;
  }

  /** Settles when every upstream has answered or failed once, after `ms` milliseconds at the latest. */
  async ready(ms: number): Promise<void> {
    this.#refresh();
    const first: Promise<void>[] = [];
    for (const [upstream, state] of this.#states)
      if (state.is === "asking" && !this.#known.has(upstream.name)) first.push(state.answer);
    if (first.length === 0) return;
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    });
    await Promise.race([Promise.all(first), timeout]);
    clearTimeout(timer);
  }

  /** Those that failed at least `ms` milliseconds ago are asked again, before it is their time. */
  askFailed(ms: number): void {
    const latest = this.#options.now() - ms;
    for (const [upstream, state] of this.#states)
      if (state.is === "failed" && state.at <= latest)
        this.#states.set(upstream, { is: "unasked" });
    this.#refresh();
  }

  /** How it is known what an upstream has. */
  standing(upstream: UpstreamConfig): DiscoveryStanding {
    const state = this.#states.get(upstream);
    if (state === undefined) return { is: "configured" };
    const hasListed = this.#known.has(upstream.name);
    if (state.is === "failed") {
      const { is, at, why, status } = state;
      return { is, at, why, status, hasListed };
    }
    return { is: hasListed ? "told" : "asking" };
  }

  #refresh(): void {
    const now = this.#options.now();
    for (const [upstream, state] of this.#states) {
      if (state.is === "asking" || (state.is !== "unasked" && now < state.until)) continue;
      // Not at once: a question that fails at once would be over before it is noted.
      const answer = Promise.resolve().then(() => this.#ask(upstream));
      this.#states.set(upstream, { is: "asking", answer });
    }
  }

  async #ask(upstream: UpstreamConfig): Promise<void> {
    const { ask, now, onFailure, isListed = () => true } = this.#options;
    try {
      const models = parseModelList(await ask(upstream));
      if (models === undefined)
        throw new Error(
          `${upstream.baseUrl}/models: answered JSON without a model list; is base_url right?`,
        );
      this.#keep(
        upstream.name,
        models.filter(({ id }) => isListed(id)),
      );
      this.#states.set(upstream, { is: "answered", until: now() + freshMs });
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      const status = cause instanceof ListingError ? cause.status : undefined;
      const at = now();
      this.#states.set(upstream, { is: "failed", at, until: at + failedMs, why, status });
      onFailure?.(upstream, cause);
    }
  }

  #keep(name: string, models: readonly DiscoveredModel[]): void {
    if (JSON.stringify(this.#known.get(name)) === JSON.stringify(models)) return;
    this.#known = new Map([...this.#known, [name, models]]);
  }
}

/** Why nobody can be sure of an answer of this upstream, in words that may be shown; undefined: nothing is known against it. */
export function upstreamProblem(
  { config, health }: Upstream,
  standing: DiscoveryStanding,
  redactor: Redactor,
): string | undefined {
  const { apiKey, apiKeyVariable } = config;
  if (apiKeyVariable !== undefined && apiKey === undefined)
    return `${apiKeyVariable} is not set where the gateway runs`;
  const { keyProblem, lastError, lastBadAt = 0, lastGoodAt = 0 } = health;
  if (keyProblem !== undefined) return keyProblem.message;
  if (standing.is === "failed" && lastGoodAt < standing.at)
    return errorText(standing.why, redactor);
  return lastBadAt > lastGoodAt ? lastError?.message : undefined;
}
