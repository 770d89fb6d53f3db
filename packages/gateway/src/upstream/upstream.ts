import type { Agent, Dispatcher, EnvHttpProxyAgent } from "undici";
import { isLoopback } from "../config/host-addresses.ts";
import type { UpstreamConfig } from "../config/config.ts";
import { GatewayError } from "../gateway-error.ts";
import {
  isPermanentFailure,
  isWebPage,
  getOutcomeStatus,
  type FailedAttempt,
  type AttemptOutcome,
} from "./attempt-outcome.ts";
import type { Ticker } from "./ticker.ts";
import type { RequestSource } from "./request-source.ts";
import {
  RetryBudget,
  parseRetryAfterHeader,
  computeRetryDelay,
  type ConversationRetries,
} from "./retry.ts";
import { sendRequest, type SendRequestOptions } from "./send-request.ts";
import { createAgent, createProxyAgent } from "./undici-agents.ts";
import { UpstreamHealth, type FailureScope } from "./upstream-health.ts";

export interface UpstreamHttpRequest {
  /** Default: POST. */
  method?: "GET" | "POST";
  /** Appended to the base URL, such as `/chat/completions`. */
  path: string;
  headers: Readonly<Record<string, string>>;
  body?: Dispatcher.DispatchOptions["body"];
}

/** The version of the Messages API. Every server knows it; newer ones reject parameters that OpenAI clients send. */
export const messagesApiVersion = "2023-06-01";

export type SendOptions = Pick<SendRequestOptions, "signal" | "createReader" | "onData">;

/** One configured server: its URL, key, connections and health. */
export class Upstream {
  readonly config: UpstreamConfig;
  readonly health = new UpstreamHealth();
  readonly #retryBudget = new RetryBudget();
  readonly #conversationRetries: ConversationRetries;
  readonly #origin: string;
  readonly #pathPrefix: string;
  readonly #query: string;
  readonly #dispatcher: Agent | EnvHttpProxyAgent;
  readonly #ticker: Ticker;

  /** `conversationRetries` is shared by all upstreams: a request that falls back is still one request. */
  constructor(
    config: UpstreamConfig,
    env: Readonly<Record<string, string | undefined>>,
    conversationRetries: ConversationRetries,
    ticker: Ticker,
  ) {
    this.config = config;
    this.#ticker = ticker;
    this.#conversationRetries = conversationRetries;
    const url = new URL(config.baseUrl);
    this.#origin = url.origin;
    this.#pathPrefix = url.pathname.replace(/\/+$/, "");
    const query = new URLSearchParams(config.query).toString();
    this.#query = query === "" ? "" : `?${query}`;
    const agentOptions: Agent.Options = {
      connect: { timeout: config.connectTimeoutMs },
      headersTimeout: config.idleTimeoutMs,
      bodyTimeout: config.idleTimeoutMs,
      // Most servers close idle connections after at least 5 s; a shorter time avoids the use of closed ones.
      keepAliveTimeout: 4_000,
    };
    const proxyOptions = readProxyOptions(env);
    this.#dispatcher =
      proxyOptions === undefined || isLoopback(url.hostname)
        ? createAgent(agentOptions)
        : createProxyAgent({ ...agentOptions, ...proxyOptions });
  }

  /**
   * Sends a request once. The URL and the key are always those of this upstream. Redirects are not followed; they are
   * returned as errors.
   */
  send(httpRequest: UpstreamHttpRequest, options: SendOptions): Promise<AttemptOutcome> {
    const { apiKey, apiKeyHeader, headers, idleTimeoutMs } = this.config;
    const keyHeader: Record<string, string> =
      apiKey === undefined
        ? {}
        : { [apiKeyHeader]: apiKeyHeader === "authorization" ? `Bearer ${apiKey}` : apiKey };
    const { method = "POST", path, body = null } = httpRequest;
    const request = {
      origin: this.#origin,
      path: `${this.#pathPrefix}${path}${this.#query}`,
      method,
      headers: { ...mergeHeaders(httpRequest.headers, headers), ...keyHeader },
      body,
    };
    return sendRequest({
      ...options,
      idleTimeoutMs,
      ticker: this.#ticker,
      dispatch: (handler) => void this.#dispatcher.dispatch(request, handler),
    });
  }

  /** Returns why a request cannot be sent now; undefined if it can. */
  findBlockingError(model: string, source: RequestSource): GatewayError | undefined {
    const { name, apiKey, apiKeyVariable } = this.config;
    if (apiKey === undefined && apiKeyVariable !== undefined)
      return new GatewayError(
        "upstream_key_missing",
        `upstream "${name}" has no key; set ${apiKeyVariable} and restart the gateway`,
      );
    const pause = this.health.findPause(model, source, Date.now());
    if (pause === undefined) return undefined;
    const { scope, waitMs, lastError: cause, mayShowError } = pause;
    const reason = mayShowError ? `; last error: ${cause?.message ?? "unknown"}` : "";
    const seconds = Math.ceil(waitMs / 1000);
    const upstreamLabel = `upstream "${name}"`;
    return new GatewayError(
      "upstream_circuit_open",
      `${scope === "model" && model !== "" ? `model "${model}" of ${upstreamLabel}` : upstreamLabel} is paused for ${seconds} s after repeated failures${reason}`,
      { retryAfter: seconds, cause },
    );
  }

  /** Must be called before a request is sent to a model. */
  beginRequest(model: string, source: RequestSource): UpstreamRequest {
    this.#retryBudget.recordRequest();
    this.health.beginRequest(model, source, Date.now());
    return new UpstreamRequest(this, model, source);
  }

  /** Uses one retry and returns the milliseconds to wait before it; undefined if there must be none. */
  takeRetryDelay(
    outcome: FailedAttempt,
    attempt: number,
    source: RequestSource,
  ): number | undefined {
    if (isPermanentFailure(outcome)) return undefined;
    const now = Date.now();
    const header = outcome.type === "rejected" ? outcome.headers["retry-after"] : undefined;
    const failure = {
      status: getOutcomeStatus(outcome),
      retryAfter: parseRetryAfterHeader(header, now),
    };
    const delayMs = computeRetryDelay(failure, attempt, this.config.retries, Math.random());
    if (delayMs === undefined || !this.#conversationRetries.takeRetry(source, now))
      return undefined;
    return this.#retryBudget.takeRetry() ? delayMs : undefined;
  }

  /** Restores all retries of a conversation. */
  restoreRetries(source: RequestSource): void {
    this.#conversationRetries.reset(source);
  }

  async close(): Promise<void> {
    await this.#dispatcher.destroy();
  }
}

/** A request to an upstream, which counts once for its health, regardless of the number of attempts. */
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

  send(
    httpRequest: UpstreamHttpRequest,
    options: Omit<SendOptions, "onData">,
  ): Promise<AttemptOutcome> {
    return this.upstream.send(httpRequest, { ...options, onData: () => this.#onData() });
  }

  /** Uses one retry and returns the milliseconds to wait before it; undefined if there must be none. */
  takeRetryDelay(outcome: FailedAttempt, attempt: number): number | undefined {
    return this.upstream.takeRetryDelay(outcome, attempt, this.#source);
  }

  /** Must be called once. `outcome` is undefined if the request says nothing about the upstream's health. */
  finish(outcome: AttemptOutcome | undefined, error?: GatewayError): void {
    const { health } = this.upstream;
    const model = this.#model;
    const scope = outcome === undefined ? undefined : classifyOutcome(outcome);
    if (scope === undefined) {
      health.recordInconclusive(model, this.#source, Date.now());
      if (error !== undefined) health.recordBrokenReply(model, error, Date.now());
    } else if (scope === "good" && outcome?.type === "answered")
      health.recordSuccess(model, Date.now());
    else if (scope === "good") health.recordRejection(model, error, Date.now());
    else health.recordFailure({ scope, model, error }, this.#source, Date.now());
    // A 429 shows that the server works, but it is not a success.
    if (outcome?.type === "answered" && scope === "good")
      this.upstream.restoreRetries(this.#source);
  }

  #onData(): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    this.upstream.health.recordFirstByte(this.#model, this.#source);
  }
}

/** The features that a Messages client uses. Each is rejected without its name here. */
const betaHeader = "anthropic-beta";

/** Returns the headers of a request and of the configuration, which replace them, except for lists, which are joined. */
function mergeHeaders(
  requested: Readonly<Record<string, string>>,
  configured: Readonly<Record<string, string>>,
): Record<string, string> {
  const merged = { ...requested, ...configured };
  const betas = [requested[betaHeader], configured[betaHeader]].filter(
    (list) => list !== undefined,
  );
  if (betas.length > 0) merged[betaHeader] = betas.join(",");
  return merged;
}

/**
 * Returns what a failure applies to, "good" if the upstream works, or undefined if the outcome shows neither. An upstream that
 * rejects a request works. A reply that breaks after its start shows neither: a pause would only hide the reason from the client.
 */
function classifyOutcome(outcome: AttemptOutcome): FailureScope | "good" | undefined {
  if (outcome.type === "aborted") return undefined;
  if (outcome.type === "answered") return outcome.failure === undefined ? "good" : undefined;
  if (outcome.type === "unreachable" && outcome.connected !== true) return "address";
  // The URL is that of another kind of server, which works. A pause would hide that.
  if (isWebPage(outcome)) return "good";
  const status = getOutcomeStatus(outcome);
  return status === 0 || status >= 500 ? "model" : "good";
}

/** Reads the standard proxy variables in either case; lower case takes precedence, as in other programs. */
function readProxyOptions(
  env: Readonly<Record<string, string | undefined>>,
): EnvHttpProxyAgent.Options | undefined {
  const readVariable = (name: string): string | undefined =>
    env[name] || env[name.toUpperCase()] || undefined;
  const httpProxy = readVariable("http_proxy") ?? readVariable("all_proxy");
  const httpsProxy = readVariable("https_proxy") ?? readVariable("all_proxy");
  if (httpProxy === undefined && httpsProxy === undefined) return undefined;
  return {
    noProxy: readVariable("no_proxy") ?? "",
    ...(httpProxy === undefined ? {} : { httpProxy }),
    ...(httpsProxy === undefined ? {} : { httpsProxy }),
  };
}
