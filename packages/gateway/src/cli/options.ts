/** The commands, in the order of the help. */
export const commandNames = ["serve", "codex", "migrate", "models", "lessons"] as const;

export type CommandName = (typeof commandNames)[number];

/*
 * The flags, as data: command lines are read by this table, and the help of every command is printed from it. A flag
 * without `commands` is taken by all of them; one without `description` is another spelling.
 */
const gateway = ["serve", "codex", "models", "lessons"] as const;
const upstream = ["serve", "codex", "models"] as const;

export const options = {
  config: {
    type: "string",
    short: "c",
    value: "FILE",
    example: "deltawire.toml",
    commands: commandNames,
    description: "a configuration; otherwise ./deltawire.toml, then the user's",
  },
  upstream: {
    type: "string",
    value: "URL",
    example: "http://127.0.0.1:8000/v1",
    commands: upstream,
    description: "an upstream, without a file",
  },
  "api-key-env": {
    type: "string",
    value: "NAME",
    example: "ZAI_API_KEY",
    commands: upstream,
    description: "the environment variable that holds its key",
  },
  speaks: {
    type: "string",
    value: "chat|responses",
    example: "chat",
    commands: upstream,
    description: "which wire it speaks (chat)",
  },
  profile: {
    type: "string",
    value: "NAME",
    example: "glm",
    commands: upstream,
    description: "how it differs: glm, deepseek, kimi, vllm, ... (generic)",
  },
  host: {
    type: "string",
    value: "HOST",
    example: "127.0.0.1",
    commands: gateway,
    description: "the address that the gateway listens on (127.0.0.1)",
  },
  port: {
    type: "string",
    short: "p",
    value: "N",
    example: "4141",
    commands: commandNames,
    description: "the port that the gateway listens on (4141)",
  },
  data: {
    type: "string",
    value: "FOLDER",
    example: "./second",
    commands: ["serve", "codex"],
    description:
      "where chats, tasks and the sealing key are stored; a second gateway needs its own",
  },
  write: {
    type: "boolean",
    commands: ["migrate"],
    description: "write the changes; without it they are only shown",
  },
  reset: {
    type: "boolean",
    commands: ["lessons"],
    description: "forget what was learned",
  },
  json: {
    type: "boolean",
    commands: ["serve", "migrate", "models", "lessons"],
    description: "output for programs",
  },
  help: { type: "boolean", short: "h", description: "this help" },
  version: { type: "boolean", short: "V", description: "the version; -v is the same" },
  v: { type: "boolean", short: "v" },
} as const;
