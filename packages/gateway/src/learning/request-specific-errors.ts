import { isObject, type JsonObject, type JsonValue } from "@deltawire/wire";

/* Recognizes errors about the content of a single request. They must not change later requests. */

/** A parameter is rejected only in combination with others: "… must be none when tools are used". */
const combinationPattern =
  /\b(?:when|while|if|unless|together|alongside|in combination|in conjunction|cannot both|with (?:function )?tools|without tools)\b/i;

/** The schema of this request is invalid, as JSON Schema or as a strict one. Other requests may have valid ones. */
const invalidSchemaPattern =
  /invalid (?:json )?schema\b|mixed values|["'`](?:additionalProperties|required)["'`] is required/i;

/** Only a keyword of the schema is unsupported. */
const schemaKeywordPattern =
  /unsupported JSON schema|\b(?:keywords?|oneOf|anyOf|allOf|minLength|maxLength|minItems|maxItems|patternProperties|additionalProperties|propert(?:y|ies)|enum|recursi\w+|nest(?:ed|ing)|depth)\b|\$(?:ref|defs)|["'`](?:pattern|format|not|default|minimum|maximum)["'`]/i;

/** The contents of response_format are invalid: its name, its schema, a missing field. */
const invalidFormatPattern =
  /invalid (?:json )?schema (?:for|in) ["'`]?response_?format|json_schema\.(?:name|schema|description)\b|missing required|must contain the word/i;

/** Shorter matches ("strict") occur in many requests by chance. */
const minQuoteLength = 12;
/** An error with more matches counts as a quote, because each would have to be searched for in the complete request. */
const maxSentences = 8;

/**
 * True if the text of the request contains a matched part of the error: the error may only quote the request, and clients can
 * send any text.
 */
export function quotesRequest(sentences: readonly string[], body: JsonObject): boolean {
  const quotes = new Set(sentences.filter((sentence) => sentence.length >= minQuoteLength));
  return quotes.size > maxSentences || (quotes.size > 0 && hasText(body, [...quotes]));
}

function hasText(value: JsonValue | undefined, sentences: readonly string[]): boolean {
  if (typeof value === "string") return sentences.some((sentence) => value.includes(sentence));
  if (Array.isArray(value)) return value.some((item) => hasText(item, sentences));
  return isObject(value) && Object.values(value).some((item) => hasText(item, sentences));
}

export function markRequestSpecific(isRequestSpecific: boolean): { once?: true } {
  return isRequestSpecific ? { once: true } : {};
}

export function isAboutCombination(text: string): boolean {
  return combinationPattern.test(text);
}

export function isAboutInvalidSchema(text: string): boolean {
  return invalidSchemaPattern.test(text);
}

export function isAboutSchemaKeyword(text: string): boolean {
  return schemaKeywordPattern.test(text);
}

export function isAboutInvalidFormat(text: string): boolean {
  return invalidFormatPattern.test(text);
}

/** True if the error is about reasoning, and this request has turned reasoning on. */
export function isAboutRequestedReasoning(text: string, body: JsonObject): boolean {
  if (!/think|reasoning/i.test(text)) return false;
  const { reasoning_effort: effort } = body;
  return (
    (typeof effort === "string" && effort !== "none") ||
    ["thinking", "enable_thinking", "reasoning", "chat_template_kwargs"].some(
      (name) => isObject(body[name]) || body[name] === true,
    )
  );
}
