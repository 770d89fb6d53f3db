/** What the gateway tells of itself, as `/deltawire/…` answers it. */
export interface UpstreamStatus {
  readonly name: string;
  readonly base_url: string;
  readonly speaks: "chat" | "responses";
  readonly profile: string;
  readonly has_key: boolean;
  readonly key_variable?: string;
  /** Of the address, which all models share. */
  readonly circuit: "closed" | "open" | "trying";
  /** Models that are paused after repeated failures while others are served. */
  readonly paused_models: readonly { readonly model: string; readonly last_problem: string }[];
  /** Models whose last request failed. */
  readonly failing_models: readonly {
    readonly model: string;
    readonly last_problem: string;
    readonly last_bad_at: string;
  }[];
  /** The provider's words, where it rejected the key. */
  readonly key_problem?: string;
  readonly last_good_at?: string;
  readonly last_bad_at?: string;
  readonly last_problem?: string;
  readonly listing:
    | { readonly is: "configured" | "asking" | "told" }
    | { readonly is: "failed"; readonly why: string };
  readonly models: readonly string[];
}

/** A server of tools. */
export interface McpStatus {
  readonly name: string;
  readonly problem?: string;
}

export interface Lesson {
  readonly upstream: string;
  readonly model: string;
  readonly code: string;
  readonly what: string;
  readonly said: string;
}

export interface CodexStatus {
  readonly url: string;
  readonly model: string;
  readonly token_required: boolean;
  readonly block: string;
  /** What runs Codex on this gateway without changing a file. */
  readonly command: string;
  readonly migration: CodexMigration;
}

export type CodexMigration =
  | { readonly is: "unknown" }
  | { readonly is: "not needed"; readonly file: string; readonly notes: readonly string[] }
  | { readonly is: "impossible"; readonly why: string }
  | {
      readonly is: "possible";
      readonly file: string;
      readonly changes: readonly { readonly file: string; readonly diff: string }[];
      readonly notes: readonly string[];
      readonly unset: readonly string[];
    };

export interface GatewayStatus {
  readonly upstreams: readonly UpstreamStatus[];
  readonly mcp: readonly McpStatus[];
  readonly lessons: readonly Lesson[];
  readonly codex: CodexStatus;
}

export type Health =
  | "well"
  /** Nobody has asked it yet. */
  | "unknown"
  | "no key"
  | "key rejected"
  /** The last request failed; it is still asked. */
  | "failing"
  /** It failed several times and is left alone for a while. */
  | "left alone";

export function healthOf(upstream: UpstreamStatus): Health {
  const { circuit, has_key, key_variable, last_good_at = "", last_bad_at = "", listing } = upstream;
  const hasPaused = upstream.paused_models.length > 0;
  if (key_variable !== undefined && !has_key) return "no key";
  if (upstream.key_problem !== undefined) return "key rejected";
  if (circuit !== "closed") return "left alone";
  if (hasPaused || last_bad_at > last_good_at) return "failing";
  if (last_good_at !== "" || listing.is === "told") return "well";
  return listing.is === "failed" ? "failing" : "unknown";
}
