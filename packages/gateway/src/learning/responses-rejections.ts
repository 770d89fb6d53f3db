import { isObject, isHistoryRejection, type JsonObject, type JsonValue } from "@deltawire/wire";
import {
  effortErrorPatterns,
  parseSupportedEfforts,
  isEffortUnsupportedByServer,
} from "./supported-efforts.ts";
import type { LessonChange, LessonRule, RequestAttempt } from "./lesson.ts";
import { markRequestSpecific, isAboutCombination } from "./request-specific-errors.ts";
import { filterObjects } from "./inspect-request.ts";

/** Errors of Responses upstreams. The comments name the servers and issues that the patterns come from. */
export const responsesRejections: readonly LessonRule[] = [
  // OpenAI's models without reasoning (hermes-agent 24234, software-agent-sdk 1208)
  {
    code: "include",
    patterns: [
      /encrypted content is not supported/i,
      /\binclude\b[^\n]{0,120}(?:not supported|unsupported|\binvalid\b|supported values)/i,
    ],
    description: "does not support some values of include; they are omitted",
    createChange: (attempt, { text, rejected }) =>
      rejected.some(([name, part]) => name === "include" && part === undefined)
        ? dropPaths(["include"], attempt)
        : dropIncludeEntries(attempt, text),
  },

  // OpenAI (codex 8128), Copilot (oh-my-pi 290): reasoning that another key or another server sealed
  {
    code: "sealed_reasoning",
    patterns: [
      /encrypted[_ ]content[\s\S]{0,200}(?:could not be|cannot be|can't be|failed|invalid)/i,
      /(?:could not|cannot|failed to|unable to) decrypt/i,
      /invalid_encrypted_content/i,
    ],
    description: "cannot decrypt the sealed reasoning of this history; it is omitted",
    createChange: ({ responses, body }) =>
      responses.dropSealed !== true && hasEncryptedReasoning(body)
        ? { responses: { rejectsHistory: true, dropSealed: true }, once: true }
        : undefined,
  },

  // OpenAI and Azure (bifrost 5410, openai-agents-js 546, vercel/ai 7099 and 7543)
  {
    code: "history",
    patterns: [/Item with id [^\n]{1,80} not found/i, /without its required/i],
    description: "rejects items without their reasoning; they are sent without id",
    createChange: ({ responses, body }, { text }) => {
      const isKnown = isHistoryRejection(text) || /Item with id/i.test(text);
      const items = filterObjects(body["input"]);
      if (!isKnown || items.length === 0) return undefined;
      // An item_reference has nothing but its id.
      const [, id] = /Item with id ["'`]?([\w-]+)/i.exec(text) ?? [];
      if (items.some((item) => item["type"] === "item_reference" && item["id"] === id))
        return undefined;
      if (responses.rejectsHistory !== true) return { responses: { rejectsHistory: true } };
      return responses.dropSealed !== true && hasEncryptedReasoning(body)
        ? { responses: { dropSealed: true }, once: true }
        : undefined;
    },
  },

  // Servers without Codex's "lite" requests, whose first item declares the tools
  {
    code: "additional_tools",
    patterns: [
      /additional_tools/i,
      /\binput(?:\[0\]|\.0)?\b[^\n]{0,120}(?:\btype\b|invalid|unknown|union|discriminat|variant)/i,
    ],
    description: "does not support additional_tools in input; they are sent as tools",
    createChange: ({ responses, body }) =>
      responses.hoistTools !== true &&
      filterObjects(body["input"]).some((item) => item["type"] === "additional_tools")
        ? { responses: { hoistTools: true } }
        : undefined,
  },

  // ChatGPT's Codex backend (codex 26173, openhuman 3201), vLLM 22137
  {
    code: "store",
    patterns: [
      /(?<!(?:with|when|if|while) ["'`]?)\bstore["'`]?(?: must be set to|=)? ?["'`]?false/i,
      /store=true[^\n]{0,40}not supported/i,
    ],
    description: "does not store responses; store is set to false",
    createChange: ({ responses, body }) =>
      body["store"] !== false && responses.extraBody?.["store"] === undefined
        ? { responses: { extraBody: { store: false } } }
        : undefined,
  },

  // ChatGPT's Codex backend (new-api 5819)
  {
    code: "stream_only",
    patterns: [/stream[^\n]{0,20}must be (?:set to )?true/i, /only supports? stream/i],
    description: "supports only streaming; complete replies are assembled from a stream",
    createChange: ({ responses, body }, { text }) =>
      body["stream"] !== true && responses.extraBody?.["stream"] === undefined
        ? {
            responses: { extraBody: { stream: true } },
            ...markRequestSpecific(isAboutCombination(text)),
          }
        : undefined,
  },

  // ChatGPT's Codex backend (ChatMock 103), OpenAI (codex 31846), Copilot on items (copilot-api 308), every strict server
  {
    code: "parameter",
    description: "does not support a parameter",
    createChange: (attempt, { rejected }) => dropPaths(rejected.flatMap(toDroppablePath), attempt),
  },
  {
    code: "parameter",
    description: "does not support a parameter in combination with others",
    createChange: (attempt, { rejectedInCombination }) => {
      const change = dropPaths(rejectedInCombination.flatMap(toDroppablePath), attempt);
      return change && { ...change, once: true };
    },
  },

  // OpenAI (codex 6647), Ollama (17141), xAI (hermes-agent 23088)
  {
    code: "effort",
    patterns: effortErrorPatterns,
    description: "supports other reasoning efforts; the nearest one is sent",
    createChange: (attempt, { text }) => {
      const { reasoning } = attempt.body;
      const sentEffort = isObject(reasoning) ? reasoning["effort"] : undefined;
      if (!isEffortUnsupportedByServer(text, sentEffort)) return undefined;
      const efforts =
        typeof sentEffort === "string" ? parseSupportedEfforts(text, sentEffort) : undefined;
      const change =
        efforts === undefined || String(efforts) === String(attempt.responses.efforts)
          ? dropPaths(["reasoning.effort"], attempt)
          : { responses: { efforts } };
      return change && { ...change, ...markRequestSpecific(isAboutCombination(text)) };
    },
  },
];

/** Parameters of which only the rejected field is dropped. */
const nestedParameters = new Set(["reasoning", "text", "stream_options"]);
/** Lists of which only the rejected field is dropped, from all items. */
const listParameters = new Set(["input", "tools"]);

/** The only field of a content part that is dropped. */
const cacheBreakpoint = "prompt_cache_breakpoint";

/** Paths that are never dropped, because the request would have another meaning or lose its context. */
const requiredPathPattern =
  /^(?:model|input|instructions|tools|previous_response_id|conversation|prompt|(?:input|tools)\[\]\.(?:type|role|content|call_id|name|arguments|input|output|summary|action|parameters|tools|description|format|vector_store_ids|server_url|server_label|container))$/;

/** Returns the path to drop, or an empty list. Deeper paths belong to contents that the client wrote, so they are not dropped. */
function toDroppablePath([name = "", ...inner]: readonly string[]): string[] {
  const [first, second] = inner;
  if (first === undefined) return [name];
  if (inner.at(-1) === cacheBreakpoint && name === "input" && inner.length === 4)
    return [`input[].${second}[].${cacheBreakpoint}`];
  if (listParameters.has(name)) return inner.length === 2 ? [`${name}[].${second}`] : [];
  return nestedParameters.has(name) && inner.length === 1 ? [`${name}.${first}`] : [];
}

/** Omits the rejected entries, which the error names or refers to by index. */
function dropIncludeEntries(attempt: RequestAttempt, text: string): LessonChange | undefined {
  const { include: requested } = attempt.body;
  const include = Array.isArray(requested)
    ? requested.filter((entry) => typeof entry === "string")
    : [];
  const indexes = [...text.matchAll(/\binclude[[.](\d+)/g)].map(([, index]) => Number(index));
  const [problem = ""] = text.split(/supported values|expected|must be|one of/i);
  const rejected = include.filter(
    (entry, index) =>
      indexes.includes(index) ||
      problem.includes(entry) ||
      (entry === encryptedContentInclude && /encrypted content is not supported/i.test(text)),
  );
  const change = rejected.length === 0 ? undefined : dropPaths(["include"], attempt);
  const remaining = include.filter((entry) => !rejected.includes(entry));
  // Most requests include only the encrypted reasoning, so that lesson is stored: otherwise each of them would be rejected first.
  if (remaining.length === 0)
    return (
      change && {
        ...change,
        ...markRequestSpecific(include.some((entry) => entry !== encryptedContentInclude)),
      }
    );
  return (
    change && {
      responses: { extraBody: { include: remaining } },
      description: `does not support ${rejected.join(", ")} in include; omitted`,
      once: true,
    }
  );
}

const encryptedContentInclude = "reasoning.encrypted_content";

function dropPaths(
  paths: readonly string[],
  { body, responses }: RequestAttempt,
): LessonChange | undefined {
  const alreadyDropped = responses.droppedParameters ?? [];
  const droppedParameters = [...new Set(paths)].filter(
    (path) =>
      !requiredPathPattern.test(path) &&
      !alreadyDropped.includes(path) &&
      isPathPresent(path, body),
  );
  if (droppedParameters.length === 0) return undefined;
  return {
    responses: { droppedParameters },
    description: `does not support ${droppedParameters.join(", ")}; omitted`,
  };
}

function isPathPresent(path: string, body: JsonObject): boolean {
  const [name = "", ...fields] = path.split(/(?:\[\])?\./);
  let values: JsonValue[] = Object.hasOwn(body, name) ? [body[name] ?? null] : [];
  for (const field of fields)
    values = values
      .flatMap((value) => (Array.isArray(value) ? value : [value]))
      .flatMap((value) => (isObject(value) && value[field] !== undefined ? [value[field]] : []));
  return values.length > 0;
}

function hasEncryptedReasoning({ input }: RequestAttempt["body"]): boolean {
  return filterObjects(input).some(
    (item) => item["type"] === "reasoning" && typeof item["encrypted_content"] === "string",
  );
}
