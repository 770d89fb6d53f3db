import { isSentUnchanged, type JsonValue, type UpstreamProfile } from "@deltawire/wire";
import {
  effortErrorPatterns,
  parseSupportedEfforts,
  isEffortUnsupportedByServer,
} from "./supported-efforts.ts";
import type { LessonChange, LessonRule, RequestAttempt } from "./lesson.ts";
import {
  isAboutRequestedReasoning,
  markRequestSpecific,
  isAboutCombination,
  isAboutSchemaKeyword,
  isAboutInvalidFormat,
  isAboutInvalidSchema,
} from "./request-specific-errors.ts";
import {
  isValidToolChoice,
  getResponseFormat,
  hasMessageField,
  hasTools,
  hasStrictSchema,
} from "./inspect-request.ts";

/** Errors of Chat upstreams about parameters. The comments name the servers and issues that the patterns come from. */
export const parameterRejections: readonly LessonRule[] = [
  // Kimi (quirk RQ-TEMPERATURE), OpenAI (OpenHands 4131), Claude (ChatterUI 564), LiteLLM 33738
  {
    code: "sampling",
    patterns: [/temperature|top_p|top_k|_penalty/i],
    description: "does not support this sampling parameter",
    createChange: (attempt, { text }) => {
      const [, name = ""] = fixedSamplingPattern.exec(text) ?? [];
      const change = isInValidRange(name, attempt.body[name])
        ? dropParameters([name], attempt)
        : undefined;
      return (
        change && {
          ...change,
          ...markRequestSpecific(isAboutRequestedReasoning(text, attempt.body)),
        }
      );
    },
  },

  // Claude on Bedrock and behind LiteLLM: each parameter is supported without the others
  {
    code: "sampling",
    patterns: [
      /\b(?:temperature|top_p|top_k)\b["'`]? and ["'`]?(?:temperature|top_p|top_k)\b[^\n]{0,40}cannot both/i,
      /(?:cannot|can't|not)[^\n]{0,20} both ["'`]?(?:temperature|top_p|top_k)\b["'`]? and/i,
      /only one of ["'`]?(?:temperature|top_p|top_k)\b/i,
    ],
    description: "supports only one sampling parameter at a time",
    createChange: (attempt) => {
      const sentNames = ["temperature", "top_p", "top_k"].filter(
        (name) => typeof attempt.body[name] === "number",
      );
      const change = dropParameters(sentNames.slice(1), attempt);
      return change && { ...change, once: true };
    },
  },

  // Groq (agno 1065, vercel/ai 16540), Google (js-genai 601)
  {
    code: "format_with_tools",
    patterns: [
      /(?:json|response.?format)[^\n]{0,60}(?:combined|together|used) with[^\n]{0,20}(?:tool|function)/i,
      /function calling[^\n]{0,60}response mime type/i,
      /response_mime_type[^\n]{0,200}function/i,
    ],
    description:
      "does not support response_format with tools; it becomes an instruction in the prompt",
    createChange: ({ profile, body }) =>
      hasTools(body) && getResponseFormat(body) !== undefined && profile.responseFormat === "any"
        ? { flags: { responseFormat: "without-tools" } }
        : undefined,
  },

  // OpenAI and Azure from GPT-5.4 on (openai-openapi 541, litellm 34569, agentgateway 2894)
  {
    code: "effort_with_tools",
    patterns: [/function tools with reasoning_effort/i],
    description: "does not support reasoning with tools over Chat, so no reasoning is requested",
    createChange: (attempt, { text }) => {
      if (attempt.profile.extraBody["reasoning_effort"] !== undefined) return undefined;
      // GPT-5.6 requires the effort "none" here; Azure rejects even that.
      if (/["'`]none["'`]/.test(text))
        return { flags: { extraBody: { reasoning_effort: "none" } }, once: true };
      const flags = createDropFlags(["reasoning_effort"], attempt);
      return flags === undefined ? undefined : { flags, once: true };
    },
  },

  // DashScope (quirk RQ-THINKING-NONSTREAM, ragflow 5912)
  {
    code: "stream_only",
    patterns: [
      /must be set to false for non-?streaming/i,
      /only supports? stream/i,
      /stream[^\n]{0,20}must be (?:set to )?true/i,
      /non-?stream(?:ing)?[^\n]{0,40}not supported/i,
      /streaming is required/i,
    ],
    description: "supports only streaming; complete replies are assembled from a stream",
    createChange: ({ profile, body }, { text }) =>
      body["stream"] !== true && !profile.alwaysStream
        ? { flags: { alwaysStream: true }, ...markRequestSpecific(isAboutCombination(text)) }
        : undefined,
  },

  // o1 on OpenAI and Azure (gh-models 31, litellm 7693)
  {
    code: "no_stream",
    patterns: [/["'`]stream["'`] (?:does not support true|is not supported)/i],
    description: "does not support streaming; complete replies are requested",
    createChange: (attempt, { rejectedInCombination }) => {
      const flags = createDropFlags(["stream", "stream_options"], attempt);
      return attempt.body["stream"] === true && flags !== undefined
        ? { flags, ...markRequestSpecific(includesParameter(rejectedInCombination, "stream")) }
        : undefined;
    },
  },

  // Groq (jan 8136), Cerebras (chatwise-releases 1442), Mistral (crush 1590)
  {
    code: "reasoning_rejected",
    description: "rejects reasoning in the history; it is omitted",
    createChange: ({ profile, body }, { rejected }) =>
      (isSentUnchanged(profile, "reasoningField") || profile.reasoningField !== "none") &&
      rejected.some((path) => isReasoningField(path) && hasMessageField(body, path.at(-1) ?? ""))
        ? { flags: { reasoningField: "none", reasoningRequired: false } }
        : undefined,
  },

  // Cerebras (agents 3134, code_puppy 368), RouteLLM (pi 1172); OpenAI for a schema that is not strict (letta 3137)
  {
    code: "strict",
    patterns: [
      /["'`]strict["'`]/,
      /strict ?= ?true/i,
      /\.strict\b/,
      /["'`](?:additionalProperties|required)["'`] is required to be supplied/i,
    ],
    description: "does not support strict schemas; strict is omitted",
    createChange: ({ profile, body }, { text }) =>
      profile.strictSchemas &&
      hasStrictSchema(body) &&
      !isAboutInvalidFormat(text) &&
      !/\bboolean\b/i.test(text)
        ? { flags: { strictSchemas: false }, ...markRequestSpecific(isAboutInvalidSchema(text)) }
        : undefined,
  },

  // OpenAI (midscene 791) rejects the old name, Mistral (litellm 10910) and vLLM (MaxKB 2912) the new one
  {
    code: "token_limit",
    description: "uses another name for the output token limit",
    createChange: (attempt, { rejected }) => {
      const [name] = rejected.map(([first]) => first).filter(isTokenLimit);
      const dropChange = name === undefined ? undefined : dropParameters([name], attempt);
      if (dropChange === undefined) return undefined;
      const { maxTokensParameter, droppedParameters } = attempt.profile;
      const otherName = name === "max_tokens" ? "max_completion_tokens" : "max_tokens";
      const isCurrent =
        isSentUnchanged(attempt.profile, "maxTokensParameter") || maxTokensParameter === name;
      if (!isCurrent || droppedParameters.includes(otherName)) return dropChange;
      // The new name is not tried again after the old one: a server that rejects both gets neither.
      return otherName === "max_tokens"
        ? { flags: { ...dropChange.flags, maxTokensParameter: otherName } }
        : { flags: { maxTokensParameter: otherName } };
    },
  },

  // Azure AI (cherry-studio 9214), Mistral (semantic-kernel 10510), new-api 418
  {
    code: "stream_usage",
    description: "does not support stream_options; usage is not requested",
    createChange: (attempt, { rejected }) => {
      const flags = includesParameter(rejected, "stream_options", "include_usage")
        ? createDropFlags(["stream_options"], attempt)
        : undefined;
      return flags === undefined ? undefined : { flags: { ...flags, streamUsage: false } };
    },
  },

  // MiniMax (MiniMax-M2.5 4), Perplexity (litellm 2275)
  {
    code: "response_format",
    description: "does not support response_format; it becomes an instruction in the prompt",
    createChange: (attempt, { rejected }) =>
      includesParameter(rejected, "response_format")
        ? restrictResponseFormat(attempt, "none")
        : undefined,
  },

  // LM Studio (lmstudio-bug-tracker 189)
  {
    code: "response_format",
    patterns: [/response_format[^\n]{0,20}must be ["'`]json_schema/i],
    description: "supports json_schema but not json_object; a schema for any object is sent",
    createChange: (attempt) =>
      getResponseFormat(attempt.body) === "json_object"
        ? restrictResponseFormat(attempt, "json_schema")
        : undefined,
  },

  // DeepSeek (litellm 31466), Volcengine (agno 2553), OpenAI's older models (openai-dotnet 276), Cerebras
  {
    code: "response_format",
    patterns: [
      /response_?format[^\n]{0,120}(?:unavailable|not supported|unsupported|not valid|\binvalid\b)/i,
      /(?:unsupported|\binvalid\b|not support)[^\n]{0,60}(?:response_?format|json_schema|json_object|structured output)/i,
      /(?:json_schema|json_object|structured outputs?)["'`]?[^\n]{0,60}(?:unavailable|not supported|unsupported|not available)/i,
      /unknown variant ["'`]?json_/i,
      /unknown parameter:? ["'`]?response_format\.json_schema\b(?!\.)/i,
      /unsupported JSON schema/i,
    ],
    description: "does not support this response_format; it becomes an instruction in the prompt",
    createChange: (attempt, { text }) => {
      const sentFormat = getResponseFormat(attempt.body);
      if (isAboutInvalidFormat(text) || isAboutInvalidSchema(text)) return undefined;
      const change = restrictResponseFormat(
        attempt,
        sentFormat === "json_schema" ? "json_object" : "none",
      );
      return change && { ...change, ...markRequestSpecific(isAboutSchemaKeyword(text)) };
    },
  },

  // Bedrock behind LiteLLM (instructor 1390)
  {
    code: "tool_choice",
    description: "does not support tool_choice; it becomes an instruction in the prompt",
    createChange: (attempt, { rejected }) => {
      if (!includesParameter(rejected, "tool_choice") || !hasTools(attempt.body)) return undefined;
      if (!isValidToolChoice(attempt.body)) return undefined;
      const { toolChoice } = attempt.profile;
      return attempt.body["tool_choice"] !== "auto" && toolChoice !== "auto"
        ? { flags: { toolChoice: "auto" } }
        : dropParameters(["tool_choice"], attempt);
    },
  },

  // Strict servers behind a router that supports it
  {
    code: "parameter",
    description: "does not support cache_control; cache breakpoints are omitted",
    createChange: ({ profile, body }, { rejected }) =>
      profile.cacheControl &&
      rejected.some((path) => path.includes("cache_control")) &&
      JSON.stringify(body["messages"]).includes('"cache_control"')
        ? { flags: { cacheControl: false } }
        : undefined,
  },

  // OpenAI, Azure (pydantic-ai 169), xAI (n8n 14581), Cerebras (opencode 6648), Google, and every strict server
  {
    code: "parameter",
    description: "does not support a parameter",
    createChange: (attempt, { rejected }) =>
      dropParameters(rejected.flatMap(toTopLevelParameter), attempt),
  },

  // "… is not supported when …": the parameter may be supported alone
  {
    code: "parameter",
    description: "does not support a parameter in combination with others",
    createChange: (attempt, { rejectedInCombination }) => {
      const change = dropParameters(rejectedInCombination.flatMap(toTopLevelParameter), attempt);
      return change && { ...change, once: true };
    },
  },

  // OpenAI and Kimi (ccs 344, Kilo cloud 3807), Ollama (OmniRoute 10160), SGLang (CLIProxyAPI 1572), Groq (pi 1745), GLM
  {
    code: "effort",
    patterns: effortErrorPatterns,
    description: "supports other reasoning efforts; the nearest one is sent",
    matchesServerErrors: true,
    createChange: (attempt, { text }) => {
      const sentEffort = attempt.body["reasoning_effort"];
      if (!isEffortUnsupportedByServer(text, sentEffort)) return undefined;
      const efforts =
        typeof sentEffort === "string" ? parseSupportedEfforts(text, sentEffort) : undefined;
      const change =
        efforts === undefined || String(efforts) === String(attempt.profile.efforts)
          ? dropParameters(["reasoning_effort"], attempt)
          : { flags: { efforts } };
      return change && { ...change, ...markRequestSpecific(isAboutCombination(text)) };
    },
  },
];

/** Dropping one of the first four would change the meaning of a request. The rules above handle the others. */
const separatelyHandled = new Set([
  "model",
  "messages",
  "functions",
  "n",
  "tools",
  "tool_choice",
  "response_format",
]);

/** Excludes fields inside a parameter, because they belong to contents that the client wrote. */
function toTopLevelParameter([name = "", ...inner]: readonly string[]): string[] {
  return inner.length > 0 || separatelyHandled.has(name) ? [] : [name];
}

function isTokenLimit(name: string | undefined): name is UpstreamProfile["maxTokensParameter"] {
  return name === "max_tokens" || name === "max_completion_tokens";
}

function isReasoningField(path: readonly string[]): boolean {
  return /^reasoning(?:_content|_details)?$/.test(path.at(-1) ?? "");
}

/** True if the parameter itself or the given part of it is rejected. */
function includesParameter(
  rejected: readonly (readonly string[])[],
  parameter: string,
  part?: string,
): boolean {
  return rejected.some(
    ([first, second]) => first === parameter && (second === undefined || second === part),
  );
}

const responseFormatFallbacks = [
  "any",
  "without-tools",
  "json_schema",
  "json_object",
  "none",
] as const;

function restrictResponseFormat(
  { profile, body }: RequestAttempt,
  step: UpstreamProfile["responseFormat"],
): LessonChange | undefined {
  const sentFormat = getResponseFormat(body);
  const currentFlag = profile.responseFormat;
  if (sentFormat !== "json_schema" && sentFormat !== "json_object") return undefined;
  if (responseFormatFallbacks.indexOf(step) <= responseFormatFallbacks.indexOf(currentFlag))
    return undefined;
  // A format that the current setting does not allow was sent unchanged, so a stricter setting would not change the request.
  const allowed =
    currentFlag === "json_object" || currentFlag === "json_schema" ? currentFlag : sentFormat;
  return sentFormat === allowed ? { flags: { responseFormat: step } } : undefined;
}

const fixedSamplingPattern =
  /\b(temperature|top_p|top_k|presence_penalty|frequency_penalty)\b["'`]?[^\n]{0,60}(?:does(?: not|n't) support(?! (?:an? |the )?(?:values?|more|less|numbers?|negative|greater|over|above|below))|only (?:be set to )?(?:the default|(?:\w+ ?= ?)?1(?!\d|[.,]\d| (?:or|to|and)\b))|is deprecated|must be 1(?!\d|[.,]\d| (?:or|to|and)\b))/i;

/** True for values that any server could support; others are a mistake of the client. */
function isInValidRange(name: string, value: JsonValue | undefined): boolean {
  const [min, max] = name.endsWith("_penalty") ? [-2, 2] : [0, name === "top_p" ? 1 : 2];
  if (name === "top_k") return true;
  return typeof value === "number" && value >= min && value <= max;
}

/** Returns the change that drops the parameters, with a description that names them; undefined if none can be dropped. */
function dropParameters(
  parameters: readonly string[],
  attempt: RequestAttempt,
): LessonChange | undefined {
  const flags = createDropFlags(parameters, attempt);
  const dropped = flags?.droppedParameters ?? [];
  return flags && { flags, description: `does not support ${dropped.join(", ")}; omitted` };
}

/** Returns the flag that drops the parameters that were sent and are not dropped yet; undefined if there are none. */
function createDropFlags(
  parameters: readonly string[],
  { body, profile }: RequestAttempt,
): Partial<UpstreamProfile> | undefined {
  const droppedParameters = [...new Set(parameters)].filter(
    (name) =>
      Object.hasOwn(body, name) &&
      !profile.droppedParameters.includes(name) &&
      !Object.hasOwn(profile.extraBody, name),
  );
  return droppedParameters.length === 0 ? undefined : { droppedParameters };
}
