import { cell, type Cell } from "../cell.ts";
import type { Page } from "../state/page.ts";

type StatusState =
  | { readonly is: "loading" }
  | { readonly is: "failed"; readonly message: string }
  | { readonly is: "ready"; readonly status: GatewayStatus };

export interface StatusReader {
  readonly state: Cell<StatusState>;
  /** All of it. */
  read(): Promise<void>;
  /** What changes by itself: how upstreams are doing, and what was learned. */
  look(): Promise<void>;
  /** Of one upstream, or all. Rejects where the gateway refuses it. */
  forgetLessons(upstream?: string): Promise<void>;
  /** How Codex is connected with this model. Rejects where the gateway does not tell. */
  chooseModel(model: string): Promise<void>;
}

/** How the gateway is doing, asked for when somebody looks. */
export function createStatusReader(page: Pick<Page, "ask">): StatusReader {
  const state = cell<StatusState>({ is: "loading" });
  const known = () => {
    const now = state.get();
    return now.is === "ready" ? now.status : undefined;
  };
  const ask = async <Reply>(path: string, method = "GET"): Promise<Reply> => {
    const reply = await page.ask(path, { method });
    const body = (await reply.json()) as Reply & { error?: { message?: string } };
    if (!reply.ok) throw new Error(body.error?.message ?? `${path}: ${reply.status}`);
    return body;
  };
  /** Of what was asked last: an earlier one may answer later, with a model that is not chosen any more. */
  let codexAsked = 0;
  const askCodex = async (model: string | undefined) => {
    const number = (codexAsked += 1);
    const query = model === undefined ? "" : `?model=${encodeURIComponent(model)}`;
    const codex = await ask<CodexStatus>(`/deltawire/codex${query}`);
    return number === codexAsked ? codex : undefined;
  };

  const readWith = async (hasCodex: boolean) => {
    try {
      const [{ upstreams, mcp = [] }, { lessons }, asked] = await Promise.all([
        ask<{ upstreams: UpstreamStatus[]; mcp?: McpStatus[] }>("/deltawire/upstreams"),
        ask<{ lessons: Lesson[] }>("/deltawire/lessons"),
        hasCodex ? undefined : askCodex(known()?.codex.model),
      ]);
      const codex = asked ?? known()?.codex;
      if (codex !== undefined)
        state.set({ is: "ready", status: { upstreams, mcp, lessons, codex } });
    } catch (error) {
      // What was read before is better than nothing; the bar says that the connection is lost.
      if (state.get().is !== "ready")
        state.set({
          is: "failed",
          message: error instanceof Error ? error.message : String(error),
        });
    }
  };
  const look = () => readWith(known() !== undefined);
  return {
    state,
    read: () => readWith(false),
    look,
    async forgetLessons(upstream) {
      const query = upstream === undefined ? "" : `?upstream=${encodeURIComponent(upstream)}`;
      await ask(`/deltawire/lessons${query}`, "DELETE");
      await look();
    },
    async chooseModel(model) {
      const codex = await askCodex(model);
      const status = known();
      if (status !== undefined && codex !== undefined)
        state.set({ is: "ready", status: { ...status, codex } });
    },
  };
}

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

interface GatewayStatus {
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
