import { shellDefaults, defaultLimits, webDefaults } from "@deltawire/agent/basics";
import type { Setting } from "./setting.ts";

/** Names of approval policies in earlier versions, with their replacements. */
const formerCallPolicies = [
  ["ask once", "ask_once"],
  ["ask always", "ask_always"],
] as const;
export const formerResultPolicies = { "on error": "on_error" };
const approvalPolicies = ["auto", "ask_once", "ask_always"] as const;

/** The settings of the task runtime: agents, their tools, and the store. */
export const taskSettingDefinitions = [
  {
    path: "agents.*.model",
    type: "string",
    required: 'write model = "upstream/model", or a name from [models]',
    description: "The model of the agent, by a name that clients can use.",
  },
  {
    path: "agents.*.description",
    type: "string",
    defaultDescription: "none",
    description: "What the agent is for. Shown to agents that may call it and in lists of models.",
  },
  {
    path: "agents.*.instructions",
    type: "string",
    defaultDescription: "none",
    description: "The system prompt.",
  },
  {
    path: "agents.*.instructions_file",
    type: "string",
    defaultDescription: "none",
    description:
      "A Markdown file with the instructions, relative to the configuration; read at startup.",
  },
  {
    path: "agents.*.tool_groups",
    type: "list of strings",
    default: [],
    description: "Tool groups: files, shell, web, time, agents, and names of [mcp].",
  },
  {
    path: "agents.*.agents",
    type: "list of strings",
    defaultDescription: "all others if tool_groups has agents, else none",
    description: "The agents that this agent may call.",
  },
  {
    path: "agents.*.max_rounds",
    type: "integer",
    default: defaultLimits.rounds,
    min: 1,
    max: 10_000,
    description: "The limit of tool-call rounds; the final answer is not one.",
  },
  {
    path: "agents.*.max_tokens",
    type: "integer",
    defaultDescription: "no limit",
    min: 1,
    description: "The limit of input and output tokens of a task.",
  },
  {
    path: "agents.*.max_cost",
    type: "number",
    defaultDescription: "no limit",
    min: 0.0001,
    description: "The cost limit of a task, calculated from the prices of its model in [models].",
  },
  {
    path: "agents.*.max_seconds",
    type: "number",
    defaultDescription: "no limit",
    min: 1,
    description: "The time limit of a task.",
  },
  {
    path: "agents.*.max_depth",
    type: "integer",
    default: defaultLimits.depth,
    min: 0,
    max: 20,
    description: "The maximum depth of sub-agent calls below the agent; 0 allows none.",
  },
  {
    path: "agents.*.at_limit",
    type: "enum",
    default: "finish",
    values: ["finish", "ask"],
    description: "At a limit: answer without more tools, or ask the user whether to continue.",
  },
  {
    path: "agents.*.reasoning",
    type: "enum",
    default: "summary",
    values: ["summary", "raw"],
    description:
      "Reasoning in the stream of the task: as summaries, or as the raw text of the model.",
  },
  {
    path: "agents.*.effort",
    type: "string",
    defaultDescription: "the default of the model",
    description: "The reasoning effort, a value that the model supports.",
  },
  {
    path: "agents.*.context_window",
    type: "integer",
    defaultDescription: "the model's",
    min: 1,
    description: "The context window in tokens; the history is compacted before it is full.",
  },
  {
    path: "agents.*.approval_seconds",
    type: "number",
    defaultDescription: "no limit",
    min: 1,
    description: "How long an approval may stay pending.",
  },
  {
    path: "agents.*.options",
    type: "JSON table",
    default: {},
    description:
      "Request parameters in tasks and chats. In chats they take precedence over those of the model.",
  },
  {
    path: "tools.files.folder",
    type: "string",
    required: 'write folder = "…", the only folder that the tools can access',
    description: "The only folder that the tools can access.",
  },
  {
    path: "tools.files.read_only",
    type: "boolean",
    default: false,
    description: "Allow reading only.",
  },
  ...approvalSettings("tools.files", approvalPolicies),
  unmaskSetting("tools.files"),
  {
    path: "tools.shell.folder",
    type: "string",
    defaultDescription: "the folder of [tools.files]",
    description: "The working directory of commands. They can still access other folders.",
  },
  {
    path: "tools.shell.allow",
    type: "list of strings",
    default: [],
    description: "Commands that run without approval, such as git status, or @read-only.",
  },
  {
    path: "tools.shell.timeout_seconds",
    type: "number",
    default: shellDefaults.timeoutMs / 1000,
    min: 1,
    max: 86_400,
    description: "The time limit of a command.",
  },
  {
    path: "tools.shell.env",
    type: "list of strings",
    default: [],
    description: "Environment variables that commands receive besides standard ones such as PATH.",
  },
  // Commands that are not in `allow` need approval every time.
  ...approvalSettings("tools.shell", ["ask_always"]),
  unmaskSetting("tools.shell"),
  {
    path: "tools.web.max_kb",
    type: "number",
    default: webDefaults.maxBytes / 1024,
    min: 1,
    max: 102_400,
    description: "How much of a web page is read, in kilobytes.",
  },
  {
    path: "tools.web.timeout_seconds",
    type: "number",
    default: webDefaults.timeoutMs / 1000,
    min: 1,
    max: 3600,
    description: "The time limit for loading a web page.",
  },
  ...approvalSettings("tools.web", approvalPolicies),
  unmaskSetting("tools.web"),
  ...approvalSettings("tools.time", approvalPolicies),
  unmaskSetting("tools.time"),
  ...approvalSettings("tools.agents", approvalPolicies),
  {
    path: "mcp.*.command",
    type: "string",
    defaultDescription: "none, if url is set",
    description: "The program of a server that speaks MCP over standard input and output.",
  },
  {
    path: "mcp.*.args",
    type: "list of strings",
    default: [],
    description: "The arguments of the program.",
  },
  {
    path: "mcp.*.env",
    type: "table of variables",
    default: {},
    description: "Environment variables of the program, in addition to standard ones such as PATH.",
  },
  {
    path: "mcp.*.cwd",
    type: "string",
    defaultDescription: "the gateway's",
    description: "The working directory of the program.",
  },
  {
    path: "mcp.*.url",
    type: "string",
    defaultDescription: "none, if command is set",
    description: "The URL of a server that speaks MCP over HTTP.",
  },
  {
    path: "mcp.*.headers",
    type: "table of secrets",
    default: {},
    description: "Headers to send with every request to the server.",
  },
  {
    path: "mcp.*.timeout_seconds",
    type: "number",
    default: 60,
    min: 1,
    max: 86_400,
    description: "The time limit of a call.",
  },
  {
    path: "mcp.*.tools",
    type: "list of strings",
    defaultDescription: "all tools of the server",
    description: "The tools that are used.",
  },
  ...approvalSettings("mcp.*", approvalPolicies),
  unmaskSetting("mcp.*"),
  {
    path: "store.enabled",
    type: "boolean",
    default: true,
    description:
      "Store tasks and chats in a database; otherwise in memory until the gateway stops.",
  },
  {
    path: "store.path",
    type: "string",
    defaultDescription: "deltawire.db in the data folder",
    description: "The database file.",
  },
  {
    path: "store.url",
    type: "secret",
    defaultDescription: "none",
    description:
      'A PostgreSQL database instead of the file: `"postgres://user:password@host:5432/database"`, or `env:NAME`. Several gateways can share it.',
  },
  {
    path: "store.schema",
    type: "string",
    default: "deltawire",
    description: "The PostgreSQL schema that contains all tables. It is created if it is missing.",
  },
  {
    path: "store.retention_days",
    formerName: "keep_days",
    type: "number",
    default: 90,
    min: 0,
    max: 36_500,
    description: "How many days a task is stored after its end; 0 is no limit.",
  },
  {
    path: "store.max_mb",
    type: "number",
    default: 4096,
    min: 1,
    description: "The maximum size of the store; beyond it the oldest tasks are deleted.",
  },
  {
    path: "store.response_days",
    type: "number",
    default: 30,
    min: 0.01,
    max: 36_500,
    description:
      "How many days a response of `/v1/responses` is stored, unless a newer one continues it.",
  },
  {
    path: "store.responses_max_mb",
    type: "number",
    default: 1024,
    min: 1,
    description: "The maximum size of all stored responses; beyond it the oldest are deleted.",
  },
  {
    path: "store.max_connections",
    type: "integer",
    default: 10,
    min: 1,
    max: 1000,
    description:
      "Connections of a gateway to PostgreSQL, in addition to four for events, leases and its lock.",
  },
  {
    path: "store.s3_url",
    type: "string",
    defaultDescription: "none",
    description:
      'An S3 bucket for large files, instead of the PostgreSQL database: `"https://host/bucket/folder"`, or `"https://bucket.host/folder"` if the bucket is part of the host name.',
  },
  {
    path: "store.s3_region",
    type: "string",
    default: "us-east-1",
    description: "The region of the bucket; other servers than Amazon usually accept the default.",
  },
  {
    path: "store.s3_access_key_id",
    type: "secret",
    defaultDescription: "none",
    description:
      "The id of the key for the bucket, which must allow reading, writing and deleting.",
  },
  {
    path: "store.s3_secret_access_key",
    type: "secret",
    defaultDescription: "none",
    description: "The key for the bucket, or `env:NAME`.",
  },
  {
    path: "store.s3_min_kb",
    type: "number",
    default: 256,
    min: 1,
    description: "Files of at least this size are stored in the bucket, in kilobytes.",
  },
  {
    path: "bus.url",
    type: "secret",
    defaultDescription: "none",
    description:
      'A Redis server (6 or later), for faster live events of processes that share a database: `"redis://user:password@host:6379"`, `rediss://` for TLS, or `env:NAME`. Needs `store.url`. Nothing is lost if it fails.',
  },
  {
    path: "bus.prefix",
    type: "string",
    default: "deltawire",
    description: "The prefix of channel names, different for each installation on a Redis server.",
  },
] as const satisfies readonly Setting[];

/** The approval settings of a tool group. */
function approvalSettings<const Group extends string, const Value extends string>(
  group: Group,
  values: readonly Value[],
) {
  return [
    {
      path: `${group}.approval`,
      type: "enum",
      defaultDescription: "the default of each tool",
      values,
      formerValues: Object.fromEntries(
        formerCallPolicies.filter(([, policy]) => values.some((value) => value === policy)),
      ),
      description: values.some((value) => value === "ask_once")
        ? "When a call needs approval. With `ask_once`, an approved call can be repeated with the same arguments."
        : "When a call needs approval.",
    },
    {
      path: `${group}.result_approval`,
      formerName: "results",
      type: "enum",
      defaultDescription: "the default of each tool",
      values: ["never", "on_error", "always"],
      formerValues: formerResultPolicies,
      description: "When a result needs approval before the model receives it.",
    },
  ] as const;
}

function unmaskSetting<const Group extends string>(group: Group) {
  return {
    path: `${group}.unmask`,
    type: "boolean",
    default: true,
    description: "Pass the private values of a chat to the tools, instead of placeholders.",
  } as const;
}
