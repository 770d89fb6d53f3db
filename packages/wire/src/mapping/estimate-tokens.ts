import { isObject, type JsonObject, type JsonValue } from "../json.ts";
import type { ChatRequest } from "../shapes/chat-request.ts";
import type { ResponsesRequest } from "../shapes/responses-request.ts";

/** About how many tokens a text has, in a vocabulary of the usual size. */
export function estimateTokens(text: string): number {
  return Math.ceil(tokenWeight(text));
}

/** Of a longer text this much is looked at: 60 MB took 110 ms. */
const longestCounted = 1_000_000;

/** The same, not rounded, so that the pieces of a text can be added up. */
export function tokenWeight(text: string): number {
  if (text.length > longestCounted)
    return tokenWeight(text.slice(0, longestCounted)) * (text.length / longestCounted);
  let weight = text.length * latin;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit >= 0x80) weight += weightOf(unit) - latin;
  }
  return weight;
}

// Tokens per UTF-16 unit. English text has 4 to 4.8 units a token in the recordings, JSON and code 3 to 4.
const latin = 1 / 4;
const accented = 1 / 2;
const otherScript = 1 / 2;
const ideograph = 3 / 4;
const symbol = 1;

function weightOf(unit: number): number {
  if (unit < 0x370) return accented;
  if (unit < 0x2000) return otherScript;
  if (unit < 0x2e80) return symbol; // punctuation, arrows, boxes, dingbats
  if (unit < 0xd800) return ideograph; // with kana and hangul
  if (unit < 0xe000) return symbol; // halves of what needs two units, most of all emoji
  return ideograph;
}

/** What a message costs beside its words: its role, and where it begins and ends. */
const messageTokens = 4;
/** Pictures are scaled before they are counted: 85 to 1,600 tokens, whatever their size. */
const imageTokens = 1000;
/** A PDF has 50 to 100 KB a page and a page about 1,000 tokens; sound has 1 token for some thousand characters. */
const fileCharactersPerToken = 80;
const audioCharactersPerToken = 1000;
/** What stands for something whose size nobody knows: a file by its id or its address. */
const unknownTokens = 1000;

/** About how many tokens a request has: what is said in it, the tools it offers, pictures and files. */
export function estimateRequestTokens(body: ChatRequest | ResponsesRequest): number {
  let weight = 0;
  for (const field of ["messages", "input"]) {
    const said = body[field];
    weight += Array.isArray(said) ? said.length * messageTokens : 0;
    weight += weightOfValue(said);
  }
  weight += weightOfValue(body["instructions"]);
  for (const field of ["tools", "functions", "response_format", "text"])
    if (body[field]) weight += tokenWeight(JSON.stringify(body[field]));
  return Math.ceil(weight);
}

/** Fields that are no words of the conversation, or whose words stand in another field too. */
const silent = new Set([
  "type",
  "role",
  "id",
  "call_id",
  "tool_call_id",
  "status",
  "phase",
  "detail",
  "annotations",
  "logprobs",
  "encrypted_content",
  "signature",
  "reasoning_opaque",
  "reasoning_details",
  "extra_content",
  "cache_control",
]);

function weightOfValue(value: JsonValue | undefined): number {
  if (typeof value === "string")
    return value.startsWith("data:") ? weightOfData(value) : tokenWeight(value);
  if (typeof value === "number" || typeof value === "boolean") return 1;
  if (Array.isArray(value))
    return value.reduce<number>((sum, each) => sum + weightOfValue(each), 0);
  if (!isObject(value)) return 0;
  const media = weightOfMedia(value);
  if (media !== undefined) return media;
  let weight = 0;
  for (const [field, inner] of Object.entries(value))
    if (!silent.has(field)) weight += weightOfValue(inner);
  return weight;
}

/** A picture, a file or a sound; undefined for any other object. */
function weightOfMedia(part: JsonObject): number | undefined {
  switch (part["type"]) {
    case "image_url":
    case "input_image":
    case "computer_screenshot":
    case "image_generation_call":
      return imageTokens;
    case "input_audio": {
      const { data } = isObject(part["input_audio"]) ? part["input_audio"] : part;
      return typeof data === "string" ? data.length / audioCharactersPerToken : unknownTokens;
    }
    case "file":
    case "input_file": {
      const { file_data: data } = isObject(part["file"]) ? part["file"] : part;
      return typeof data === "string" ? data.length / fileCharactersPerToken : unknownTokens;
    }
    default:
      return undefined;
  }
}

function weightOfData(url: string): number {
  if (url.startsWith("data:image/")) return imageTokens;
  if (url.startsWith("data:audio/")) return url.length / audioCharactersPerToken;
  return url.length / fileCharactersPerToken;
}
