import { usualLimits } from "@deltawire/agent";
import type { Setting } from "./setting.ts";

/** The settings of chats, and of the skills that they can have. */
export const chatSettings = [
  {
    path: "chats.model",
    type: "string",
    otherwise:
      "first chat model of [models], else the first that an upstream lists, else the demo agent",
    description: "The model of chats that name none, by a name that clients could use.",
  },
  {
    path: "chats.agent",
    type: "string",
    otherwise: "none",
    description: "The agent that answers in chats that name none, instead of a model.",
  },
  {
    path: "chats.instructions",
    type: "string",
    otherwise: "none",
    description: "What a model is told before every chat, for the system prompt.",
  },
  {
    path: "chats.tool_groups",
    type: "list of strings",
    default: [],
    description:
      "The tools of chats that name none: files, shell, web, time, agents, and names of [mcp].",
  },
  {
    path: "chats.turns",
    type: "integer",
    default: 20,
    least: 0,
    most: 10_000,
    description: "How many of the latest turns of a chat the model is told; 0 is all.",
  },
  {
    path: "chats.rounds",
    type: "integer",
    default: usualLimits.rounds,
    least: 1,
    most: 10_000,
    description:
      "How many rounds of tool calls an answer may have, unless the chat sets another limit. After them the model answers without tools.",
  },
  {
    path: "chats.retry_seconds",
    type: "number",
    default: 30,
    least: 0,
    most: 86_400,
    description:
      "How long a model that cannot be reached, or has no time, is asked again before an answer fails; 0 is not at all.",
  },
  {
    path: "chats.seconds",
    type: "number",
    default: 604_800,
    least: 1,
    description:
      "How long an answer may take, with the time in which it waits for people, unless the chat sets another limit. Then it ends with an error (`timeout`); what it has said stays.",
  },
  {
    path: "chats.results",
    type: "word",
    default: "never",
    words: ["never", "on error", "always"],
    description:
      "When a person is asked before the model gets a tool's result, unless the chat, or the tool itself, says otherwise.",
  },
  {
    path: "chats.titles",
    type: "boolean",
    default: true,
    description: "Whether a model names chats after their first answer.",
  },
  {
    path: "chats.title_model",
    type: "string",
    otherwise: "the one that answers",
    description: "The model that names chats; a small one will do.",
  },
  {
    path: "chats.options",
    type: "JSON table",
    default: {},
    description:
      "Parameters of requests in all chats, under those of the model, the agent and the chat.",
  },
  {
    path: "chats.privacy",
    type: "list of words",
    default: [],
    words: ["email", "phone", "card", "key", "password", "id"],
    description: "What is masked before a model is told, in every chat that says nothing of it.",
  },
  {
    path: "chats.time_zone",
    type: "string",
    otherwise: "the system's",
    description: "The time zone of the date that a model is told, by its IANA name.",
  },
  {
    path: "chats.exact_time",
    type: "boolean",
    default: false,
    description: "Whether every message tells the model when it was sent.",
  },
  {
    path: "chats.deleted_days",
    type: "number",
    default: 30,
    least: 0,
    most: 36_500,
    description: "How long a deleted chat can be restored; 0 is not at all.",
  },
  {
    path: "skills.*.file",
    type: "string",
    required: 'write file = "…", the path of a Markdown file',
    description:
      "The Markdown file, of 200 KB at most, seen from the folder of the configuration; it is read at the start.",
  },
  {
    path: "skills.*.when",
    type: "string",
    otherwise: "there has to be always",
    description: "When to use it: the model has this in a list, and reads the file by a tool.",
  },
  {
    path: "skills.*.always",
    type: "boolean",
    default: false,
    description: "Whether the model is told the whole file in every chat.",
  },
  {
    path: "skills.*.description",
    type: "string",
    otherwise: "none",
    description: "What it is, for people who choose skills.",
  },
] as const satisfies readonly Setting[];
