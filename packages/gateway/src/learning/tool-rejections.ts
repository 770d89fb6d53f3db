import { isSentUnchanged, type JsonObject, type UpstreamProfile } from "@deltawire/wire";
import type { LessonChange, LessonRule, RequestAttempt } from "./lesson.ts";
import { isAboutRequestedReasoning, markRequestSpecific } from "./request-specific-errors.ts";
import { isValidToolChoice, filterObjects, hasCustomTools, hasTools } from "./inspect-request.ts";

/** Errors of Chat upstreams about tools and tool_choice. The comments name the servers and issues that the patterns come from. */
export const toolRejections: readonly LessonRule[] = [
  // Every Chat server except OpenAI, if the profile does not convert custom tools
  {
    code: "custom_tools",
    patterns: [/["'`]custom["'`]/i, /tools[[\].\d]*\.type/i],
    description:
      "supports only function tools; custom tools become functions with one string parameter",
    // Checks the body, not only the profile: tools of a Chat client are sent unchanged until a lesson or a flag applies.
    createChange: ({ profile, body }, { text }) =>
      hasCustomTools(body) &&
      !isAboutOtherTool(text, body) &&
      (isSentUnchanged(profile, "customTools") || profile.customTools === "native")
        ? { flags: { customTools: "function" } }
        : undefined,
  },

  // Kimi's gateways (GitNexus 2703, opencode 24158, kimi-cli 2061)
  {
    code: "tool_schema",
    patterns: [/moonshot flavou?red json schema/i],
    description: "has its own dialect of JSON Schema; tool parameters are converted to it",
    createChange: ({ profile, body }) =>
      hasTools(body) && profile.schemaDialect !== "moonshot"
        ? { flags: { schemaDialect: "moonshot" } }
        : undefined,
  },

  // Google (CLIProxyAPI 97, cline 7339, opencode 11889), whose schemas are not JSON Schema
  {
    code: "tool_schema",
    patterns: [
      /unknown name "[^"]+" at '[^']*(?:function_?declarations|parameters)/i,
      /function_?declarations?\[\d+\]\.parameters[^\n]{0,200}(?:missing field|only allowed for|non-empty|not supported|cannot be empty)/i,
      /invalid value at '[^']*function_?declarations/i,
      /function_?declaration\b[^\n]{0,120}(?:schema|any_of)/i,
    ],
    description: "supports only a few JSON Schema keywords; tool parameters are reduced to those",
    matchesServerErrors: true,
    createChange: reduceSchemaKeywords,
  },

  // OpenAI (langchainjs 9804), Claude (mobile-mcp 344), llama.cpp 17574: about the schema of a single tool
  {
    code: "tool_schema",
    patterns: [
      /invalid schema for function[^\n]{0,200}(?:not permitted|not supported|top level)/i,
      /input_schema does not support/i,
      /JSON schema conversion failed/i,
      /failed to parse grammar/i,
    ],
    description: "rejects the schema of a tool; tool parameters are reduced to a few keywords",
    matchesServerErrors: true,
    createChange: (attempt) => {
      const change = reduceSchemaKeywords(attempt);
      return change && { ...change, once: true };
    },
  },

  // Z.ai (hindsight 4246)
  {
    code: "tool_choice",
    patterns: [
      /tool.?choice[^.\n]{0,60}(?:must be|only supports?|should be|has to be|only) ["'`]?auto["'`]?\s*(?:$|[.,;\n](?! ?["'`]?(?:none|required)))/im,
    ],
    description: "supports only tool_choice auto; other values become an instruction in the prompt",
    createChange: (attempt) => restrictToolChoice(attempt, "auto"),
  },

  // LM Studio (lmstudio-bug-tracker 670)
  {
    code: "tool_choice",
    patterns: [
      /tool.?choice[^\n]{0,40}type: ["'`]?object[^\n]{0,60}required/i,
      /tool.?choice[^\n]{0,60}(?:must be|should be|expected) a string/i,
      /tool.?choice[^\n]{0,40}input should be a valid string/i,
    ],
    description: "does not support a named tool as tool_choice; only the named tool is offered",
    createChange: (attempt) =>
      typeof attempt.body["tool_choice"] === "string"
        ? undefined
        : restrictToolChoice(attempt, "strings"),
  },

  // DeepSeek (DeepSeek-V3 1376), DashScope (eino 994), Kimi (AstrBot 7805, oh-my-pi 827), Cerebras (instructor 1766), OpenRouter
  {
    code: "tool_choice",
    patterns: [
      /does(?: not|n't) support[^\n]{0,60}tool.?choice/i,
      /tool.?choice[^\n]{0,80}(?:incompatible|does(?: not|n't) support|not (?:currently )?supported|unsupported)/i,
      /(?:unsupported|invalid)(?: value for)? ["'`]?tool.?choice[^\n]{0,120}(?:expected|supported|must be)/i,
      /support the provided ["'`]?tool_choice/i,
      /tool.?choice[^\n]{0,60}(?:may|can|must) only be/i,
    ],
    description:
      "cannot be forced to call a tool; a forcing tool_choice becomes an instruction in the prompt",
    createChange: (attempt, { text }) => {
      const change = restrictToolChoice(attempt, "unforced") ?? restrictToolChoice(attempt, "auto");
      return (
        change && {
          ...change,
          ...markRequestSpecific(isAboutRequestedReasoning(text, attempt.body)),
        }
      );
    },
  },
];

/** True if the error is about another tool type (custom is listed as supported), or about the contents of a custom tool. */
function isAboutOtherTool(text: string, body: JsonObject): boolean {
  const [, index] = /\btools(?:\.|\[)(\d+)\]?\.type\b/.exec(text) ?? [];
  const tool = index === undefined ? undefined : filterObjects(body["tools"])[Number(index)];
  if (tool !== undefined) return tool["type"] !== "custom";
  return /(?:supported values|expected|should be|must be|one of)\b[^\n]{0,120}["'`]custom["'`]|\bgrammar\b|custom\.(?:format|name)|\.format\b/i.test(
    text,
  );
}

function reduceSchemaKeywords({ profile, body }: RequestAttempt): LessonChange | undefined {
  return hasTools(body) && profile.schemaDialect === "json-schema"
    ? { flags: { schemaDialect: "gemini" } }
    : undefined;
}

const toolChoiceFallbacks = ["any", "strings", "unforced", "auto"] as const;

/** Returns the flag for a more restrictive tool_choice, if it would change the request that was sent. */
function restrictToolChoice(
  { profile, body }: RequestAttempt,
  step: UpstreamProfile["toolChoice"],
): LessonChange | undefined {
  const sentChoice = body["tool_choice"];
  if (sentChoice === undefined || sentChoice === null || !hasTools(body)) return undefined;
  if (!isValidToolChoice(body)) return undefined;
  if (toolChoiceFallbacks.indexOf(step) <= toolChoiceFallbacks.indexOf(profile.toolChoice))
    return undefined;
  const hasEffect =
    step === "auto" ? sentChoice !== "auto" : sentChoice !== "auto" && sentChoice !== "none";
  return hasEffect ? { flags: { toolChoice: step } } : undefined;
}
