import { Agent, EnvHttpProxyAgent, type Dispatcher } from "undici";
import { isLoopback } from "../config/addresses.ts";
import type { UpstreamConfig } from "../config/config.ts";
import { Problem } from "../problem.ts";
import { isFinal, isWebPage, statusOf, type FailedOutcome, type Outcome } from "./failure.ts";
import type { Heartbeat } from "./heartbeat.ts";
import type { RequestSource } from "./request-source.ts";
import {
  RetryBudget,
  retryAfterSeconds,
  waitBeforeRetry,
  type ConversationRetries,
} from "./retry.ts";
import { sendRequest, type SentRequest } from "./send-request.ts";
import { UpstreamHealth, type FailureOf } from "./upstream-health.ts";

export interface UpstreamCall {
  /** Default: POST. */
  method?: "GET" | "POST";
  /** Behind the base address: `/chat/completions`. */
  path: string;
  headers: Readonly<Record<string, string>>;
  body?: Dispatcher.DispatchOptions["body"];
}

export type SendOptions = Pick<SentRequest, "signal" | "reader" | "onAnswering">;

/** One configured server: where it is, its key, its connections and how it has been doing. */
export class Upstream {
  readonly config: UpstreamConfig;
  readonly health = new UpstreamHealth();
  readonly #budget = new RetryBudget();
  readonly #conversations: ConversationRetries;
  readonly #origin: string;
  readonly #pathPrefix: string;
  readonly #query: string;
  readonly #dispatcher: Agent | EnvHttpProxyAgent;
  readonly #heartbeat: Heartbeat;

  /** `conversations` is shared by all upstreams: a request that falls back is still one request. */
  constructor(
    config: UpstreamConfig,
    env: Readonly<Record<string, string | undefined>>,
    conversations: ConversationRetries,
    heartbeat: Heartbeat,
  ) {
    this.config = config;
    this.#heartbeat = heartbeat;
    this.#conversations = conversations;
    const url = new URL(config.baseUrl);
    this.#origin = url.origin;
    this.#pathPrefix = url.pathname.replace(/\/+$/, "");
    const query = new URLSearchParams(config.query).toString();
    this.#query = query === "" ? "" : `?${query}`;
    const options: Agent.Options = {
      connect: { timeout: config.connectTimeoutMs },
      headersTimeout: config.idleTimeoutMs,
      bodyTimeout: config.idleTimeoutMs,
      // Most servers keep an idle connection for 5 s or longer; a shorter time meets fewer closed ones.
      keepAliveTimeout: 4_000,
    };
    const proxies = proxiesIn(env);
    this.#dispatcher =
      proxies === undefined || isLoopback(url.hostname)
        ? new Agent(options)
        : new EnvHttpProxyAgent({ ...options, ...proxies });
  }

  /**
   * Sends a request once, with this upstream's key, to this upstream's address: a client chooses neither. A redirect is
   * never followed; it comes back as the status that it is.
   */
  send(call: UpstreamCall, options: SendOptions): Promise<Outcome> {
    const { apiKey, apiKeyHeader, headers, idleTimeoutMs } = this.config;
    const key: Record<string, string> =
      apiKey === undefined
        ? {}
        : { [apiKeyHeader]: apiKeyHeader === "authorization" ? `Bearer ${apiKey}` : apiKey };
    const { method = "POST", path, body = null } = call;
    const request = {
      origin: this.#origin,
      path: `${this.#pathPrefix}${path}${this.#query}`,
      method,
      headers: { ...call.headers, ...headers, ...key },
      body,
    };
    return sendRequest({
      ...options,
      idleTimeoutMs,
      heartbeat: this.#heartbeat,
      dispatch: (handler) => void this.#dispatcher.dispatch(request, handler),
    });
  }

  /** Returns why a request may not be sent now; undefined: it may. */
  unusable(model: string, source: RequestSource): Problem | undefined {
    const { name, apiKey, apiKeyVariable } = this.config;
    if (apiKey === undefined && apiKeyVariable !== undefined)
      return new Problem(
        "upstream_key_missing",
        `upstream "${name}" has no key: set ${apiKeyVariable} and start the gateway again`,
      );
    const pause = this.health.pause(model, source, Date.now());
    if (pause === undefined) return undefined;
    const { of, waitMs, lastError: cause, mayShowError } = pause;
    const reason = mayShowError ? `; last error: ${cause?.message ?? "unknown"}` : "";
    const seconds = Math.ceil(waitMs / 1000);
    const paused = `upstream "${name}"`;
    return new Problem(
      "upstream_circuit_open",
      `${of === "model" && model !== "" ? `model "${model}" of ${paused}` : paused} is paused for ${seconds} s after repeated failures${reason}`,
      { retryAfter: seconds, cause },
    );
  }

  /** A request goes to one of its models. */
  begin(model: string, source: RequestSource): UpstreamRequest {
    this.#budget.request();
    this.health.begin(model, source, Date.now());
    return new UpstreamRequest(this, model, source);
  }

  /** How long to wait before it is asked again; undefined: it is not. */
  waitAfter(outcome: FailedOutcome, tried: number, source: RequestSource): number | undefined {
    if (isFinal(outcome)) return undefined;
    const now = Date.now();
    const header = outcome.is === "refused" ? outcome.headers["retry-after"] : undefined;
    const failure = { status: statusOf(outcome), retryAfter: retryAfterSeconds(header, now) };
    const wait = waitBeforeRetry(failure, tried, this.config.retries, Math.random());
    if (wait === undefined || !this.#conversations.take(source, now)) return undefined;
    return this.#budget.takeRetry() ? wait : undefined;
  }

  /** Gives a conversation its retries back. */
  restoreRetries(source: RequestSource): void {
    this.#conversations.succeeded(source);
  }

  async close(): Promise<void> {
    await this.#dispatcher.destroy();
  }
}

/** A request on its way to an upstream. It counts once, however often it is tried. */
export class UpstreamRequest {
  readonly upstream: Upstream;
  readonly #model: string;
  readonly #source: RequestSource;
  #isAnswered = false;

  constructor(upstream: Upstream, model: string, source: RequestSource) {
    this.upstream = upstream;
    this.#model = model;
    this.#source = source;
  }

  send(call: UpstreamCall, options: Omit<SendOptions, "onAnswering">): Promise<Outcome> {
    return this.upstream.send(call, { ...options, onAnswering: () => this.#answering() });
  }

  /** How long to wait before it is tried again; undefined: it is not. */
  waitAfter(outcome: FailedOutcome, tried: number): number | undefined {
    return this.upstream.waitAfter(outcome, tried, this.#source);
  }

  /** Call it once. `outcome` is undefined if the request shows nothing about the upstream. */
  finish(outcome: Outcome | undefined, error?: Problem): void {
    const { health } = this.upstream;
    const model = this.#model;
    const of = outcome === undefined ? undefined : verdict(outcome);
    if (of === undefined) {
      health.undecided(model, this.#source, Date.now());
      if (error !== undefined) health.broke(model, error, Date.now());
    } else if (of === "good" && outcome?.is === "answered") health.succeeded(model, Date.now());
    else if (of === "good") health.refused(model, error, Date.now());
    else health.failed({ of, model, error }, this.#source, Date.now());
    // A 429 says that the server works, but it is no success.
    if (outcome?.is === "answered" && of === "good") this.upstream.restoreRetries(this.#source);
  }

  #answering(): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    this.upstream.health.answering(this.#model, this.#source);
  }
}

/**
 * An upstream that refuses a request works; one that cannot answer does not. A reply that breaks after its beginning says
 * neither: a pause would only hide from the client why it broke.
 */
function verdict(outcome: Outcome): FailureOf | "good" | undefined {
  if (outcome.is === "left") return undefined;
  if (outcome.is === "answered") return outcome.failure === undefined ? "good" : undefined;
  if (outcome.is === "unreachable" && outcome.connected !== true) return "address";
  // Nothing is down: the address is another server's. A pause would hide that.
  if (isWebPage(outcome)) return "good";
  const status = statusOf(outcome);
  return status === 0 || status >= 500 ? "model" : "good";
}

/** The usual variables, in either case; lower case wins, as everywhere. */
function proxiesIn(
  env: Readonly<Record<string, string | undefined>>,
): EnvHttpProxyAgent.Options | undefined {
  const named = (name: string): string | undefined =>
    env[name] || env[name.toUpperCase()] || undefined;
  const httpProxy = named("http_proxy") ?? named("all_proxy");
  const httpsProxy = named("https_proxy") ?? named("all_proxy");
  if (httpProxy === undefined && httpsProxy === undefined) return undefined;
  return {
    noProxy: named("no_proxy") ?? "",
    ...(httpProxy === undefined ? {} : { httpProxy }),
    ...(httpsProxy === undefined ? {} : { httpsProxy }),
  };
}
