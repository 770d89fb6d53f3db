import type { MessagesFlags } from "@deltawire/wire";
import { toFlags, toSettingName } from "./profile-flags.ts";
import type { Setting } from "./setting.ts";

type Flag = Omit<Setting, "path">;

/** The settings of `[upstreams.*.messages_flags]`, for servers that speak Messages. */
const messagesFlags = {
  thinkingStyle: {
    type: "enum",
    values: ["budget", "adaptive", "none"],
    description:
      "How a reasoning effort is sent: as a thinking budget, as adaptive thinking, or not.",
  },
  lateSystemMessages: {
    type: "enum",
    values: ["reminder", "keep"],
    description:
      "System messages after the first user message: as text of the user, or with the role system.",
  },
  unsignedThinking: {
    type: "boolean",
    description: "Send earlier thinking although the server has not signed it.",
  },
  dropThinking: { type: "boolean", description: "Omit earlier thinking." },
  defaultMaxTokens: {
    type: "integer",
    min: 1,
    description: "The max_tokens of requests without an output token limit; 8192 if not set.",
  },
  maxTokensLimit: {
    type: "integer",
    min: 1,
    description: "The model's limit of output tokens. A higher max_tokens is lowered.",
  },
  cacheMarks: {
    type: "boolean",
    description: "Mark the end of tools, system text and last turn for prompt caching.",
  },
  droppedParameters: { type: "list of strings", description: "Parameters that are not sent." },
  extraBody: {
    type: "JSON table",
    description: "Added to every request, replacing fields of the same name.",
  },
} as const satisfies { [Name in keyof Required<MessagesFlags>]: Flag };

export const messagesFlagSettings: readonly Setting[] = Object.entries(messagesFlags).map(
  ([name, flag]) => ({ path: `upstreams.*.messages_flags.${toSettingName(name)}`, ...flag }),
);

/** Renames decoded flags to the field names of `MessagesFlags`. */
export function toMessagesFlags(decoded: Readonly<Record<string, unknown>>): MessagesFlags {
  return toFlags(Object.keys(messagesFlags), decoded);
}
