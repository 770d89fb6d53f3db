import { isObject, type JsonObject, type JsonValue } from "@deltawire/wire";

/**
 * What an error says of one request's own content, and not of the server: no later request may suffer for it.
 */

/** Only beside something else that was asked for: "… must be none when tools are used". */
const combining =
  /\b(?:when|while|if|unless|together|alongside|in combination|in conjunction|cannot both|with (?:function )?tools|without tools)\b/i;

/** The schema breaks the rules of JSON Schema, or those of strict ones; another client's may keep them. */
const wrongSchema =
  /invalid (?:json )?schema\b|mixed values|["'`](?:additionalProperties|required)["'`] is required/i;

/** A keyword in the schema, and not schemas as such. */
const schemaKeyword =
  /unsupported JSON schema|\b(?:keywords?|oneOf|anyOf|allOf|minLength|maxLength|minItems|maxItems|patternProperties|additionalProperties|propert(?:y|ies)|enum|recursi\w+|nest(?:ed|ing)|depth)\b|\$(?:ref|defs)|["'`](?:pattern|format|not|default|minimum|maximum)["'`]/i;

/** What stands in response_format beside its type: its name, its schema, what is missing from it. */
const wrongFormat =
  /invalid (?:json )?schema (?:for|in) ["'`]?response_?format|json_schema\.(?:name|schema|description)\b|missing required|must contain the word/i;

/** Shorter sentences ("strict") stand in many texts by chance. */
const shortestQuote = 12;
/** An error with more sentences is taken for a quote: each is searched for in the complete request. */
const mostSentences = 8;

/**
 * True if what is taken for the server's complaint stands in a text of the request: an error may quote what the client sent,
 * and a client may write anything there.
 */
export function quotesRequest(sentences: readonly string[], body: JsonObject): boolean {
  const long = new Set(sentences.filter((sentence) => sentence.length >= shortestQuote));
  return long.size > mostSentences || (long.size > 0 && hasText(body, [...long]));
}

function hasText(value: JsonValue | undefined, sentences: readonly string[]): boolean {
  if (typeof value === "string") return sentences.some((sentence) => value.includes(sentence));
  if (Array.isArray(value)) return value.some((one) => hasText(one, sentences));
  return isObject(value) && Object.values(value).some((one) => hasText(one, sentences));
}

export function onceIf(own: boolean): { once?: true } {
  return own ? { once: true } : {};
}

export function saysCombination(text: string): boolean {
  return combining.test(text);
}

export function saysWrongSchema(text: string): boolean {
  return wrongSchema.test(text);
}

export function saysSchemaKeyword(text: string): boolean {
  return schemaKeyword.test(text);
}

export function saysWrongFormat(text: string): boolean {
  return wrongFormat.test(text);
}

/** What is refused because the model thinks, where this request has asked it to. */
export function isAboutAskedThinking(text: string, body: JsonObject): boolean {
  if (!/think|reasoning/i.test(text)) return false;
  const { reasoning_effort: effort } = body;
  return (
    (typeof effort === "string" && effort !== "none") ||
    ["thinking", "enable_thinking", "reasoning", "chat_template_kwargs"].some(
      (name) => isObject(body[name]) || body[name] === true,
    )
  );
}
