import { isObject, parseJson, type ChatRequest, type JsonObject } from "@deltawire/wire";
import { textOf, type Conversation } from "./conversation.ts";
import { fillSchema } from "./fill-schema.ts";
import { TextHints } from "./text-hints.ts";

/** The schema of the answer, if JSON is asked for: by `response_format`, or in words where a server takes none. */
export function schemaAsked(request: ChatRequest): JsonObject | undefined {
  const format = request.response_format;
  if (format?.type === "json_schema") {
    const { schema } = isObject(format.json_schema) ? format.json_schema : {};
    return isObject(schema) ? schema : {};
  }
  const inWords = schemaInWords(request);
  if (inWords !== undefined) return inWords;
  return format?.type === "json_object" ? {} : undefined;
}

export function answerInJson(
  schema: JsonObject,
  { words, results, summary }: Conversation,
): string {
  const text = [words, summary, ...results.map((result) => result.text)].filter(Boolean).join("\n");
  if (Object.keys(schema).length > 0 && (schema["type"] !== "object" || hasShape(schema)))
    return JSON.stringify(fillSchema(schema, new TextHints(text.slice(0, 4000))));
  const answered = results.map(({ name, text: said }) => ({ tool: name, answered: said }));
  return JSON.stringify({
    model: "a demo that answers by rules",
    you_said: words,
    ...(answered.length > 0 ? { results: answered } : {}),
  });
}

function hasShape(schema: JsonObject): boolean {
  return ["properties", "$ref", "anyOf", "oneOf", "allOf", "required"].some(
    (keyword) => schema[keyword] !== undefined,
  );
}

/** What a gateway says for a server that knows no `json_schema`. */
function schemaInWords({ messages }: ChatRequest): JsonObject | undefined {
  for (const message of messages) {
    if (message.role !== "system" && message.role !== "developer" && message.role !== "user")
      continue;
    const text = textOf(message.content);
    const at = text.search(/JSON schema:\s*\{/i);
    if (at === -1) continue;
    const begins = text.indexOf("{", at);
    const parsed = parseJson(text.slice(begins, text.lastIndexOf("}") + 1));
    if (isObject(parsed)) return parsed;
    const line = parseJson(text.slice(begins).split("\n", 1)[0] ?? "");
    if (isObject(line)) return line;
  }
  return undefined;
}
