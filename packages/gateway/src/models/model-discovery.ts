import type { Redactor } from "@deltawire/agent";
import { redactErrorText } from "@deltawire/agent/basics";
import type { UpstreamConfig } from "../config/config.ts";
import type { Upstream } from "../upstream/upstream.ts";
import { ModelListError } from "./fetch-model-list.ts";
import { type DiscoveredModel, parseModelList } from "./parse-model-list.ts";
import type { DiscoveredModels } from "./resolve-model.ts";

export interface ModelDiscoveryOptions {
  readonly upstreams: Iterable<UpstreamConfig>;
  /** Returns the parsed body of `GET {base_url}/models`. Must have its own timeout. */
  readonly fetchList: (upstream: UpstreamConfig) => Promise<unknown>;
  /** Returns false for models to hide. Default: all models are listed. */
  readonly isListed?: (id: string) => boolean;
  /** Returns the current time in milliseconds since the epoch. */
  readonly now: () => number;
  /** Called for every failed fetch. */
  readonly onFailure?: (upstream: UpstreamConfig, cause: unknown) => void;
}

type FetchState =
  | { readonly status: "idle" }
  | { readonly status: "fetching"; readonly done: Promise<void> }
  | { readonly status: "fetched"; readonly expiresAt: number }
  | {
      readonly status: "failed";
      readonly expiresAt: number;
      readonly failedAt: number;
      readonly reason: string;
      readonly httpStatus: number | undefined;
    };

/** `configured`: the list is in the configuration. `listed`: the upstream has sent a list, which may be an old one. */
export type DiscoveryState =
  | { readonly status: "configured" | "loading" | "listed" }
  /** `failedAt`: milliseconds since the epoch. `httpStatus`: status of the response, if any. `hasListed`: an earlier fetch succeeded. */
  | {
      readonly status: "failed";
      readonly failedAt: number;
      readonly reason: string;
      readonly httpStatus: number | undefined;
      readonly hasListed: boolean;
    };

const listTtlMs = 5 * 60_000;
const failureTtlMs = 30_000;

/**
 * Caches the model lists of the upstreams. Never blocks on an upstream: the old list is used while a new one is fetched, and
 * after a failure.
 */
export class ModelDiscovery {
  readonly #options: ModelDiscoveryOptions;
  readonly #states = new Map<UpstreamConfig, FetchState>();
  #lists: DiscoveredModels = new Map();

  constructor(options: ModelDiscoveryOptions) {
    this.#options = options;
    for (const upstream of options.upstreams)
      if (upstream.models === undefined) this.#states.set(upstream, { status: "idle" });
  }

  /** Returns the current lists; the same object until one changes. Starts to fetch lists that are missing or have expired. */
  getModels(): DiscoveredModels {
    this.#refresh();
    return this.#lists;
  }

  /** Resolves when every upstream has answered or failed once, after `timeoutMs` at the latest. */
  async waitUntilReady(timeoutMs: number): Promise<void> {
    this.#refresh();
    const firstFetches: Promise<void>[] = [];
    for (const [upstream, state] of this.#states)
      if (state.status === "fetching" && !this.#lists.has(upstream.name))
        firstFetches.push(state.done);
    if (firstFetches.length === 0) return;
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, timeoutMs);
    });
    await Promise.race([Promise.all(firstFetches), timeout]);
    clearTimeout(timer);
  }

  /** Retries fetches that failed at least `minAgeMs` ago, before their normal retry time. */
  retryFailed(minAgeMs: number): void {
    const failedBefore = this.#options.now() - minAgeMs;
    for (const [upstream, state] of this.#states)
      if (state.status === "failed" && state.failedAt <= failedBefore)
        this.#states.set(upstream, { status: "idle" });
    this.#refresh();
  }

  /** Returns whether the model list of an upstream is available, and why not. */
  getState(upstream: UpstreamConfig): DiscoveryState {
    const state = this.#states.get(upstream);
    if (state === undefined) return { status: "configured" };
    const hasListed = this.#lists.has(upstream.name);
    if (state.status === "failed") {
      const { status, failedAt, reason, httpStatus } = state;
      return { status, failedAt, reason, httpStatus, hasListed };
    }
    return { status: hasListed ? "listed" : "loading" };
  }

  #refresh(): void {
    const now = this.#options.now();
    for (const [upstream, state] of this.#states) {
      if (state.status === "fetching" || (state.status !== "idle" && now < state.expiresAt))
        continue;
      // Deferred, because the result of a fetch that fails immediately would be overwritten below.
      const done = Promise.resolve().then(() => this.#fetch(upstream));
      this.#states.set(upstream, { status: "fetching", done });
    }
  }

  async #fetch(upstream: UpstreamConfig): Promise<void> {
    const { fetchList, now, onFailure, isListed = () => true } = this.#options;
    try {
      const models = parseModelList(await fetchList(upstream));
      if (models === undefined)
        throw new Error(
          `${upstream.baseUrl}/models: expected a model list, got other JSON; is base_url right?`,
        );
      this.#store(
        upstream.name,
        models.filter(({ id }) => isListed(id)),
      );
      this.#states.set(upstream, { status: "fetched", expiresAt: now() + listTtlMs });
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      const httpStatus = cause instanceof ModelListError ? cause.status : undefined;
      const failedAt = now();
      this.#states.set(upstream, {
        status: "failed",
        failedAt,
        expiresAt: failedAt + failureTtlMs,
        reason,
        httpStatus,
      });
      onFailure?.(upstream, cause);
    }
  }

  #store(name: string, models: readonly DiscoveredModel[]): void {
    if (JSON.stringify(this.#lists.get(name)) === JSON.stringify(models)) return;
    this.#lists = new Map([...this.#lists, [name, models]]);
  }
}

/** Returns a redacted message if requests to this upstream will probably fail; undefined if no problem is known. */
export function describeUpstreamProblem(
  { config, health }: Upstream,
  discoveryState: DiscoveryState,
  redactor: Redactor,
): string | undefined {
  const { apiKey, apiKeyVariable } = config;
  if (apiKeyVariable !== undefined && apiKey === undefined)
    return `${apiKeyVariable} is not set in the environment of the gateway`;
  const { keyError, lastError, lastFailureAt = 0, lastSuccessAt = 0 } = health;
  if (keyError !== undefined) return keyError.message;
  if (discoveryState.status === "failed" && lastSuccessAt < discoveryState.failedAt)
    return redactErrorText(discoveryState.reason, redactor);
  return lastFailureAt > lastSuccessAt ? lastError?.message : undefined;
}
