import { isObject, type JsonObject, type JsonValue } from "../json.ts";
import type { ChatRequest } from "../shapes/chat-request.ts";
import type { MessagesRequest } from "../shapes/messages-request.ts";
import type { ResponsesRequest } from "../shapes/responses-request.ts";

/** Estimates the number of tokens in the text, for a tokenizer with a typical vocabulary size. */
export function estimateTokens(text: string): number {
  return Math.ceil(estimateFractionalTokens(text));
}

/** In characters. Longer text is extrapolated from its beginning: counting 60 MB took 110 ms. */
const maxSampledLength = 1_000_000;

/** Like `estimateTokens` but not rounded, so that estimates of parts can be added. */
export function estimateFractionalTokens(text: string): number {
  if (text.length > maxSampledLength)
    return (
      estimateFractionalTokens(text.slice(0, maxSampledLength)) * (text.length / maxSampledLength)
    );
  let tokens = text.length * latinTokens;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit >= 0x80) tokens += tokensPerUnit(unit) - latinTokens;
  }
  return tokens;
}

// Tokens per UTF-16 unit. English text has 4 to 4.8 units per token in the recordings, JSON and code 3 to 4.
const latinTokens = 1 / 4;
const accentedTokens = 1 / 2;
const otherScriptTokens = 1 / 2;
const ideographTokens = 3 / 4;
const symbolTokens = 1;

function tokensPerUnit(unit: number): number {
  if (unit < 0x370) return accentedTokens;
  if (unit < 0x2000) return otherScriptTokens;
  if (unit < 0x2e80) return symbolTokens; // punctuation, arrows, boxes, dingbats
  if (unit < 0xd800) return ideographTokens; // including kana and hangul
  if (unit < 0xe000) return symbolTokens; // surrogates, mostly of emoji
  return ideographTokens;
}

/** Tokens per message for its role and delimiters. */
const messageOverheadTokens = 4;
/** Providers downscale images first, so an image of any size costs 85 to 1,600 tokens. */
const imageTokens = 1000;
/** A PDF has 50 to 100 KB per page and a page about 1,000 tokens. Base64 audio has one token per thousand characters. */
const fileCharactersPerToken = 80;
const audioCharactersPerToken = 1000;
/** For files whose size is unknown because only their id or URL is given. */
const unknownSizeTokens = 1000;

/** Estimates the tokens of a request: its messages, tools, images and files. */
export function estimateRequestTokens(body: ChatRequest | ResponsesRequest): number {
  let tokens = 0;
  for (const field of ["messages", "input"]) {
    const content = body[field];
    tokens += Array.isArray(content) ? content.length * messageOverheadTokens : 0;
    tokens += estimateValueTokens(content);
  }
  tokens += estimateValueTokens(body["instructions"]);
  for (const field of ["tools", "functions", "response_format", "text"])
    if (body[field]) tokens += estimateFractionalTokens(JSON.stringify(body[field]));
  return Math.ceil(tokens);
}

/** Tokens that Anthropic's models have in addition to the text, measured on recorded replies and documented counts. */
const toolPromptTokens = 346;
const firstCallTokens = 16;
const toolUseTokens = 20;
const parameterTokens = 17;
const toolResultTokens = 12;
/** Anthropic's limit for one image. */
const maxImageTokens = 1600;
/** Anthropic's models have more tokens for the same text: 3.6 to 4.6 characters per token in recorded English replies. */
const messagesMargin = 1.06;
/** JSON has more tokens than text. */
const jsonMargin = 1.25;

/**
 * Estimates the tokens of a Messages request, for `count_tokens`: rather too high than too low, so that clients shorten their
 * history in time. Never 0.
 */
export function estimateMessagesTokens(request: MessagesRequest): number {
  let tokens = estimateValueTokens(request.system ?? undefined);
  let overhead = 0;
  for (const { content } of request.messages) {
    tokens += messageOverheadTokens;
    if (typeof content === "string") tokens += estimateFractionalTokens(content);
    else
      for (const block of content) {
        tokens += estimateBlockTokens(block);
        overhead += estimateBlockOverhead(block);
      }
    if (Array.isArray(content) && content.some(({ type }) => type === "tool_use"))
      overhead += firstCallTokens;
  }
  const { tools } = request;
  if (tools && tools.length > 0) {
    tokens += estimateFractionalTokens(JSON.stringify(tools));
    overhead += toolPromptTokens;
  }
  return Math.max(1, Math.ceil(tokens * messagesMargin + overhead));
}

/** Returns the reply to `count_tokens`, marked as an estimate. */
export function buildTokenCount(request: MessagesRequest): {
  input_tokens: number;
  estimated: true;
} {
  return { input_tokens: estimateMessagesTokens(request), estimated: true };
}

function estimateBlockOverhead({ type, input }: JsonObject): number {
  switch (type) {
    case "image":
      return maxImageTokens - imageTokens;
    case "tool_use":
      return toolUseTokens + parameterTokens * Object.keys(isObject(input) ? input : {}).length;
    case "tool_result":
      return toolResultTokens;
    default:
      return 0;
  }
}

function estimateBlockTokens(block: JsonObject): number {
  const { type, name, input } = block;
  if (type !== "tool_use") return estimateValueTokens(block);
  const text = JSON.stringify(input ?? {});
  return estimateFractionalTokens(text) * jsonMargin + estimateValueTokens(name);
}

/** Fields that are not part of the conversation or that repeat the text of another field. */
const uncountedFields = new Set([
  "type",
  "role",
  "id",
  "call_id",
  "tool_use_id",
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

function estimateValueTokens(value: JsonValue | undefined): number {
  if (typeof value === "string")
    return value.startsWith("data:")
      ? estimateDataUrlTokens(value)
      : estimateFractionalTokens(value);
  if (typeof value === "number" || typeof value === "boolean") return 1;
  if (Array.isArray(value))
    return value.reduce<number>((sum, entry) => sum + estimateValueTokens(entry), 0);
  if (!isObject(value)) return 0;
  const media = estimateMediaTokens(value);
  if (media !== undefined) return media;
  let tokens = 0;
  for (const [field, inner] of Object.entries(value))
    if (!uncountedFields.has(field)) tokens += estimateValueTokens(inner);
  return tokens;
}

/** Returns undefined if the part is not an image, a file or audio. */
function estimateMediaTokens(part: JsonObject): number | undefined {
  switch (part["type"]) {
    case "image":
    case "image_url":
    case "input_image":
    case "computer_screenshot":
    case "image_generation_call":
      return imageTokens;
    case "input_audio": {
      const { data } = isObject(part["input_audio"]) ? part["input_audio"] : part;
      return typeof data === "string" ? data.length / audioCharactersPerToken : unknownSizeTokens;
    }
    case "document": {
      const { type, data } = isObject(part["source"]) ? part["source"] : {};
      if (type !== "base64") return undefined;
      return typeof data === "string" ? data.length / fileCharactersPerToken : unknownSizeTokens;
    }
    case "file":
    case "input_file": {
      const { file_data: data } = isObject(part["file"]) ? part["file"] : part;
      return typeof data === "string" ? data.length / fileCharactersPerToken : unknownSizeTokens;
    }
    default:
      return undefined;
  }
}

function estimateDataUrlTokens(url: string): number {
  if (url.startsWith("data:image/")) return imageTokens;
  if (url.startsWith("data:audio/")) return url.length / audioCharactersPerToken;
  return url.length / fileCharactersPerToken;
}
