import { createCell, type Cell } from "../cell.ts";
import type { AppStore } from "../state/app-store.ts";

type GatewayStatusState =
  | { readonly status: "loading" }
  | { readonly status: "failed"; readonly message: string }
  | { readonly status: "ready"; readonly report: GatewayStatus };

export interface GatewayStatusStore {
  readonly state: Cell<GatewayStatusState>;
  /** Loads everything. */
  reload(): Promise<void>;
  /** Loads everything that changes over time: upstreams, MCP servers and lessons. */
  refresh(): Promise<void>;
  /** Deletes the lessons of one upstream, or all if it is undefined. Rejects if the request fails. */
  deleteLessons(upstream?: string): Promise<void>;
  /** Loads the settings for another agent or model. Rejects if the request fails. */
  chooseConnection(change: Partial<ConnectionChoice>): Promise<void>;
}

/** Which agent is connected with which model. */
export interface ConnectionChoice {
  readonly agent: string;
  readonly model: string;
}

/** Creates the store of the Upstreams view. Nothing is loaded until `reload` or `refresh` is called. */
export function createGatewayStatusStore(app: Pick<AppStore, "request">): GatewayStatusStore {
  const state = createCell<GatewayStatusState>({ status: "loading" });
  const getStatus = () => {
    const current = state.get();
    return current.status === "ready" ? current.report : undefined;
  };
  const request = async <Reply>(path: string, method = "GET"): Promise<Reply> => {
    const reply = await app.request(path, { method });
    const body = (await reply.json()) as Reply & { error?: { message?: string } };
    if (!reply.ok) throw new Error(body.error?.message ?? `${path}: ${reply.status}`);
    return body;
  };
  /** Number of the latest request. Replies to earlier ones, which may be for another model, are ignored. */
  let latestConnectionRequest = 0;
  /** Set while its settings are loaded. A model may be chosen before those of the agent have arrived. */
  let pendingChoice: ConnectionChoice | undefined;
  const requestConnection = async (choice: ConnectionChoice | undefined) => {
    const number = (latestConnectionRequest += 1);
    const query =
      choice === undefined
        ? ""
        : `?agent=${encodeURIComponent(choice.agent)}&model=${encodeURIComponent(choice.model)}`;
    const connection = await request<AgentConnection>(`/deltawire/connect${query}`);
    return number === latestConnectionRequest ? connection : undefined;
  };

  const load = async (skipConnection: boolean) => {
    try {
      const [{ upstreams, mcp = [] }, { lessons }, requestedConnection] = await Promise.all([
        request<{ upstreams: UpstreamStatus[]; mcp?: McpServerStatus[] }>("/deltawire/upstreams"),
        request<{ lessons: LessonStatus[] }>("/deltawire/lessons"),
        skipConnection ? undefined : requestConnection(pendingChoice ?? getStatus()?.connection),
      ]);
      const connection = requestedConnection ?? getStatus()?.connection;
      if (connection !== undefined)
        state.set({ status: "ready", report: { upstreams, mcp, lessons, connection } });
    } catch (error) {
      // Keeps the previous status; the header shows that the connection is lost.
      if (state.get().status !== "ready")
        state.set({
          status: "failed",
          message: error instanceof Error ? error.message : String(error),
        });
    }
  };
  const refresh = () => load(getStatus() !== undefined);
  return {
    state,
    reload: () => load(false),
    refresh,
    async deleteLessons(upstream) {
      const query = upstream === undefined ? "" : `?upstream=${encodeURIComponent(upstream)}`;
      await request(`/deltawire/lessons${query}`, "DELETE");
      await refresh();
    },
    async chooseConnection(change) {
      const current = pendingChoice ?? getStatus()?.connection;
      if (current === undefined) return;
      const choice = { agent: current.agent, model: current.model, ...change };
      pendingChoice = choice;
      const connection = await requestConnection(choice).finally(() => {
        if (pendingChoice === choice) pendingChoice = undefined;
      });
      const status = getStatus();
      if (status !== undefined && connection !== undefined)
        state.set({ status: "ready", report: { ...status, connection } });
    },
  };
}

/** An API that upstreams implement. */
export type UpstreamApi = "chat" | "responses" | "messages";

/** An upstream in the reply of `GET /deltawire/upstreams`. */
export interface UpstreamStatus {
  readonly name: string;
  readonly base_url: string;
  /** The configured API. */
  readonly speaks: UpstreamApi;
  /** Models that use another API, because they rejected requests over the configured one. */
  readonly learned_apis: readonly {
    readonly model: string;
    readonly speaks: UpstreamApi;
  }[];
  readonly profile: string;
  readonly has_key: boolean;
  readonly key_variable?: string;
  /** State of the circuit breaker of the base URL, shared by all models. */
  readonly circuit: "closed" | "open" | "half_open";
  /** Models that are paused after repeated failures while others are served. */
  readonly paused_models: readonly { readonly model: string; readonly last_error: string }[];
  /** Models whose last request failed. */
  readonly failing_models: readonly {
    readonly model: string;
    readonly last_error: string;
    readonly last_failure_at: string;
  }[];
  /** The upstream's error message, if it rejected the key. */
  readonly key_error?: string;
  readonly last_success_at?: string;
  readonly last_failure_at?: string;
  readonly last_error?: string;
  readonly listing:
    | { readonly status: "configured" | "loading" | "listed" }
    | { readonly status: "failed"; readonly reason: string };
  readonly models: readonly string[];
}

/** An MCP server in the reply of `GET /deltawire/upstreams`. */
export interface McpServerStatus {
  readonly name: string;
  readonly problem?: string;
}

export interface LessonStatus {
  readonly upstream: string;
  readonly model: string;
  readonly code: string;
  readonly description: string;
  readonly provider_message: string;
}

/** The reply of `GET /deltawire/connect`. */
export interface AgentConnection extends ConnectionChoice {
  /** All agents that can be chosen. */
  readonly agents: readonly { readonly id: string; readonly name: string }[];
  readonly token_required: boolean;
  /** Shell command that runs the agent on this gateway without changing a file. */
  readonly command: string;
  /** The settings to add, by file. */
  readonly files: readonly { readonly file: string; readonly text: string }[];
  /** Shell command that adds the settings. */
  readonly connect_command: string;
  readonly settings: SettingsPreview;
  /** Only of Codex. */
  readonly migration?: CodexMigration;
}

export interface FileDiff {
  readonly file: string;
  readonly diff: string;
}

/** What `connect` would change on the machine of the gateway. */
export type SettingsPreview =
  | { readonly status: "unknown" | "not_needed" }
  | { readonly status: "impossible"; readonly reason: string }
  | {
      readonly status: "possible";
      readonly changes: readonly FileDiff[];
      readonly notes: readonly string[];
    };

export type CodexMigration =
  | { readonly status: "unknown" }
  | { readonly status: "not_needed"; readonly file: string; readonly notes: readonly string[] }
  | { readonly status: "impossible"; readonly reason: string }
  | {
      readonly status: "possible";
      readonly file: string;
      readonly changes: readonly FileDiff[];
      readonly notes: readonly string[];
      readonly unset: readonly string[];
    };

interface GatewayStatus {
  readonly upstreams: readonly UpstreamStatus[];
  readonly mcp: readonly McpServerStatus[];
  readonly lessons: readonly LessonStatus[];
  readonly connection: AgentConnection;
}

export type UpstreamHealthStatus =
  | "healthy"
  /** No request has been sent yet. */
  | "unknown"
  | "no key"
  | "key rejected"
  /** The last request failed; requests are still sent. */
  | "failing"
  /** The upstream failed several times; no requests are sent for a while. */
  | "paused";

export function toUpstreamHealthStatus(upstream: UpstreamStatus): UpstreamHealthStatus {
  const {
    circuit,
    has_key,
    key_variable,
    last_success_at = "",
    last_failure_at = "",
    listing,
  } = upstream;
  const hasPausedModels = upstream.paused_models.length > 0;
  if (key_variable !== undefined && !has_key) return "no key";
  if (upstream.key_error !== undefined) return "key rejected";
  if (circuit !== "closed") return "paused";
  if (hasPausedModels || last_failure_at > last_success_at) return "failing";
  if (last_success_at !== "" || listing.status === "listed") return "healthy";
  return listing.status === "failed" ? "failing" : "unknown";
}
