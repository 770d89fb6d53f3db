import { readArray, readObject, readString, refuse } from "../decode/reader.ts";
import type { JsonObject, JsonValue } from "../json.ts";

/** What of a history's item reaches the Chat wire, in the Responses wire's encoding. */
export type HistoryItem =
  | { type: "message"; role: string; parts: ChatPart[] }
  | { type: "reasoning"; text: string }
  | { type: "function_call"; name: string; arguments: string; call_id: string }
  | { type: "function_call_output"; call_id: string; output: string | ChatPart[] }
  | { type: "local_shell_call"; id: string; status: JsonValue; action: JsonObject }
  | { type: "custom_tool_call"; id: string | null; name: string; input: JsonValue }
  | { type: "custom_tool_call_output"; call_id: string; output: JsonValue }
  | { type: "ignored" };

export type ChatPart =
  | { type: "text"; text: string }
  | { type: "image_url"; image_url: { url: string } };

/** Items that 000 does not send (10), and of kinds that nobody knows, are `ignored`. */
export function readHistoryItem(value: unknown, path: string): HistoryItem {
  const item = readObject(value, path);
  const string = (field: string): string => readText(item[field], `${path}.${field}`);
  const type = string("type");
  switch (type) {
    case "message":
      return { type, role: string("role"), parts: readParts(item["content"], `${path}.content`) };
    case "reasoning":
      return { type, text: reasoningText(item["content"], `${path}.content`) };
    case "function_call":
      return {
        type,
        name: string("name"),
        arguments: string("arguments"),
        call_id: string("call_id"),
      };
    case "function_call_output": {
      const { output } = item;
      const said = typeof output === "string" ? output : readParts(output, `${path}.output`);
      return { type, call_id: string("call_id"), output: said };
    }
    case "local_shell_call":
      return {
        type,
        // Its own id, not the call_id that the output will name, and empty if there is none (8.2).
        id: typeof item["id"] === "string" ? item["id"] : "",
        status: item["status"] ?? null,
        action: shellAction(readObject(item["action"], `${path}.action`)),
      };
    case "custom_tool_call": {
      const id = typeof item["id"] === "string" ? item["id"] : null;
      return { type, id, name: string("name"), input: item["input"] ?? null };
    }
    case "custom_tool_call_output":
      return { type, call_id: string("call_id"), output: item["output"] ?? null };
    default:
      return { type: "ignored" };
  }
}

function readText(value: unknown, path: string): string {
  readString(value, path);
  return value as string;
}

function readParts(value: unknown, path: string): ChatPart[] {
  return readArray(value, path).map((entry, index): ChatPart => {
    const at = `${path}[${index}]`;
    const part = readObject(entry, at);
    switch (part["type"]) {
      case "input_text":
      case "output_text":
        return { type: "text", text: readText(part["text"], `${at}.text`) };
      case "input_image":
        return {
          type: "image_url",
          image_url: { url: readText(part["image_url"], `${at}.image_url`) },
        };
      default:
        return refuse(`${at}.type`, "input_text, output_text or input_image", part["type"]);
    }
  });
}

/** Joined without a separator (6.4). A summary is no reasoning here. */
function reasoningText(content: unknown, path: string): string {
  if (content === undefined || content === null) return "";
  return readArray(content, path)
    .map((entry, index) =>
      readText(readObject(entry, `${path}[${index}]`)["text"], `${path}[${index}].text`),
    )
    .join("");
}

/** Codex writes what is absent as null. */
function shellAction(action: JsonObject): JsonObject {
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
