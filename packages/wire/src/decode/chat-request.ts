import type { JsonObject } from "../json.ts";
import type { ChatRequest } from "../shapes/chat-request.ts";
import {
  at,
  readArray,
  readJsonTree,
  readObject,
  readOptional,
  readString,
  readWord,
  refuse,
  type FieldType,
} from "./reader.ts";

/** Checks an untrusted Chat Completions request, and returns the same object; what we do not know passes as it is. */
export function decodeChatRequest(value: unknown): ChatRequest {
  const request = readObject(value, "request");
  readJsonTree(request, "");
  readString(request["model"], "model");
  readOptional(request, "", requestFields);
  readArray(request["messages"], "messages").forEach((message, index) =>
    readMessage(message, `messages[${index}]`),
  );
  const { tools, functions, stop, tool_choice: choice, response_format: format } = request;
  if (Array.isArray(functions))
    functions.forEach((value, index) => {
      const place = `functions[${index}]`;
      readString(readObject(value, place, "a function")["name"], at(place, "name"));
    });
  if (Array.isArray(stop)) stop.forEach((word, index) => readString(word, `stop[${index}]`));
  else if (stop !== undefined && stop !== null) readString(stop, "stop");
  if (Array.isArray(tools)) tools.forEach((tool, index) => readTool(tool, `tools[${index}]`));
  if (choice !== undefined && choice !== null) readToolChoice(choice, "tool_choice");
  if (format !== undefined && format !== null)
    readString(readObject(format, "response_format")["type"], "response_format.type");
  return request as ChatRequest;
}

const requestFields: Record<string, FieldType> = {
  stream: "boolean",
  stream_options: "object",
  tools: "array",
  parallel_tool_calls: "boolean",
  reasoning_effort: "string",
  verbosity: "string",
  max_tokens: "number",
  max_completion_tokens: "number",
  temperature: "number",
  top_p: "number",
  logprobs: "boolean",
  top_logprobs: "number",
  n: "number",
  seed: "number",
  frequency_penalty: "number",
  presence_penalty: "number",
  logit_bias: "object",
  user: "string",
  metadata: "object",
  functions: "array",
};

function readMessage(value: unknown, path: string): void {
  const message = readObject(value, path, "a message");
  readWord(message["role"], at(path, "role"), [
    "system",
    "developer",
    "user",
    "assistant",
    "tool",
    "function",
  ]);
  const { role } = message;
  readContent(message["content"], at(path, "content"), role === "assistant" || role === "function");
  if (message["role"] === "tool") readString(message["tool_call_id"], at(path, "tool_call_id"));
  if (message["role"] === "function") readString(message["name"], at(path, "name"));
  if (message["role"] === "assistant") readAssistant(message, path);
}

function readContent(content: unknown, path: string, mayBeAbsent: boolean): void {
  if (typeof content === "string") return;
  if ((content === null || content === undefined) && mayBeAbsent) return;
  readArray(content, path, "a string or an array of content parts").forEach((value, index) => {
    const place = `${path}[${index}]`;
    const part = readObject(value, place, "a content part");
    switch (part["type"]) {
      case "text":
        return readString(part["text"], at(place, "text"));
      case "refusal":
        return readString(part["refusal"], at(place, "refusal"));
      case "image_url": {
        const image = readObject(
          part["image_url"],
          at(place, "image_url"),
          'an object such as {"url":"https://…"}',
        );
        return readString(image["url"], at(place, "image_url.url"));
      }
      case "input_audio":
      case "file":
        return void readObject(part[part["type"]], at(place, part["type"]));
      default:
        if (typeof part["type"] !== "string")
          refuse(
            at(place, "type"),
            "one of text, image_url, input_audio, file, refusal",
            part["type"],
          );
    }
  });
}

function readAssistant(message: JsonObject, path: string): void {
  readOptional(message, path, { tool_calls: "array", function_call: "object", refusal: "string" });
  const { tool_calls: calls, function_call: legacy } = message;
  if (legacy !== undefined && legacy !== null) readFunction(legacy, at(path, "function_call"));
  if (!Array.isArray(calls)) return;
  calls.forEach((value, index) => {
    const place = `${at(path, "tool_calls")}[${index}]`;
    const call = readObject(value, place, "a tool call");
    readString(call["id"], at(place, "id"));
    if (call["type"] === "custom") {
      const custom = readObject(call["custom"], at(place, "custom"));
      readString(custom["name"], at(place, "custom.name"));
      readString(custom["input"], at(place, "custom.input"));
    } else readFunction(call["function"], at(place, "function"));
  });
}

function readFunction(value: unknown, path: string): void {
  const called = readObject(value, path);
  readString(called["name"], at(path, "name"));
  readString(called["arguments"], at(path, "arguments"), "send the JSON of the arguments as text");
}

function readTool(value: unknown, path: string): void {
  const tool = readObject(value, path, "a tool");
  const type = tool["type"];
  if (typeof type !== "string") refuse(at(path, "type"), "one of function, custom", type);
  if (type !== "function" && type !== "custom") return;
  const place = at(path, type);
  const advice = `put name and description inside "${type}"`;
  const defined =
    tool[type] === undefined ? refuse(place, "an object", undefined, advice) : tool[type];
  readString(readObject(defined, place)["name"], at(place, "name"));
  readOptional(readObject(defined, place), place, { description: "string", parameters: "object" });
}

function readToolChoice(value: unknown, path: string): void {
  if (typeof value === "string") return readWord(value, path, ["auto", "none", "required"]);
  const choice = readObject(value, path, "a string or an object");
  const type = choice["type"];
  if (type !== "function" && type !== "custom" && type !== "allowed_tools")
    refuse(at(path, "type"), "one of function, custom, allowed_tools", type);
  const place = at(path, type);
  const named = readObject(choice[type], place);
  if (type !== "allowed_tools") return readString(named["name"], at(place, "name"));
  readArray(named["tools"], at(place, "tools")).forEach((entry, index) =>
    readObject(entry, `${at(place, "tools")}[${index}]`, "a tool"),
  );
}
