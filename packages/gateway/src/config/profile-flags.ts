import type { Profile } from "@deltawire/wire";
import type { Setting } from "./setting.ts";

type FlagName = Exclude<keyof Profile, "name" | "stated">;
type Flag<Value> = Pick<Setting, "type" | "description"> & { words?: readonly WordOf<Value>[] };
type WordOf<Value> = Value extends readonly (infer Item)[] ? Item : Value;

/** The settings of `[upstreams.*.flags]`: what an upstream does otherwise than its profile says. */
export const profileFlags = {
  chatRequests: {
    type: "word",
    words: ["as-sent", "adapted"],
    description:
      "A Chat client's request: only flags set here or learned change it, or all of the profile's.",
  },
  developerRole: {
    type: "word",
    words: ["system", "developer"],
    description: "What a developer message becomes.",
  },
  laterSystem: {
    type: "word",
    words: ["keep", "hoist", "user"],
    description:
      "System messages after the first message: left, moved into the leading one, or said by the user.",
  },
  userAfterTool: {
    type: "boolean",
    description: "Whether the user may speak directly after a tool's result.",
  },
  sameRoleTwice: {
    type: "boolean",
    description: "Whether one role may speak twice in a row; if not, the two become one message.",
  },
  emptyContent: {
    type: "word",
    words: ["null", "empty", "omit"],
    description: "The content of an assistant message that only calls tools.",
  },
  toolResultMedia: {
    type: "word",
    words: ["user-message", "parts"],
    description:
      "Pictures in a result: in a user message after all results, or in the tool message.",
  },
  reasoningField: {
    type: "word",
    words: ["none", "reasoning_content", "reasoning", "reasoning_details", "think-tags"],
    description: "Where earlier reasoning goes back.",
  },
  reasoningRange: {
    type: "word",
    words: ["turn", "all"],
    description: "Reasoning since the user's last words goes back, or that of the whole history.",
  },
  reasoningRequired: {
    type: "boolean",
    description: "A call whose reasoning is lost gets an empty one.",
  },
  callIds: {
    type: "word",
    words: ["verbatim", "nine-alphanumerics", "functions-name-index"],
    description: "The form of call ids in the history.",
  },
  customTools: {
    type: "word",
    words: ["function", "native"],
    description: "Free-form tools as functions with one string, or as they are.",
  },
  schemaFlavour: {
    type: "word",
    words: ["json-schema", "moonshot", "gemini"],
    description: "How the parameters of tools are written.",
  },
  strictSchemas: {
    type: "boolean",
    description: "Whether strict is passed on, of tools and of response_format.",
  },
  callsWithoutTools: {
    type: "boolean",
    description: "Whether calls may stand in a history when no tool is offered.",
  },
  toolChoice: {
    type: "word",
    words: ["any", "strings", "unforced", "auto"],
    description: "Which tool_choice it takes: all; no named tool; no forced one; nothing but auto.",
  },
  responseFormat: {
    type: "word",
    words: ["any", "without-tools", "json_object", "json_schema", "none"],
    description: "Which response_format it takes; the rest is said in words.",
  },
  alwaysStream: {
    type: "boolean",
    description: "Ask for a stream even for a client that wants a whole reply.",
  },
  streamUsage: {
    type: "boolean",
    description: "Whether to ask for stream_options.include_usage.",
  },
  maxTokensParameter: {
    type: "word",
    words: ["max_tokens", "max_completion_tokens"],
    description: "The name of the limit on new tokens.",
  },
  efforts: {
    type: "word or list",
    words: ["any"],
    description: "The words it knows for reasoning_effort; another becomes the nearest.",
  },
  parameters: {
    type: "word or list",
    words: ["all"],
    description: "The request fields that are passed on.",
  },
  droppedParameters: {
    type: "list of strings",
    description: "Exceptions from parameters, added to those of the profile.",
  },
  extraBody: {
    type: "JSON table",
    description: "Sent with every request, over anything of the same name.",
  },
  thinkTags: {
    type: "boolean",
    description: "Whether `<think>` in a text opens reasoning.",
  },
  startsInsideThink: {
    type: "boolean",
    description: "The prompt's template has opened `<think>` already.",
  },
  leakedCalls: {
    type: "list of words",
    words: ["hermes", "qwen-xml", "kimi"],
    description: "The markup in which its models write calls as text, added to the profile's.",
  },
} as const satisfies { [Name in FlagName]: Flag<Profile[Name]> };

export const flagSettings: readonly Setting[] = Object.entries(profileFlags).map(
  ([name, flag]) => ({ path: `upstreams.*.flags.${settingName(name)}`, ...flag }),
);

/** Decoded flags under the names that a profile has for them. */
export function flagsOf(decoded: Readonly<Record<string, unknown>>): Partial<Profile> {
  const flags: [string, unknown][] = [];
  for (const name of Object.keys(profileFlags)) {
    const value = decoded[settingName(name)];
    if (value !== undefined) flags.push([name, value]);
  }
  return Object.fromEntries(flags);
}

/** `leakedCalls` is written `leaked_calls`. */
function settingName(flag: string): string {
  return flag.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
