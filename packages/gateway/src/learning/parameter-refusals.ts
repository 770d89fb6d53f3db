import { isAsSent, type JsonValue, type Profile } from "@deltawire/wire";
import { effortForms, effortsIn, isServersMatter } from "./efforts.ts";
import type { Change, KnownRefusal, Tried } from "./lesson.ts";
import {
  isAboutAskedThinking,
  onceIf,
  saysCombination,
  saysSchemaKeyword,
  saysWrongFormat,
  saysWrongSchema,
} from "./own-content.ts";
import { choosesWell, formatOf, hasMessageField, offersTools, saysStrict } from "./sent.ts";

/** What Chat upstreams have against parameters, in their words, and where these were seen. */
export const parameterRefusals: readonly KnownRefusal[] = [
  // Kimi (quirk RQ-TEMPERATURE), OpenAI (OpenHands 4131), Claude (ChatterUI 564), LiteLLM 33738
  {
    lesson: "sampling",
    says: [/temperature|top_p|top_k|_penalty/i],
    what: "samples as it likes",
    change: (tried, { text }) => {
      const [, name = ""] = fixedSampling.exec(text) ?? [];
      const drop = isSane(name, tried.body[name]) ? dropping([name], tried) : undefined;
      return drop && { ...drop, ...onceIf(isAboutAskedThinking(text, tried.body)) };
    },
  },

  // Claude on Bedrock and behind LiteLLM: either may come alone
  {
    lesson: "sampling",
    says: [
      /\b(?:temperature|top_p|top_k)\b["'`]? and ["'`]?(?:temperature|top_p|top_k)\b[^\n]{0,40}cannot both/i,
      /(?:cannot|can't|not)[^\n]{0,20} both ["'`]?(?:temperature|top_p|top_k)\b["'`]? and/i,
      /only one of ["'`]?(?:temperature|top_p|top_k)\b/i,
    ],
    what: "takes one way of sampling at a time",
    change: (tried) => {
      const sent = ["temperature", "top_p", "top_k"].filter(
        (name) => typeof tried.body[name] === "number",
      );
      const drop = dropping(sent.slice(1), tried);
      return drop && { ...drop, once: true };
    },
  },

  // Groq (agno 1065, vercel/ai 16540), Google (js-genai 601)
  {
    lesson: "format_beside_tools",
    says: [
      /(?:json|response.?format)[^\n]{0,60}(?:combined|together|used) with[^\n]{0,20}(?:tool|function)/i,
      /function calling[^\n]{0,60}response mime type/i,
      /response_mime_type[^\n]{0,200}function/i,
    ],
    what: "takes no response_format beside tools: there it is said in words",
    change: ({ profile, body }) =>
      offersTools(body) && formatOf(body) !== undefined && profile.responseFormat === "any"
        ? { flags: { responseFormat: "without-tools" } }
        : undefined,
  },

  // OpenAI and Azure from GPT-5.4 on (openai-openapi 541, litellm 34569, agentgateway 2894)
  {
    lesson: "effort_beside_tools",
    says: [/function tools with reasoning_effort/i],
    what: 'does not reason beside tools on this wire, so it is not asked to; with speaks = "responses" it would',
    change: (tried, { text }) => {
      if (tried.profile.extraBody["reasoning_effort"] !== undefined) return undefined;
      // GPT-5.6 reasons unless it is told not to, and is refused then; Azure refuses even to be told.
      if (/["'`]none["'`]/.test(text))
        return { flags: { extraBody: { reasoning_effort: "none" } }, once: true };
      const flags = withoutParameters(["reasoning_effort"], tried);
      return flags === undefined ? undefined : { flags, once: true };
    },
  },

  // DashScope (quirk RQ-THINKING-NONSTREAM, ragflow 5912)
  {
    lesson: "stream_only",
    says: [
      /must be set to false for non-?streaming/i,
      /only supports? stream/i,
      /stream[^\n]{0,20}must be (?:set to )?true/i,
      /non-?stream(?:ing)?[^\n]{0,40}not supported/i,
      /streaming is required/i,
    ],
    what: "only streams: whole replies are put together from a stream",
    change: ({ profile, body }, { text }) =>
      body["stream"] !== true && !profile.alwaysStream
        ? { flags: { alwaysStream: true }, ...onceIf(saysCombination(text)) }
        : undefined,
  },

  // o1 on OpenAI and Azure (gh-models 31, litellm 7693)
  {
    lesson: "no_stream",
    says: [/["'`]stream["'`] (?:does not support true|is not supported)/i],
    what: "does not stream: whole replies are asked for",
    change: (tried, { combined }) => {
      const flags = withoutParameters(["stream", "stream_options"], tried);
      return tried.body["stream"] === true && flags !== undefined
        ? { flags, ...onceIf(names(combined, "stream")) }
        : undefined;
    },
  },

  // Groq (jan 8136), Cerebras (chatwise-releases 1442), Mistral (crush 1590)
  {
    lesson: "reasoning_refused",
    what: "takes no reasoning back: it is left out",
    change: ({ profile, body }, { refused }) =>
      (isAsSent(profile, "reasoningField") || profile.reasoningField !== "none") &&
      refused.some((path) => isReasoning(path) && hasMessageField(body, path.at(-1) ?? ""))
        ? { flags: { reasoningField: "none", reasoningRequired: false } }
        : undefined,
  },

  // Cerebras (agents 3134, code_puppy 368), RouteLLM (pi 1172); OpenAI, of a schema that is not strict (letta 3137)
  {
    lesson: "strict",
    says: [
      /["'`]strict["'`]/,
      /strict ?= ?true/i,
      /\.strict\b/,
      /["'`](?:additionalProperties|required)["'`] is required to be supplied/i,
    ],
    what: "takes no strict schemas: strict is left out",
    change: ({ profile, body }, { text }) =>
      profile.strictSchemas &&
      saysStrict(body) &&
      !saysWrongFormat(text) &&
      !/\bboolean\b/i.test(text)
        ? { flags: { strictSchemas: false }, ...onceIf(saysWrongSchema(text)) }
        : undefined,
  },

  // OpenAI (midscene 791) refuses the old name, Mistral (litellm 10910) and vLLM (MaxKB 2912) the new one
  {
    lesson: "token_limit",
    what: "has another name for the limit of tokens",
    change: (tried, { refused }) => {
      const [name] = refused.map(([first]) => first).filter(isLimit);
      const drop = name === undefined ? undefined : dropping([name], tried);
      if (drop === undefined) return undefined;
      const { maxTokensParameter, droppedParameters } = tried.profile;
      const other = name === "max_tokens" ? "max_completion_tokens" : "max_tokens";
      const isCurrent =
        isAsSent(tried.profile, "maxTokensParameter") || maxTokensParameter === name;
      if (!isCurrent || droppedParameters.includes(other)) return drop;
      // The new name is not tried again after the old one: a server that refuses both gets neither.
      return other === "max_tokens"
        ? { flags: { ...drop.flags, maxTokensParameter: other } }
        : { flags: { maxTokensParameter: other } };
    },
  },

  // Azure AI (cherry-studio 9214), Mistral (semantic-kernel 10510), new-api 418
  {
    lesson: "stream_usage",
    what: "does not take stream_options: usage is not asked for",
    change: (tried, { refused }) => {
      const flags = names(refused, "stream_options", "include_usage")
        ? withoutParameters(["stream_options"], tried)
        : undefined;
      return flags === undefined ? undefined : { flags: { ...flags, streamUsage: false } };
    },
  },

  // MiniMax (MiniMax-M2.5 4), Perplexity (litellm 2275)
  {
    lesson: "response_format",
    what: "takes no response_format: it is said in words",
    change: (tried, { refused }) =>
      names(refused, "response_format") ? formatAt(tried, "none") : undefined,
  },

  // LM Studio (lmstudio-bug-tracker 189)
  {
    lesson: "response_format",
    says: [/response_format[^\n]{0,20}must be ["'`]json_schema/i],
    what: "knows json_schema and not json_object: a schema of any object is asked for",
    change: (tried) =>
      formatOf(tried.body) === "json_object" ? formatAt(tried, "json_schema") : undefined,
  },

  // DeepSeek (litellm 31466), Volcengine (agno 2553), OpenAI's older models (openai-dotnet 276), Cerebras
  {
    lesson: "response_format",
    says: [
      /response_?format[^\n]{0,120}(?:unavailable|not supported|unsupported|not valid|\binvalid\b)/i,
      /(?:unsupported|\binvalid\b|not support)[^\n]{0,60}(?:response_?format|json_schema|json_object|structured output)/i,
      /(?:json_schema|json_object|structured outputs?)["'`]?[^\n]{0,60}(?:unavailable|not supported|unsupported|not available)/i,
      /unknown variant ["'`]?json_/i,
      /unknown parameter:? ["'`]?response_format\.json_schema\b(?!\.)/i,
      /unsupported JSON schema/i,
    ],
    what: "does not take this response_format: what it says is said in words",
    change: (tried, { text }) => {
      const sent = formatOf(tried.body);
      if (saysWrongFormat(text) || saysWrongSchema(text)) return undefined;
      const change = formatAt(tried, sent === "json_schema" ? "json_object" : "none");
      return change && { ...change, ...onceIf(saysSchemaKeyword(text)) };
    },
  },

  // Bedrock behind LiteLLM (instructor 1390)
  {
    lesson: "tool_choice",
    what: "does not know tool_choice: what is asked for is said in words",
    change: (tried, { refused }) => {
      if (!names(refused, "tool_choice") || !offersTools(tried.body)) return undefined;
      if (!choosesWell(tried.body)) return undefined;
      const { toolChoice } = tried.profile;
      return tried.body["tool_choice"] !== "auto" && toolChoice !== "auto"
        ? { flags: { toolChoice: "auto" } }
        : dropping(["tool_choice"], tried);
    },
  },

  // OpenAI, Azure (pydantic-ai 169), xAI (n8n 14581), Cerebras (opencode 6648), Google, and every strict server
  {
    lesson: "parameter",
    what: "does not know a parameter",
    change: (tried, { refused }) => dropping(refused.flatMap(wholeParameter), tried),
  },

  // "… is not supported when …": alone it may be taken
  {
    lesson: "parameter",
    what: "does not take a parameter beside others of this request",
    change: (tried, { combined }) => {
      const drop = dropping(combined.flatMap(wholeParameter), tried);
      return drop && { ...drop, once: true };
    },
  },

  // OpenAI and Kimi (ccs 344, Kilo cloud 3807), Ollama (OmniRoute 10160), SGLang (CLIProxyAPI 1572), Groq (pi 1745), GLM
  {
    lesson: "effort",
    says: effortForms,
    what: "knows other words for the effort: the nearest of them is sent",
    as500: true,
    change: (tried, { text }) => {
      const sent = tried.body["reasoning_effort"];
      if (!isServersMatter(text, sent)) return undefined;
      const efforts = typeof sent === "string" ? effortsIn(text, sent) : undefined;
      const change =
        efforts === undefined || String(efforts) === String(tried.profile.efforts)
          ? dropping(["reasoning_effort"], tried)
          : { flags: { efforts } };
      return change && { ...change, ...onceIf(saysCombination(text)) };
    },
  },
];

/** Without the first four a request would ask for something else; the others are a matter of the rows above. */
const translated = new Set([
  "model",
  "messages",
  "functions",
  "n",
  "tools",
  "tool_choice",
  "response_format",
]);

/** What is unknown inside a parameter is what the client wrote there. */
function wholeParameter([name = "", ...inner]: readonly string[]): string[] {
  return inner.length > 0 || translated.has(name) ? [] : [name];
}

function isLimit(name: string | undefined): name is Profile["maxTokensParameter"] {
  return name === "max_tokens" || name === "max_completion_tokens";
}

function isReasoning(path: readonly string[]): boolean {
  return /^reasoning(?:_content|_details)?$/.test(path.at(-1) ?? "");
}

/** The whole parameter, or that part of it. */
function names(refused: readonly (readonly string[])[], parameter: string, part?: string): boolean {
  return refused.some(
    ([first, second]) => first === parameter && (second === undefined || second === part),
  );
}

const formatSteps = ["any", "without-tools", "json_schema", "json_object", "none"] as const;

function formatAt({ profile, body }: Tried, step: Profile["responseFormat"]): Change | undefined {
  const sent = formatOf(body);
  const present = profile.responseFormat;
  if (sent !== "json_schema" && sent !== "json_object") return undefined;
  if (formatSteps.indexOf(step) <= formatSteps.indexOf(present)) return undefined;
  // What the present step lets through was sent, or nothing is translated here and a further step would not help.
  const lets = present === "json_object" || present === "json_schema" ? present : sent;
  return sent === lets ? { flags: { responseFormat: step } } : undefined;
}

const fixedSampling =
  /\b(temperature|top_p|top_k|presence_penalty|frequency_penalty)\b["'`]?[^\n]{0,60}(?:does(?: not|n't) support(?! (?:an? |the )?(?:values?|more|less|numbers?|negative|greater|over|above|below))|only (?:be set to )?(?:the default|(?:\w+ ?= ?)?1(?!\d|[.,]\d| (?:or|to|and)\b))|is deprecated|must be 1(?!\d|[.,]\d| (?:or|to|and)\b))/i;

/** What any server with this parameter could take; another number is the client's mistake. */
function isSane(name: string, value: JsonValue | undefined): boolean {
  const [least, most] = name.endsWith("_penalty") ? [-2, 2] : [0, name === "top_p" ? 1 : 2];
  if (name === "top_k") return true;
  return typeof value === "number" && value >= least && value <= most;
}

/** The change that leaves them out, and says which. */
function dropping(parameters: readonly string[], tried: Tried): Change | undefined {
  const flags = withoutParameters(parameters, tried);
  const dropped = flags?.droppedParameters ?? [];
  return flags && { flags, what: `does not take ${dropped.join(", ")}: left out` };
}

/** The flag that leaves out those of the parameters that were sent and can be left out. */
function withoutParameters(
  parameters: readonly string[],
  { body, profile }: Tried,
): Partial<Profile> | undefined {
  const droppedParameters = [...new Set(parameters)].filter(
    (name) =>
      Object.hasOwn(body, name) &&
      !profile.droppedParameters.includes(name) &&
      !Object.hasOwn(profile.extraBody, name),
  );
  return droppedParameters.length === 0 ? undefined : { droppedParameters };
}
