import { Agent, EnvHttpProxyAgent, type Dispatcher } from "undici";
import { isLoopback } from "../config/addresses.ts";
import type { UpstreamConfig } from "../config/config.ts";
import { Problem } from "../http/problem.ts";
import { Circuit } from "./circuit.ts";
import { isFinal, statusOf } from "./failure.ts";
import type { Outcome } from "./outcome.ts";
import { RetryBudget, retryAfterSeconds, waitBeforeRetry } from "./retry.ts";

export interface UpstreamCall {
  method: "GET" | "POST";
  /** Behind the base address: `/chat/completions`. */
  path: string;
  headers: Readonly<Record<string, string>>;
  body: string | Dispatcher.DispatchOptions["body"];
}

/** One configured server: where it is, its key, its connections and how it has been doing. */
export class Upstream {
  readonly config: UpstreamConfig;
  readonly circuit = new Circuit();
  readonly #budget = new RetryBudget();
  /** What went wrong last, for whoever is turned away while its circuit is open. */
  lastProblem: Problem | undefined;
  readonly #origin: string;
  readonly #pathPrefix: string;
  readonly #query: string;
  readonly #dispatcher: Agent | EnvHttpProxyAgent;

  constructor(config: UpstreamConfig, env: Readonly<Record<string, string | undefined>>) {
    this.config = config;
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
   * Sends a request, with this upstream's key, to this upstream's address: a client chooses neither. A redirect is
   * never followed; it comes back as the status that it is.
   */
  dispatch(call: UpstreamCall, handler: Dispatcher.DispatchHandler): void {
    const { apiKey, apiKeyHeader, headers } = this.config;
    const key: Record<string, string> =
      apiKey === undefined
        ? {}
        : { [apiKeyHeader]: apiKeyHeader === "authorization" ? `Bearer ${apiKey}` : apiKey };
    this.#dispatcher.dispatch(
      {
        origin: this.#origin,
        path: `${this.#pathPrefix}${call.path}${this.#query}`,
        method: call.method,
        headers: { ...call.headers, ...headers, ...key },
        body: call.body ?? null,
      },
      handler,
    );
  }

  /** Why it is not asked at all. */
  unusable(): Problem | undefined {
    const { name, apiKey, apiKeyVariable } = this.config;
    if (apiKey === undefined && apiKeyVariable !== undefined)
      return new Problem(
        "upstream_key_missing",
        `upstream "${name}" has no key: set ${apiKeyVariable} and start the gateway again`,
      );
    const leftMs = this.circuit.waitMs(Date.now());
    if (leftMs === undefined) return undefined;
    const seconds = Math.ceil(leftMs / 1000);
    const cause = this.lastProblem;
    return new Problem(
      "upstream_circuit_open",
      `upstream "${name}" failed several times in a row and is left alone for ${seconds} s more; the last time: ${cause?.message ?? "unknown"}`,
      { retryAfter: seconds, cause },
    );
  }

  /** A request goes; how it fared is told by `note`. */
  begin(): void {
    this.#budget.request();
    this.circuit.begin(Date.now());
  }

  /** An upstream that refuses a request works; one that breaks or is overloaded does not. */
  note(outcome: Outcome | undefined): void {
    const now = Date.now();
    const status = outcome === undefined || outcome.is === "left" ? undefined : statusOf(outcome);
    if (status === undefined) this.circuit.undecided(now);
    else if (status === 0 || status >= 500) this.circuit.failed(now);
    else this.circuit.succeeded(now);
  }

  /** How long to wait before it is asked again; undefined: it is not. */
  waitAfter(outcome: Outcome, tried: number): number | undefined {
    if (isFinal(outcome)) return undefined;
    const header = outcome.is === "refused" ? outcome.headers["retry-after"] : undefined;
    const retryAfter = retryAfterSeconds(header, Date.now());
    const failure = { status: statusOf(outcome), retryAfter };
    const wait = waitBeforeRetry(failure, tried, this.config.retries, Math.random());
    return wait !== undefined && this.#budget.takeRetry() ? wait : undefined;
  }

  async close(): Promise<void> {
    await this.#dispatcher.destroy();
  }
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
