import { assertArray, assertObject, assertString, throwInvalid } from "../decode/assertions.ts";
import type { JsonObject, JsonValue } from "../json.ts";

/** The parts of a Responses history item that Codex sends on the Chat wire. */
export type CodexHistoryItem =
  | { type: "message"; role: string; parts: CodexChatPart[] }
  | { type: "reasoning"; text: string }
  | { type: "function_call"; name: string; arguments: string; call_id: string }
  | { type: "function_call_output"; call_id: string; output: string | CodexChatPart[] }
  | { type: "local_shell_call"; id: string; status: JsonValue; action: JsonObject }
  | { type: "custom_tool_call"; id: string | null; name: string; input: JsonValue }
  | { type: "custom_tool_call_output"; call_id: string; output: JsonValue }
  | { type: "ignored" };

export type CodexChatPart =
  | { type: "text"; text: string }
  | { type: "image_url"; image_url: { url: string } };

/** Returns `ignored` for unknown types and for items that Codex does not send (spec section 10). */
export function parseHistoryItem(value: unknown, path: string): CodexHistoryItem {
  const item = assertObject(value, path);
  const readField = (field: string): string => readStringValue(item[field], `${path}.${field}`);
  const type = readField("type");
  switch (type) {
    case "message":
      return {
        type,
        role: readField("role"),
        parts: parseParts(item["content"], `${path}.content`),
      };
    case "reasoning":
      return { type, text: joinReasoningText(item["content"], `${path}.content`) };
    case "function_call":
      return {
        type,
        name: readField("name"),
        arguments: readField("arguments"),
        call_id: readField("call_id"),
      };
    case "function_call_output": {
      const { output } = item;
      const result = typeof output === "string" ? output : parseParts(output, `${path}.output`);
      return { type, call_id: readField("call_id"), output: result };
    }
    case "local_shell_call":
      return {
        type,
        // The `id`, not the `call_id` that the output refers to; empty if absent (spec section 8.2).
        id: typeof item["id"] === "string" ? item["id"] : "",
        status: item["status"] ?? null,
        action: toShellAction(assertObject(item["action"], `${path}.action`)),
      };
    case "custom_tool_call": {
      const id = typeof item["id"] === "string" ? item["id"] : null;
      return { type, id, name: readField("name"), input: item["input"] ?? null };
    }
    case "custom_tool_call_output":
      return { type, call_id: readField("call_id"), output: item["output"] ?? null };
    default:
      return { type: "ignored" };
  }
}

function readStringValue(value: unknown, path: string): string {
  assertString(value, path);
  return value as string;
}

function parseParts(value: unknown, path: string): CodexChatPart[] {
  return assertArray(value, path).map((entry, index): CodexChatPart => {
    const partPath = `${path}[${index}]`;
    const part = assertObject(entry, partPath);
    switch (part["type"]) {
      case "input_text":
      case "output_text":
        return { type: "text", text: readStringValue(part["text"], `${partPath}.text`) };
      case "input_image":
        return {
          type: "image_url",
          image_url: { url: readStringValue(part["image_url"], `${partPath}.image_url`) },
        };
      default:
        return throwInvalid(
          `${partPath}.type`,
          "input_text, output_text or input_image",
          part["type"],
        );
    }
  });
}

/** Joins the text parts without a separator (spec section 6.4). Summaries are not included. */
function joinReasoningText(content: unknown, path: string): string {
  if (content === undefined || content === null) return "";
  return assertArray(content, path)
    .map((entry, index) =>
      readStringValue(assertObject(entry, `${path}[${index}]`)["text"], `${path}[${index}].text`),
    )
    .join("");
}

/** Codex sends absent fields as null. */
function toShellAction(action: JsonObject): JsonObject {
  const { command, timeout_ms, working_directory, env, user } = action;
  return {
    type: "exec",
    command: command ?? [],
    timeout_ms: timeout_ms ?? null,
    working_directory: working_directory ?? null,
    env: env ?? null,
    user: user ?? null,
  };
}
