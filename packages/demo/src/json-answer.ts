import { isObject, parseJson, type ChatRequest, type JsonObject } from "@deltawire/wire";
import { joinText, type DemoConversation } from "./conversation.ts";
import { fillSchema } from "./fill-schema.ts";
import { PromptValues } from "./prompt-values.ts";

/** Returns the schema of the answer if the request asks for JSON, in `response_format` or in a message. */
export function getRequestedSchema(request: ChatRequest): JsonObject | undefined {
  const format = request.response_format;
  if (format?.type === "json_schema") {
    const { schema } = isObject(format.json_schema) ? format.json_schema : {};
    return isObject(schema) ? schema : {};
  }
  const messageSchema = findSchemaInMessages(request);
  if (messageSchema !== undefined) return messageSchema;
  return format?.type === "json_object" ? {} : undefined;
}

export function buildJsonAnswer(
  schema: JsonObject,
  { prompt, results, summary }: DemoConversation,
): string {
  const text = [prompt, summary, ...results.map((result) => result.text)]
    .filter(Boolean)
    .join("\n");
  if (Object.keys(schema).length > 0 && (schema["type"] !== "object" || hasStructure(schema)))
    return JSON.stringify(fillSchema(schema, new PromptValues(text.slice(0, 4000))));
  const toolResults = results.map(({ name, text: resultText }) => ({
    tool: name,
    answered: resultText,
  }));
  return JSON.stringify({
    model: "a demo that answers by rules",
    you_said: prompt,
    ...(toolResults.length > 0 ? { results: toolResults } : {}),
  });
}

function hasStructure(schema: JsonObject): boolean {
  return ["properties", "$ref", "anyOf", "oneOf", "allOf", "required"].some(
    (keyword) => schema[keyword] !== undefined,
  );
}

/** Finds the schema that a gateway adds to the messages for servers without `json_schema`. */
function findSchemaInMessages({ messages }: ChatRequest): JsonObject | undefined {
  for (const message of messages) {
    if (message.role !== "system" && message.role !== "developer" && message.role !== "user")
      continue;
    const text = joinText(message.content);
    const index = text.search(/JSON schema:\s*\{/i);
    if (index === -1) continue;
    const start = text.indexOf("{", index);
    const schema = parseJson(text.slice(start, text.lastIndexOf("}") + 1));
    if (isObject(schema)) return schema;
    const line = parseJson(text.slice(start).split("\n", 1)[0] ?? "");
    if (isObject(line)) return line;
  }
  return undefined;
}
