import type { ModelOptions, ModelType, PrivacyKind } from "@deltawire/tasks/chats";
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
  /** By name, in the order of the file. Each is a model name too. */
  readonly agents: ReadonlyMap<string, AgentConfig>;
  readonly tools: ToolsConfig;
  /** Servers of tools, by name; each is a tool group. */
  readonly mcp: ReadonlyMap<string, McpConfig>;
  readonly chats: ChatsConfig;
  /** By name, in the order of the file. */
  readonly skills: ReadonlyMap<string, SkillConfig>;
  readonly store: StoreConfig;
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
  /** The most values of a request's JSON body. */
  readonly maxJsonValues: number;
  /** How long open streams may go on after SIGTERM. */
  readonly drainSeconds: number;
  readonly logLevel: LogLevel;
  /** Whether the built-in demo upstream is served: unless the file says so, only where there is no other. */
  readonly demo: boolean;
}

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

export interface ClientConfig {
  /** Unique. The log names the client by it, and what is stored for a client is found under it. */
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
  /** For limits of cost. Only names of `[models]` have one, so `upstream/model` has none. */
  readonly price: Price | undefined;
  /** undefined, here and below: as its first target is known by its name. */
  readonly type: ModelType | undefined;
  /** What it takes beside text. */
  readonly takes: readonly TakenKind[] | undefined;
  readonly tools: boolean | undefined;
  /** What chats ask it with unless they say otherwise. */
  readonly options: ModelOptions;
}

export type TakenKind = "image" | "audio" | "pdf";

export interface Price {
  /** For a million tokens, as the next two. */
  readonly input: number;
  /** Tokens that the provider had in its cache; without it they cost what the others cost. */
  readonly cached?: number;
  readonly output: number;
  /** For a picture that the model makes. */
  readonly image?: number;
}

export interface ModelTarget {
  readonly upstream: string;
  readonly model: string;
}

export interface AgentConfig {
  readonly name: string;
  /** A name as clients use them, of a model and not of an agent. */
  readonly model: string;
  /** For the agents that may ask it for help. */
  readonly description: string;
  readonly instructions: string;
  /** Built-in ones, and names of `mcp`. With `agents` among them exactly where there are some to ask. */
  readonly toolGroups: readonly string[];
  /** Those that it may ask for help, never itself. */
  readonly agents: readonly string[];
  readonly limits: AgentLimits;
  readonly atLimit: "finish" | "ask";
  readonly reasoning: "summary" | "raw";
  /** undefined: the model's own. */
  readonly effort: string | undefined;
  /** undefined: as the model has it. */
  readonly contextWindow: number | undefined;
  /** How long a question to a person stays open; undefined: for ever. */
  readonly approvalSeconds: number | undefined;
  /** Parameters of the requests to its model. */
  readonly options: ModelOptions;
}

export interface AgentLimits {
  readonly rounds: number;
  readonly tokens?: number;
  readonly cost?: number;
  readonly seconds?: number;
  readonly depth: number;
}

/** Who is asked before a call is run, and before its result is told to the model; undefined: as each tool says. */
interface AskPolicies {
  readonly approval: "auto" | "ask once" | "ask always" | undefined;
  readonly results: "never" | "on error" | "always" | undefined;
}

export interface ToolPolicies extends AskPolicies {
  /** Whether its tools get the private values of a chat, or their placeholders. */
  readonly unmask: boolean;
}

/** The built-in tool groups. One that is undefined has no folder, and cannot be used. */
export interface ToolsConfig {
  readonly files: FilesConfig | undefined;
  readonly shell: ShellConfig | undefined;
  readonly web: WebConfig;
  readonly time: ToolPolicies;
  readonly agents: AskPolicies;
}

interface FilesConfig extends ToolPolicies {
  readonly folder: string;
  readonly readOnly: boolean;
}

export interface ShellConfig extends ToolPolicies {
  readonly folder: string;
  /** Commands that nobody is asked about. */
  readonly allow: readonly string[];
  readonly timeoutMs: number;
  /** Names of variables that commands get beside the usual ones. */
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
  /** Only these; undefined: all that it has. */
  readonly tools: readonly string[] | undefined;
  /** Values of it that came from the environment, and so are taken to be secret whatever their names. */
  readonly secrets: readonly string[];
}

export type McpTransport =
  | {
      readonly kind: "command";
      readonly command: string;
      readonly args: readonly string[];
      /** Beside the usual variables. May hold secrets. */
      readonly env: Readonly<Record<string, string>>;
      /** undefined: the gateway's own. */
      readonly cwd: string | undefined;
    }
  | {
      readonly kind: "url";
      readonly url: string;
      /** May hold secrets. */
      readonly headers: Readonly<Record<string, string>>;
    };

/** What chats have that say nothing else. */
export interface ChatsConfig {
  /** One of the two at most. */
  readonly model: string | undefined;
  readonly agent: string | undefined;
  readonly instructions: string;
  readonly toolGroups: readonly string[];
  /** How many turns of the conversation a model is told; 0: all. */
  readonly turns: number;
  /** Round trips between model and tools in one answer. */
  readonly rounds: number;
  /** How long a model that cannot be asked is asked again. */
  readonly retrySeconds: number;
  /** How long one answer may take. */
  readonly seconds: number;
  /** When a person is asked before the model gets a tool's result. */
  readonly results: "never" | "on error" | "always";
  /** Whether a model names chats. */
  readonly titles: boolean;
  /** undefined: the one that answers. */
  readonly titleModel: string | undefined;
  readonly options: ModelOptions;
  /** What is masked before a model is told. */
  readonly privacy: readonly PrivacyKind[];
  /** undefined: the system's. */
  readonly timeZone: string | undefined;
  /** Whether every message tells its own time. */
  readonly exactTime: boolean;
  /** How long a deleted chat can be restored. */
  readonly deletedDays: number;
}

/** A text that the model is told always, or that it reads when it needs it. */
export interface SkillConfig {
  readonly name: string;
  readonly text: string;
  /** Exactly where it is not `always` told. */
  readonly when?: string;
  readonly always: boolean;
  /** For people. */
  readonly description: string;
}

export interface StoreConfig {
  /** False: tasks are kept in memory, until the gateway stops. */
  readonly enabled: boolean;
  /** undefined: in the user's data folder. */
  readonly path: string | undefined;
  /** How long a task is kept after its end; undefined: for ever. */
  readonly keepDays: number | undefined;
  /** The oldest tasks go when there is more. */
  readonly maxMb: number;
}
