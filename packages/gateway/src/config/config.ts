import type { ModelPrice } from "@deltawire/agent";
import type { ModelOptions, ModelType, PrivacyKind } from "@deltawire/tasks/chats";
import type { MessagesFlags, UpstreamProfile } from "@deltawire/wire";

/*
 * The decoded configuration: checked, with defaults filled in and secrets resolved. `setting-definitions.ts` has the table of
 * settings.
 */

export interface Config {
  readonly server: ServerConfig;
  /** By name, in the order of the file. */
  readonly upstreams: ReadonlyMap<string, UpstreamConfig>;
  /** By the name that clients use. */
  readonly models: ReadonlyMap<string, ModelAlias>;
  /** Entries of `[models]` for many names, by pattern, in the order of the file. `findModelAlias` searches both. */
  readonly modelPatterns: ReadonlyMap<string, ModelAlias>;
  /** By name, in the order of the file. Each is a model name too. */
  readonly agents: ReadonlyMap<string, AgentConfig>;
  readonly tools: ToolsConfig;
  /** MCP servers by name; each is a tool group. */
  readonly mcp: ReadonlyMap<string, McpConfig>;
  readonly chats: ChatsConfig;
  /** By name, in the order of the file. */
  readonly skills: ReadonlyMap<string, SkillConfig>;
  readonly store: StoreConfig;
  readonly bus: BusConfig;
  /** Shown at startup: for example a key that is not set, or a setting that Codex ignores. */
  readonly warnings: readonly string[];
}

export interface ServerConfig {
  readonly host: string;
  readonly port: number;
  /** The clients with tokens. If empty, requests need no token, which is only allowed on loopback. */
  readonly clients: readonly ClientConfig[];
  /** Additional host names of the gateway, for the check of the Host header. */
  readonly allowedHosts: readonly string[];
  /** Origins of web pages that may call the gateway. */
  readonly corsOrigins: readonly string[];
  /** Maximum size of a request body after decompression. */
  readonly maxBodyBytes: number;
  /** Maximum number of values in a JSON request body. */
  readonly maxJsonValues: number;
  /** How long open streams may continue after SIGTERM. */
  readonly drainSeconds: number;
  readonly logLevel: LogLevel;
  /** The key for sealed reasoning. Undefined: the one in the data folder, or in the database that several processes share. */
  readonly sealingKey: string | undefined;
  /** Serves the built-in demo upstream. By default only if there is no other upstream. */
  readonly demo: boolean;
}

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

export interface ClientConfig {
  /** Unique. Used in the log, and as the key of stored data of the client. */
  readonly name: string;
  readonly token: string;
  /** Tool calls of Chat streams: as deltas, or each in one chunk. */
  readonly toolCalls: "deltas" | "complete";
  /** Reasoning as summary events, which every client supports, or as raw text. */
  readonly reasoning: "summary" | "raw";
}

/** An API that upstreams implement. */
export type ApiName = "chat" | "responses" | "messages";

export interface UpstreamConfig {
  readonly name: string;
  /** Without a trailing slash; `/chat/completions` and other paths are appended. */
  readonly baseUrl: string;
  /** The API of the first request of each model. Lessons may change it for a model. */
  readonly speaks: ApiName;
  /** True for `speaks = "auto"`: if the server does not have that API, the others are tried. */
  readonly detectsApi: boolean;
  readonly profile: UpstreamProfile;
  /** The flags of the profile, and those of the configuration, for a server that speaks Messages. */
  readonly messagesFlags: MessagesFlags;
  readonly apiKey: string | undefined;
  /** The environment variable of the key, for messages. */
  readonly apiKeyVariable: string | undefined;
  /** `authorization` sends `Bearer KEY`; another header, such as Azure's `api-key`, sends only the key. */
  readonly apiKeyHeader: string;
  /** Sent with every request. May contain secrets. */
  readonly headers: Readonly<Record<string, string>>;
  /** Added to every URL, such as Azure's `api-version`. */
  readonly query: Readonly<Record<string, string>>;
  /** Undefined: fetched from the upstream. */
  readonly models: readonly string[] | undefined;
  readonly connectTimeoutMs: number;
  /** Maximum time without data, before and during a reply. */
  readonly idleTimeoutMs: number;
  /** Maximum number of retries before the first byte of a reply. */
  readonly retries: number;
}

export interface ModelAlias {
  /** Tried in order until one sends its first byte. */
  readonly targets: readonly ModelTarget[];
  /** In tokens. Reported to Codex, which compacts the history accordingly. */
  readonly contextWindow: number | undefined;
  /** Used for cost limits. Only names in `[models]` have a price, so `upstream/model` has none. */
  readonly price: ModelPrice | undefined;
  /** Undefined: inferred from the name of the first target, like the two following properties. */
  readonly type: ModelType | undefined;
  /** The input that the model accepts in addition to text. */
  readonly inputModalities: readonly InputModality[] | undefined;
  readonly supportsTools: boolean | undefined;
  /** Default parameters of requests in chats. */
  readonly options: ModelOptions;
}

export type InputModality = "image" | "audio" | "pdf";

export interface ModelTarget {
  readonly upstream: string;
  readonly model: string;
  /** Requests for more output tokens are limited to this number. Undefined: as learned from the upstream. */
  readonly maxOutputTokens?: number;
}

export interface AgentConfig {
  readonly name: string;
  /** The name of a model, not of an agent. */
  readonly model: string;
  /** Shown to the agents that may call it. */
  readonly description: string;
  readonly instructions: string;
  /** Built-in groups and names of `mcp`. Contains `agents` if and only if `agents` is not empty. */
  readonly toolGroups: readonly string[];
  /** The agents that this agent may call, never itself. */
  readonly agents: readonly string[];
  readonly limits: AgentLimits;
  readonly atLimit: "finish" | "ask";
  readonly reasoning: "summary" | "raw";
  /** The reasoning effort. Undefined: the model's default. */
  readonly effort: string | undefined;
  /** In tokens. Undefined: the model's context window. */
  readonly contextWindow: number | undefined;
  /** How long an approval may stay pending. Undefined: without limit. */
  readonly approvalSeconds: number | undefined;
  /** Request parameters. */
  readonly options: ModelOptions;
}

export interface AgentLimits {
  readonly rounds: number;
  readonly tokens?: number;
  readonly cost?: number;
  readonly seconds?: number;
  readonly depth: number;
}

/** When approval is needed to run a call, and to send its result to the model. Undefined: the default of each tool. */
interface ApprovalPolicies {
  readonly approval: "auto" | "ask_once" | "ask_always" | undefined;
  readonly resultApproval: "never" | "on_error" | "always" | undefined;
}

export interface ToolPolicies extends ApprovalPolicies {
  /** True if the tools receive the private values of a chat instead of their placeholders. */
  readonly unmask: boolean;
}

/** The built-in tool groups. `files` and `shell` are undefined, and cannot be used, if no folder is configured. */
export interface ToolsConfig {
  readonly files: FilesConfig | undefined;
  readonly shell: ShellConfig | undefined;
  readonly web: WebConfig;
  readonly time: ToolPolicies;
  readonly agents: ApprovalPolicies;
}

interface FilesConfig extends ToolPolicies {
  readonly folder: string;
  readonly readOnly: boolean;
}

export interface ShellConfig extends ToolPolicies {
  readonly folder: string;
  /** Commands that run without approval. */
  readonly allow: readonly string[];
  readonly timeoutMs: number;
  /** Names of variables that commands receive in addition to the standard ones. */
  readonly env: readonly string[];
}

interface WebConfig extends ToolPolicies {
  readonly maxBytes: number;
  readonly timeoutMs: number;
}

export interface McpConfig extends ToolPolicies {
  readonly name: string;
  readonly transport: McpTransport;
  readonly timeoutMs: number;
  /** The names of the tools to use. Undefined: all tools of the server. */
  readonly tools: readonly string[] | undefined;
  /** Values from environment variables. All of them are treated as secrets. */
  readonly secrets: readonly string[];
}

export type McpTransport =
  | {
      readonly kind: "command";
      readonly command: string;
      readonly args: readonly string[];
      /** In addition to the standard variables. May contain secrets. */
      readonly env: Readonly<Record<string, string>>;
      /** Undefined: the working directory of the gateway. */
      readonly cwd: string | undefined;
    }
  | {
      readonly kind: "url";
      readonly url: string;
      /** May contain secrets. */
      readonly headers: Readonly<Record<string, string>>;
    };

/** Defaults for chats. */
export interface ChatsConfig {
  /** At most one of `model` and `agent` is set. */
  readonly model: string | undefined;
  readonly agent: string | undefined;
  readonly instructions: string;
  readonly toolGroups: readonly string[];
  /** Number of latest turns that are sent to the model; 0: all. */
  readonly maxTurns: number;
  /** Maximum number of tool-call rounds in one answer. */
  readonly maxRounds: number;
  /** How long requests to an unavailable model are retried. */
  readonly retrySeconds: number;
  /** Maximum duration of an answer. */
  readonly maxSeconds: number;
  /** When approval is needed to send the result of a tool to the model. */
  readonly resultApproval: "never" | "on_error" | "always";
  /** True if the first answer of a chat is followed by a request for a title. */
  readonly generateTitles: boolean;
  /** The model that generates titles. Undefined: the model that answers. */
  readonly titleModel: string | undefined;
  readonly options: ModelOptions;
  /** The kinds of private values that are masked before a request is sent. */
  readonly privacy: readonly PrivacyKind[];
  /** The IANA name. Undefined: the system's time zone. */
  readonly timeZone: string | undefined;
  /** True if every message is sent to the model with its time. */
  readonly addMessageTimes: boolean;
  /** How long a deleted chat can be restored. */
  readonly deletedDays: number;
}

/** Instructions that the model always receives, or reads when it needs them. */
export interface SkillConfig {
  readonly name: string;
  readonly text: string;
  /** Tells the model when to read the skill. Set if and only if `always` is false. */
  readonly when?: string;
  readonly always: boolean;
  /** Shown to users who choose skills. */
  readonly description: string;
}

export interface StoreConfig {
  /** False: tasks and chats are stored in memory until the gateway stops. */
  readonly enabled: boolean;
  /** The database file. Undefined: `deltawire.db` in the data folder. */
  readonly path: string | undefined;
  /** A PostgreSQL database, which is used instead of the file. Contains a password. */
  readonly url: string | undefined;
  /** The schema of the PostgreSQL database. */
  readonly schema: string;
  /** How long a task is stored after its end. Undefined: without limit. */
  readonly retentionDays: number | undefined;
  /** Maximum size. If the store is larger, the oldest tasks are deleted. */
  readonly maxMb: number;
  /** How long a response of the Responses API is stored, in days. */
  readonly responseDays: number;
  /** Maximum size of all responses. If they are larger, the oldest are deleted. */
  readonly responsesMaxMb: number;
  /** Maximum number of connections to the PostgreSQL database, in addition to the two for appends and for the lock. */
  readonly maxConnections: number;
  /** Where large blobs of a PostgreSQL store are. Undefined: in the database. */
  readonly s3: S3Config | undefined;
}

/** A bucket of Amazon S3 or of a server with its API. */
export interface S3Config {
  /** Prefix of the URLs of all objects. */
  readonly url: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Smaller blobs are stored in the database. */
  readonly minBytes: number;
}

/** How processes that share a store notify each other. */
export interface BusConfig {
  /** A Redis server. Contains a password. Undefined: there is no bus, or no store that could be shared. */
  readonly url: string | undefined;
  /** Prefix of all channel names. */
  readonly prefix: string;
}
