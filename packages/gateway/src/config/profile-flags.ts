import type { UpstreamProfile } from "@deltawire/wire";
import type { Setting } from "./setting.ts";

type FlagName = Exclude<keyof UpstreamProfile, "name" | "explicitFlags">;
type Flag<Value> = Pick<Setting, "type" | "description" | "formerName"> & {
  values?: readonly ItemOf<Value>[];
};
type ItemOf<Value> = Value extends readonly (infer Item)[] ? Item : Value;

/** The settings of `[upstreams.*.flags]`, which override the flags of the upstream's profile. */
export const profileFlags = {
  chatRequests: {
    type: "enum",
    values: ["as-sent", "adapted"],
    description:
      "Flags for requests of Chat clients: those set here or learned, or also those of the profile.",
  },
  developerRole: {
    type: "enum",
    values: ["system", "developer"],
    description: "The role of developer messages.",
  },
  lateSystemMessages: {
    formerName: "later_system",
    type: "enum",
    values: ["keep", "hoist", "user"],
    description: "Later system messages: keep, move into the first one, or send as user messages.",
  },
  userAfterTool: {
    type: "boolean",
    description: "A user message may follow a tool result directly.",
  },
  consecutiveRoles: {
    formerName: "same_role_twice",
    type: "boolean",
    description: "Consecutive messages may have the same role. If not, they are merged.",
  },
  emptyContent: {
    type: "enum",
    values: ["null", "empty", "omit"],
    description: "The content of an assistant message with only tool calls.",
  },
  toolResultMedia: {
    type: "enum",
    values: ["user-message", "parts"],
    description:
      "Images in tool results: in a user message after all results, or in the tool message.",
  },
  cacheControl: {
    type: "boolean",
    description: "Send cache breakpoints as cache_control of content parts.",
  },
  reasoningField: {
    type: "enum",
    values: ["none", "reasoning_content", "reasoning", "reasoning_details", "think-tags"],
    description: "The field for earlier reasoning.",
  },
  reasoningRange: {
    type: "enum",
    values: ["turn", "all"],
    description: "Which reasoning is sent back: since the last user message, or all.",
  },
  reasoningRequired: {
    type: "boolean",
    description: "Add empty reasoning to tool calls without reasoning.",
  },
  callIds: {
    type: "enum",
    values: ["verbatim", "nine-alphanumerics", "functions-name-index"],
    description: "The format of call ids in the history.",
  },
  customTools: {
    type: "enum",
    values: ["function", "native"],
    description: "Custom tools: as functions with one string argument, or unchanged.",
  },
  schemaDialect: {
    formerName: "schema_flavour",
    type: "enum",
    values: ["json-schema", "moonshot", "gemini"],
    description: "The dialect of JSON Schema for the parameters of tools.",
  },
  strictSchemas: {
    type: "boolean",
    description: "Send strict in tools and response_format.",
  },
  callsWithoutTools: {
    type: "boolean",
    description: "The history may have tool calls when the request has no tools.",
  },
  toolChoice: {
    type: "enum",
    values: ["any", "strings", "unforced", "auto"],
    description: "The supported tool_choice: all; no named tool; no forced call; only auto.",
  },
  responseFormat: {
    type: "enum",
    values: ["any", "without-tools", "json_object", "json_schema", "none"],
    description: "The supported response_format. Other formats become instructions in the prompt.",
  },
  alwaysStream: {
    type: "boolean",
    description: "Request a stream even if the client does not.",
  },
  streamUsage: {
    type: "boolean",
    description: "Send stream_options.include_usage.",
  },
  maxTokensParameter: {
    type: "enum",
    values: ["max_tokens", "max_completion_tokens"],
    description: "The name of the parameter for the output token limit.",
  },
  efforts: {
    type: "enum or list",
    values: ["any"],
    description: "The supported values of reasoning_effort. Others become the nearest one.",
  },
  parameters: {
    type: "enum or list",
    values: ["all"],
    description: "The request parameters that are sent.",
  },
  droppedParameters: {
    type: "list of strings",
    description: "Parameters that are not sent, in addition to those of the profile.",
  },
  extraBody: {
    type: "JSON table",
    description: "Added to every request, replacing fields of the same name.",
  },
  thinkTags: {
    type: "boolean",
    description: "`<think>` in the text starts reasoning.",
  },
  startsInsideThink: {
    type: "boolean",
    description: "The prompt template has already opened `<think>`.",
  },
  leakedCalls: {
    type: "list of enums",
    values: ["hermes", "qwen-xml", "kimi"],
    description:
      "The formats of tool calls that models write as text, in addition to those of the profile.",
  },
} as const satisfies { [Name in FlagName]: Flag<UpstreamProfile[Name]> };

export const profileFlagSettings: readonly Setting[] = Object.entries(profileFlags).map(
  ([name, flag]) => ({ path: `upstreams.*.flags.${toSettingName(name)}`, ...flag }),
);

/** Renames decoded flags to the field names of a profile. */
export function toProfileFlags(
  decoded: Readonly<Record<string, unknown>>,
): Partial<UpstreamProfile> {
  return toFlags(Object.keys(profileFlags), decoded);
}

/** Returns the decoded settings that are set, by the names of their flags. */
export function toFlags(
  names: readonly string[],
  decoded: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const flags: [string, unknown][] = [];
  for (const name of names) {
    const value = decoded[toSettingName(name)];
    if (value !== undefined) flags.push([name, value]);
  }
  return Object.fromEntries(flags);
}

/** Returns `leaked_calls` for `leakedCalls`. */
export function toSettingName(flag: string): string {
  return flag.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
