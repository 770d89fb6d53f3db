import { shellDefaults, usualLimits, webDefaults } from "@deltawire/agent";
import type { Setting } from "./setting.ts";

const approvals = ["auto", "ask once", "ask always"] as const;

/** The settings of the task runtime: agents, their tools, and where tasks are kept. */
export const taskSettings = [
  {
    path: "agents.*.model",
    type: "string",
    required: 'write model = "upstream/model", or a name of [models]',
    description: "The model that it works with, by a name that clients could use.",
  },
  {
    path: "agents.*.description",
    type: "string",
    otherwise: "none",
    description: "What it is good for, for the agents that may ask it and for lists of models.",
  },
  {
    path: "agents.*.instructions",
    type: "string",
    otherwise: "none",
    description: "What it is to do, for the system prompt.",
  },
  {
    path: "agents.*.instructions_file",
    type: "string",
    otherwise: "none",
    description:
      "A Markdown file with the instructions, seen from the folder of the configuration; it is read at the start.",
  },
  {
    path: "agents.*.tool_groups",
    type: "list of strings",
    default: [],
    description: "The tools it has: files, shell, web, time, agents, and names of [mcp].",
  },
  {
    path: "agents.*.agents",
    type: "list of strings",
    otherwise: "all others where tool_groups has agents, else none",
    description: "The agents that it may ask for help.",
  },
  {
    path: "agents.*.max_rounds",
    type: "integer",
    default: usualLimits.rounds,
    least: 1,
    most: 10_000,
    description:
      "How many rounds of tool calls a task may have. After them the model answers without tools.",
  },
  {
    path: "agents.*.max_tokens",
    type: "integer",
    otherwise: "no limit",
    least: 1,
    description: "The tokens that one task may use, sent and written.",
  },
  {
    path: "agents.*.max_cost",
    type: "number",
    otherwise: "no limit",
    least: 0.0001,
    description: "What one task may cost, by the prices of its model in [models].",
  },
  {
    path: "agents.*.max_seconds",
    type: "number",
    otherwise: "no limit",
    least: 1,
    description: "How long one task may work.",
  },
  {
    path: "agents.*.max_depth",
    type: "integer",
    default: usualLimits.depth,
    least: 0,
    most: 20,
    description: "How deep agents may ask agents below it.",
  },
  {
    path: "agents.*.at_limit",
    type: "word",
    default: "finish",
    words: ["finish", "ask"],
    description:
      "At a limit it finishes with an answer and no more tools, or the user is asked whether to go on.",
  },
  {
    path: "agents.*.reasoning",
    type: "word",
    default: "summary",
    words: ["summary", "raw"],
    description:
      "Its reasoning in the task's stream as summaries, or as the raw text of the model.",
  },
  {
    path: "agents.*.effort",
    type: "string",
    otherwise: "the model's own",
    description: "The reasoning effort, in a word that the model knows.",
  },
  {
    path: "agents.*.context_window",
    type: "integer",
    otherwise: "as the model has it",
    least: 1,
    description: "The context window in tokens; the history is compacted before it is full.",
  },
  {
    path: "agents.*.approval_seconds",
    type: "number",
    otherwise: "for ever",
    least: 1,
    description: "How long a question to a person stays open.",
  },
  {
    path: "agents.*.options",
    type: "JSON table",
    default: {},
    description:
      "Parameters of its requests, in tasks and in chats; in chats they are over those of its model.",
  },
  {
    path: "tools.files.folder",
    type: "string",
    required: 'write folder = "…", the folder that the tools may not leave',
    description: "The folder that the tools may not leave.",
  },
  {
    path: "tools.files.read_only",
    type: "boolean",
    default: false,
    description: "Whether files can only be read, not written or edited.",
  },
  ...policies("tools.files", approvals),
  unmask("tools.files"),
  {
    path: "tools.shell.folder",
    type: "string",
    otherwise: "that of [tools.files]",
    description: "The folder in which commands are run. It does not keep them from leaving it.",
  },
  {
    path: "tools.shell.allow",
    type: "list of strings",
    default: [],
    description: "Commands that are run without a question, such as git status, or @read-only.",
  },
  {
    path: "tools.shell.timeout_seconds",
    type: "number",
    default: shellDefaults.timeoutMs / 1000,
    least: 1,
    most: 86_400,
    description: "How long a command may run.",
  },
  {
    path: "tools.shell.env",
    type: "list of strings",
    default: [],
    description: "Names of variables that commands get beside the usual ones, such as PATH.",
  },
  // A command is asked about every time, whatever was said to the same one before; `allow` names the others.
  ...policies("tools.shell", ["ask always"]),
  unmask("tools.shell"),
  {
    path: "tools.web.max_kb",
    type: "number",
    default: webDefaults.maxBytes / 1024,
    least: 1,
    most: 102_400,
    description: "How much of a page is read, in kilobytes.",
  },
  {
    path: "tools.web.timeout_seconds",
    type: "number",
    default: webDefaults.timeoutMs / 1000,
    least: 1,
    most: 3600,
    description: "How long a page may take.",
  },
  ...policies("tools.web", approvals),
  unmask("tools.web"),
  ...policies("tools.time", approvals),
  unmask("tools.time"),
  ...policies("tools.agents", approvals),
  {
    path: "mcp.*.command",
    type: "string",
    otherwise: "there has to be a url",
    description: "The program to start, which speaks MCP over its standard input and output.",
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
    description: "Variables that the program gets beside the usual ones, such as PATH.",
  },
  {
    path: "mcp.*.cwd",
    type: "string",
    otherwise: "the gateway's own",
    description: "The folder in which the program is started.",
  },
  {
    path: "mcp.*.url",
    type: "string",
    otherwise: "there has to be a command",
    description: "The address of a server that speaks MCP over HTTP.",
  },
  {
    path: "mcp.*.headers",
    type: "table of secrets",
    default: {},
    description: "Headers that are sent to the server with every request.",
  },
  {
    path: "mcp.*.timeout_seconds",
    type: "number",
    default: 60,
    least: 1,
    most: 86_400,
    description: "How long a call may take.",
  },
  {
    path: "mcp.*.tools",
    type: "list of strings",
    otherwise: "all that it has",
    description: "The only tools of it that are used.",
  },
  ...policies("mcp.*", approvals),
  unmask("mcp.*"),
  {
    path: "store.enabled",
    type: "boolean",
    default: true,
    description: "Whether tasks outlive the gateway; if not, they are kept in memory only.",
  },
  {
    path: "store.path",
    type: "string",
    otherwise: "in the user's data folder",
    description: "The database file that tasks are kept in.",
  },
  {
    path: "store.keep_days",
    type: "number",
    default: 90,
    least: 0,
    most: 36_500,
    description: "How long a task is kept after its end; 0 is for ever.",
  },
  {
    path: "store.max_mb",
    type: "number",
    default: 4096,
    least: 1,
    description: "How large the store may grow in megabytes; then the oldest tasks go first.",
  },
] as const satisfies readonly Setting[];

/** What is asked of a person, which every tool group has. */
function policies<const Group extends string, const Word extends string>(
  group: Group,
  words: readonly Word[],
) {
  return [
    {
      path: `${group}.approval`,
      type: "word",
      otherwise: "as each tool says",
      words,
      description:
        "Whether a person is asked before a call; once is for the same tool with the same arguments.",
    },
    {
      path: `${group}.results`,
      type: "word",
      otherwise: "as each tool says",
      words: ["never", "on error", "always"],
      description: "When a person is asked before the model is told a result.",
    },
  ] as const;
}

function unmask<const Group extends string>(group: Group) {
  return {
    path: `${group}.unmask`,
    type: "boolean",
    default: true,
    description: "Whether its tools get the private values of a chat; if not, their placeholders.",
  } as const;
}
