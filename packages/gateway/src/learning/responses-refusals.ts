import { refusesHistory, type JsonObject } from "@deltawire/wire";
import { effortForms, effortsIn } from "./efforts.ts";
import type { Change, KnownRefusal, Tried } from "./lesson.ts";
import { isObject } from "./refusal-words.ts";
import { objectsIn } from "./sent.ts";

/** What Responses upstreams have against a request, in their words, and where these were seen. */
export const responsesRefusals: readonly KnownRefusal[] = [
  // OpenAI's models without reasoning (hermes-agent 24234, software-agent-sdk 1208)
  {
    lesson: "include",
    says: [
      /encrypted content is not supported/i,
      /\binclude\b[^\n]{0,120}(?:not supported|unsupported|invalid|supported values)/i,
    ],
    what: "does not take include: left out",
    change: (tried) => dropping(["include"], tried),
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
      if (!known || objectsIn(body["input"]).length === 0) return undefined;
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
      /store["'`]?(?: must be set to|=)? ?["'`]?false/i,
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
    change: ({ responses, body }) =>
      body["stream"] !== true && responses.extraBody?.["stream"] === undefined
        ? { responses: { extraBody: { stream: true } } }
        : undefined,
  },

  // ChatGPT's Codex backend (ChatMock 103), OpenAI (codex 31846), Copilot on items (copilot-api 308), every strict server
  {
    lesson: "parameter",
    what: "does not know a parameter",
    change: (tried, { refused }) => dropping(refused.map(droppedPath), tried),
  },

  // OpenAI (codex 6647), Ollama (17141), xAI (hermes-agent 23088)
  {
    lesson: "effort",
    says: effortForms,
    what: "knows other words for the effort: the nearest of them is sent",
    change: (tried, { text }) => {
      const { reasoning } = tried.body;
      const sent = isObject(reasoning) ? reasoning["effort"] : undefined;
      const efforts = typeof sent === "string" ? effortsIn(text, sent) : undefined;
      return efforts === undefined || String(efforts) === String(tried.responses.efforts)
        ? dropping(["reasoning.effort"], tried)
        : { responses: { efforts } };
    },
  },
];

/** Of these only the part that is refused goes. */
const nested = new Set(["reasoning", "text", "stream_options"]);
/** Of these only the field that is refused goes, of all that are listed. */
const lists = new Set(["input", "tools"]);

/** Without these a request would ask for something else, or out of context. */
const needed =
  /^(?:model|input|instructions|tools|previous_response_id|conversation|prompt|(?:input|tools)\[\]\.(?:type|role|content|call_id|name|arguments|input|output|summary|action|parameters|tools))$/;

function droppedPath([name = "", first, second]: readonly string[]): string {
  if (lists.has(name)) return second === undefined ? name : `${name}[].${second}`;
  return nested.has(name) && first !== undefined ? `${name}.${first}` : name;
}

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
