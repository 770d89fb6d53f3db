import { Agent, EnvHttpProxyAgent, type Dispatcher } from "undici";
import { isLoopback } from "../config/addresses.ts";
import type { UpstreamConfig } from "../config/config.ts";
import type { Problem } from "../http/problem.ts";
import { Circuit } from "./circuit.ts";
import { RetryBudget } from "./retry.ts";

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
  readonly budget = new RetryBudget();
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
