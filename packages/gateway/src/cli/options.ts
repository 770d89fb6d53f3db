/** In the order in which the help lists them. */
export const commandNames = [
  "serve",
  "codex",
  "claude",
  "run",
  "connect",
  "migrate",
  "models",
  "lessons",
  "keys",
  "store",
] as const;

export type CommandName = (typeof commandNames)[number];

/*
 * Command lines are parsed with the flags of this table, and the help is generated from it. A flag without `commands` is
 * accepted by all commands. A flag without `description` is an alias that the help does not list.
 */
const agentCommands = ["codex", "claude", "run", "connect"] as const;
const gatewayCommands = ["serve", ...agentCommands, "models", "lessons"] as const;
const hostCommands = [...gatewayCommands, "keys"] as const;
const configCommands = [...hostCommands, "migrate", "store"] as const;
const portCommands = [...hostCommands, "migrate"] as const;
const upstreamCommands = ["serve", ...agentCommands, "models"] as const;
const modelCommands = ["claude", "run", "connect"] as const;

export const cliOptions = {
  config: {
    type: "string",
    short: "c",
    value: "FILE",
    example: "deltawire.toml",
    commands: configCommands,
    description:
      "configuration file (default: ./deltawire.toml, else the one in the user's config folder)",
  },
  upstream: {
    type: "string",
    value: "URL",
    example: "http://127.0.0.1:8000/v1",
    commands: upstreamCommands,
    description: "base URL of an upstream, in addition to those of the configuration file",
  },
  "api-key-env": {
    type: "string",
    value: "NAME",
    example: "ZAI_API_KEY",
    commands: upstreamCommands,
    description: "environment variable that contains the API key of --upstream",
  },
  speaks: {
    type: "string",
    value: "API",
    example: "chat",
    commands: upstreamCommands,
    description: "API of --upstream: chat, responses, messages or auto (default: chat)",
  },
  profile: {
    type: "string",
    value: "NAME",
    example: "glm",
    commands: upstreamCommands,
    description:
      "provider profile of --upstream: glm, deepseek, kimi, vllm, ... (default: generic)",
  },
  host: {
    type: "string",
    value: "HOST",
    example: "127.0.0.1",
    commands: hostCommands,
    description: "address that the gateway listens on (default: 127.0.0.1)",
  },
  port: {
    type: "string",
    short: "p",
    value: "N",
    example: "4141",
    commands: portCommands,
    description: "port that the gateway listens on (default: 4141)",
  },
  data: {
    type: "string",
    value: "FOLDER",
    example: "./second",
    commands: [...hostCommands, "store"],
    description: "folder for chats, tasks and the sealing key; each gateway needs its own",
  },
  model: {
    type: "string",
    short: "m",
    value: "NAME",
    example: "zai/glm-4.6",
    commands: modelCommands,
    description: "model (default: first chat model of `models`, else the demo)",
  },
  "small-model": {
    type: "string",
    value: "NAME",
    example: "zai/glm-4.5-air",
    commands: modelCommands,
    description: "for background work such as titles (default: --model)",
  },
  write: {
    type: "boolean",
    commands: ["connect", "migrate"],
    description: "apply the changes instead of only showing them",
  },
  reset: {
    type: "boolean",
    commands: ["lessons"],
    description: "delete all lessons",
  },
  schema: {
    type: "string",
    value: "NAME",
    example: "deltawire",
    commands: ["store"],
    description: "schema of the PostgreSQL database (default: deltawire)",
  },
  owner: {
    type: "string",
    value: "NAME",
    example: "alice",
    commands: ["keys"],
    description: "whose chats, tasks and files the key can access (default: the name of the key)",
  },
  scopes: {
    type: "string",
    value: "LIST",
    example: "models,tasks",
    commands: ["keys"],
    description: "one or more of models,tasks,chats,admin (default: models,tasks,chats)",
  },
  expires: {
    type: "string",
    value: "TIME",
    example: "30d",
    commands: ["keys"],
    description:
      "when the key expires: 12h (hours), 30d (days), 8w (weeks) or a date (default: never)",
  },
  "requests-per-minute": {
    type: "string",
    value: "N",
    example: "60",
    commands: ["keys"],
    description: "limit of requests that use models",
  },
  "tokens-per-day": {
    type: "string",
    value: "N",
    example: "1000000",
    commands: ["keys"],
    description: "limit of tokens",
  },
  "cost-per-day": {
    type: "string",
    value: "N",
    example: "5",
    commands: ["keys"],
    description: "budget, in the currency of the prices in [models]",
  },
  "cost-per-month": {
    type: "string",
    value: "N",
    example: "50",
    commands: ["keys"],
    description: "budget, in the currency of the prices in [models]",
  },
  json: {
    type: "boolean",
    commands: ["serve", "connect", "migrate", "models", "lessons", "keys", "store"],
    description: "print JSON",
  },
  help: { type: "boolean", short: "h", description: "show this help" },
  version: { type: "boolean", short: "V", description: "print the version; also -v" },
  v: { type: "boolean", short: "v" },
} as const;
