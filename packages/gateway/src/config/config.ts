import type { Profile } from "@deltawire/wire";

/*
 * The configuration as the gateway uses it: read, checked, defaults filled in, secrets resolved. `settings.ts` is the
 * table that it is read by.
 */

export interface Config {
  readonly server: ServerConfig;
  /** By name, in the order of the file. */
  readonly upstreams: ReadonlyMap<string, UpstreamConfig>;
  /** Names that clients use. */
  readonly models: ReadonlyMap<string, ModelAlias>;
  /** What a user should hear at the start: a key that is not set, a setting that Codex ignores. */
  readonly warnings: readonly string[];
}

export interface ServerConfig {
  readonly host: string;
  readonly port: number;
  /** Who may use the gateway; empty means anybody who reaches it, which only loopback allows. */
  readonly clients: readonly ClientConfig[];
  /** Further names under which the gateway is reached, for the Host check. */
  readonly allowedHosts: readonly string[];
  /** Pages of these origins may call the gateway; none by default. */
  readonly corsOrigins: readonly string[];
  /** The largest request body, unpacked. */
  readonly maxBodyBytes: number;
  /** How long open streams may go on after SIGTERM. */
  readonly drainSeconds: number;
  readonly logLevel: LogLevel;
  /** Whether the built-in demo upstream is served: unless the file says so, only where there is no other. */
  readonly demo: boolean;
}

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

export interface ClientConfig {
  /** For the log. */
  readonly name: string;
  readonly token: string;
  /** Document 001 as a service: calls in deltas, or each in one piece. */
  readonly toolCalls: "deltas" | "whole";
  /** Reasoning as summary events, which every client knows, or as raw text. */
  readonly reasoning: "summary" | "text";
}

export interface UpstreamConfig {
  readonly name: string;
  /** Without a slash at its end; `/chat/completions` and the like are put behind it. */
  readonly baseUrl: string;
  readonly speaks: "chat" | "responses";
  readonly profile: Profile;
  readonly apiKey: string | undefined;
  /** The environment variable that the key comes from, for messages. */
  readonly apiKeyVariable: string | undefined;
  /** `authorization` sends `Bearer KEY`; another header, such as Azure's `api-key`, sends the key alone. */
  readonly apiKeyHeader: string;
  /** Sent with every request. May hold secrets. */
  readonly headers: Readonly<Record<string, string>>;
  /** Added to every address, such as Azure's `api-version`. */
  readonly query: Readonly<Record<string, string>>;
  /** Its models; undefined: it is asked. */
  readonly models: readonly string[] | undefined;
  readonly connectTimeoutMs: number;
  /** The longest silence in a reply, and before it. */
  readonly idleTimeoutMs: number;
  /** How often a request is tried again before the first byte. */
  readonly retries: number;
}

export interface ModelAlias {
  /** Tried in order until the first byte. */
  readonly targets: readonly ModelTarget[];
  /** Told to Codex, which compacts by it. */
  readonly contextWindow: number | undefined;
}

export interface ModelTarget {
  readonly upstream: string;
  readonly model: string;
}
