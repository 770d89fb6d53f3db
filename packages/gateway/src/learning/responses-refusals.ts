import { isObject, refusesHistory, type JsonObject } from "@deltawire/wire";
import { effortForms, effortsIn, isServersMatter } from "./efforts.ts";
import type { Change, KnownRefusal, Tried } from "./lesson.ts";
import { onceIf, saysCombination } from "./own-content.ts";
import { objectsIn } from "./sent.ts";

/** What Responses upstreams have against a request, in their words, and where these were seen. */
export const responsesRefusals: readonly KnownRefusal[] = [
  // OpenAI's models without reasoning (hermes-agent 24234, software-agent-sdk 1208)
  {
    lesson: "include",
    says: [
      /encrypted content is not supported/i,
      /\binclude\b[^\n]{0,120}(?:not supported|unsupported|\binvalid\b|supported values)/i,
    ],
    what: "does not take some of include: that is left out",
    change: (tried, { text, refused }) =>
      refused.some(([name, part]) => name === "include" && part === undefined)
        ? dropping(["include"], tried)
        : withoutIncluded(tried, text),
  },

  // OpenAI (codex 8128), Copilot (oh-my-pi 290): reasoning that another key or another server sealed
  {
    lesson: "sealed_reasoning",
    says: [
      /encrypted[_ ]content[\s\S]{0,200}(?:could not be|cannot be|can't be|failed|invalid)/i,
      /(?:could not|cannot|failed to|unable to) decrypt/i,
      /invalid_encrypted_content/i,
    ],
    what: "cannot open sealed reasoning in this history: it is left out",
    change: ({ responses, body }) =>
      responses.dropSealed !== true && hasSealed(body)
        ? { responses: { refusedHistory: true, dropSealed: true }, once: true }
        : undefined,
  },

  // OpenAI and Azure (bifrost 5410, openai-agents-js 546, vercel/ai 7099 and 7543)
  {
    lesson: "history",
    says: [/Item with id [^\n]{1,80} not found/i, /without its required/i],
    what: "refuses items whose reasoning is not there: they get no id",
    change: ({ responses, body }, { text }) => {
      const known = refusesHistory(text) || /Item with id/i.test(text);
      const items = objectsIn(body["input"]);
      if (!known || items.length === 0) return undefined;
      // What the client only refers to has no id to lose.
      const [, id] = /Item with id ["'`]?([\w-]+)/i.exec(text) ?? [];
      if (items.some((item) => item["type"] === "item_reference" && item["id"] === id))
        return undefined;
      if (responses.refusedHistory !== true) return { responses: { refusedHistory: true } };
      return responses.dropSealed !== true && hasSealed(body)
        ? { responses: { dropSealed: true }, once: true }
        : undefined;
    },
  },

  // ChatGPT's Codex backend (codex 26173, openhuman 3201), vLLM (22137)
  {
    lesson: "store",
    says: [
      /(?<!(?:with|when|if|while) ["'`]?)\bstore["'`]?(?: must be set to|=)? ?["'`]?false/i,
      /store=true[^\n]{0,40}not supported/i,
    ],
    what: "keeps no responses: store is false",
    change: ({ responses, body }) =>
      body["store"] !== false && responses.extraBody?.["store"] === undefined
        ? { responses: { extraBody: { store: false } } }
        : undefined,
  },

  // ChatGPT's Codex backend (new-api 5819)
  {
    lesson: "stream_only",
    says: [/stream[^\n]{0,20}must be (?:set to )?true/i, /only supports? stream/i],
    what: "only streams: whole replies are put together from a stream",
    change: ({ responses, body }, { text }) =>
      body["stream"] !== true && responses.extraBody?.["stream"] === undefined
        ? { responses: { extraBody: { stream: true } }, ...onceIf(saysCombination(text)) }
        : undefined,
  },

  // ChatGPT's Codex backend (ChatMock 103), OpenAI (codex 31846), Copilot on items (copilot-api 308), every strict server
  {
    lesson: "parameter",
    what: "does not know a parameter",
    change: (tried, { refused }) => dropping(refused.flatMap(droppedPath), tried),
  },
  {
    lesson: "parameter",
    what: "does not take a parameter beside others of this request",
    change: (tried, { combined }) => {
      const drop = dropping(combined.flatMap(droppedPath), tried);
      return drop && { ...drop, once: true };
    },
  },

  // OpenAI (codex 6647), Ollama (17141), xAI (hermes-agent 23088)
  {
    lesson: "effort",
    says: effortForms,
    what: "knows other words for the effort: the nearest of them is sent",
    change: (tried, { text }) => {
      const { reasoning } = tried.body;
      const sent = isObject(reasoning) ? reasoning["effort"] : undefined;
      if (!isServersMatter(text, sent)) return undefined;
      const efforts = typeof sent === "string" ? effortsIn(text, sent) : undefined;
      const change =
        efforts === undefined || String(efforts) === String(tried.responses.efforts)
          ? dropping(["reasoning.effort"], tried)
          : { responses: { efforts } };
      return change && { ...change, ...onceIf(saysCombination(text)) };
    },
  },
];

/** Of these only the part that is refused goes. */
const nested = new Set(["reasoning", "text", "stream_options"]);
/** Of these only the field that is refused goes, of all that are listed. */
const lists = new Set(["input", "tools"]);

/** Without these a request would ask for something else, or out of context. */
const needed =
  /^(?:model|input|instructions|tools|previous_response_id|conversation|prompt|(?:input|tools)\[\]\.(?:type|role|content|call_id|name|arguments|input|output|summary|action|parameters|tools|description|format|vector_store_ids|server_url|server_label|container))$/;

/** A path that can be left out; what is unknown deeper than that is what the client wrote there. */
function droppedPath([name = "", ...inner]: readonly string[]): string[] {
  const [first, second] = inner;
  if (first === undefined) return [name];
  if (lists.has(name)) return inner.length === 2 ? [`${name}[].${second}`] : [];
  return nested.has(name) && inner.length === 1 ? [`${name}.${first}`] : [];
}

/** Without the entries that are refused, by their place or by their name. */
function withoutIncluded(tried: Tried, text: string): Change | undefined {
  const { include: asked } = tried.body;
  const include = Array.isArray(asked) ? asked.filter((entry) => typeof entry === "string") : [];
  const places = [...text.matchAll(/\binclude[[.](\d+)/g)].map(([, at]) => Number(at));
  const [complaint = ""] = text.split(/supported values|expected|must be|one of/i);
  const refused = include.filter(
    (entry, at) =>
      places.includes(at) ||
      complaint.includes(entry) ||
      (entry === sealed && /encrypted content is not supported/i.test(text)),
  );
  const drop = refused.length === 0 ? undefined : dropping(["include"], tried);
  const rest = include.filter((entry) => !refused.includes(entry));
  // Nearly every request asks for sealed reasoning alone: such a server is not to refuse each of them first.
  if (rest.length === 0)
    return drop && { ...drop, ...onceIf(include.some((entry) => entry !== sealed)) };
  return (
    drop && {
      responses: { extraBody: { include: rest } },
      what: `does not take ${refused.join(", ")} in include: left out`,
      once: true,
    }
  );
}

const sealed = "reasoning.encrypted_content";

function dropping(paths: readonly string[], { body, responses }: Tried): Change | undefined {
  const gone = responses.droppedParameters ?? [];
  const droppedParameters = [...new Set(paths)].filter(
    (path) => !needed.test(path) && !gone.includes(path) && isSent(path, body),
  );
  if (droppedParameters.length === 0) return undefined;
  return {
    responses: { droppedParameters },
    what: `does not take ${droppedParameters.join(", ")}: left out`,
  };
}

function isSent(path: string, body: JsonObject): boolean {
  const [name = "", part] = path.split(/(?:\[\])?\./);
  const value = Object.hasOwn(body, name) ? body[name] : undefined;
  if (part === undefined) return value !== undefined;
  return [value, ...objectsIn(value)].some((one) => isObject(one) && one[part] !== undefined);
}

function hasSealed({ input }: Tried["body"]): boolean {
  return objectsIn(input).some(
    (item) => item["type"] === "reasoning" && typeof item["encrypted_content"] === "string",
  );
}
