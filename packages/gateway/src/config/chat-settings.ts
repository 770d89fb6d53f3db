import { defaultLimits } from "@deltawire/agent/basics";
import type { Setting } from "./setting.ts";
import { formerResultPolicies } from "./task-settings.ts";

/** The settings of chats and skills. */
export const chatSettingDefinitions = [
  {
    path: "chats.model",
    type: "string",
    defaultDescription:
      "first chat model of [models], else the first that an upstream lists, else the demo agent",
    description: "The default model, by a name that clients can use.",
  },
  {
    path: "chats.agent",
    type: "string",
    defaultDescription: "none",
    description: "The default agent, instead of a model.",
  },
  {
    path: "chats.instructions",
    type: "string",
    defaultDescription: "none",
    description: "Added to the system prompt of every chat.",
  },
  {
    path: "chats.tool_groups",
    type: "list of strings",
    default: [],
    description: "The default tool groups: files, shell, web, time, agents, and names of [mcp].",
  },
  {
    path: "chats.turns",
    type: "integer",
    default: 20,
    min: 0,
    max: 10_000,
    description: "How many of the latest turns are sent to the model; 0 sends all.",
  },
  {
    path: "chats.max_rounds",
    formerName: "rounds",
    type: "integer",
    default: defaultLimits.rounds,
    min: 1,
    max: 10_000,
    description: "The default limit of tool-call rounds in an answer.",
  },
  {
    path: "chats.retry_seconds",
    type: "number",
    default: 30,
    min: 0,
    max: 86_400,
    description:
      "How long requests to an unreachable or overloaded model are retried; 0 disables it.",
  },
  {
    path: "chats.max_seconds",
    formerName: "seconds",
    type: "number",
    default: 604_800,
    min: 1,
    description:
      "The default time limit of an answer, including waits; then it ends with its text so far and the status `timeout`.",
  },
  {
    path: "chats.result_approval",
    formerName: "results",
    type: "enum",
    default: "never",
    values: ["never", "on_error", "always"],
    formerValues: formerResultPolicies,
    description:
      "When a result needs approval before the model receives it; a chat or tool can override it.",
  },
  {
    path: "chats.titles",
    type: "boolean",
    default: true,
    description: "Generate a title after the first answer of a chat.",
  },
  {
    path: "chats.title_model",
    type: "string",
    defaultDescription: "the model that answers",
    description: "The model that generates titles; a small one is enough.",
  },
  {
    path: "chats.options",
    type: "JSON table",
    default: {},
    description:
      "Request parameters of all chats. Those of the model, the agent and the chat take precedence.",
  },
  {
    path: "chats.privacy",
    type: "list of enums",
    default: [],
    values: ["email", "phone", "card", "key", "password", "id"],
    description: "The kinds of private values that are masked by default before requests are sent.",
  },
  {
    path: "chats.time_zone",
    type: "string",
    defaultDescription: "the system's",
    description: "The time zone of dates sent to the model, by its IANA name.",
  },
  {
    path: "chats.message_times",
    formerName: "exact_time",
    type: "boolean",
    default: false,
    description: "Send the time of every message to the model.",
  },
  {
    path: "chats.deleted_days",
    type: "number",
    default: 30,
    min: 0,
    max: 36_500,
    description: "How many days a deleted chat can be restored; 0 deletes it immediately.",
  },
  {
    path: "skills.*.file",
    type: "string",
    required: 'write file = "…", the path of a Markdown file',
    description:
      "A Markdown file of at most 200 KB, relative to the configuration; read at startup.",
  },
  {
    path: "skills.*.when",
    type: "string",
    defaultDescription: "none, if always is true",
    description:
      "When to use the skill. The model receives this in a list and reads the file with a tool.",
  },
  {
    path: "skills.*.always",
    type: "boolean",
    default: false,
    description: "Send the complete file to the model in every chat.",
  },
  {
    path: "skills.*.description",
    type: "string",
    defaultDescription: "none",
    description: "A description for users.",
  },
] as const satisfies readonly Setting[];
