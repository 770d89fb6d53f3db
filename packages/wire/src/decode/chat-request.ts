import type { JsonObject } from "../json.ts";
import type { ChatRequest } from "../shapes/chat-request.ts";
import {
  joinPath,
  assertArray,
  assertJsonTree,
  assertObject,
  assertOptionalFields,
  assertString,
  assertOneOf,
  throwInvalid,
  type OptionalFieldType,
} from "./assertions.ts";

/**
 * Validates an untrusted Chat Completions request and returns the same object. Throws `invalid_request`. Unknown fields
 * and types are accepted.
 */
export function decodeChatRequest(value: unknown): ChatRequest {
  const request = assertObject(value, "request");
  assertJsonTree(request, "");
  assertString(request["model"], "model");
  assertOptionalFields(request, "", optionalRequestFields);
  assertArray(request["messages"], "messages").forEach((message, index) =>
    assertMessage(message, `messages[${index}]`),
  );
  const { tools, functions, stop, tool_choice: choice, response_format: format } = request;
  if (Array.isArray(functions))
    functions.forEach((value, index) => {
      const childPath = `functions[${index}]`;
      assertString(
        assertObject(value, childPath, "a function")["name"],
        joinPath(childPath, "name"),
      );
    });
  if (Array.isArray(stop))
    stop.forEach((sequence, index) => assertString(sequence, `stop[${index}]`));
  else if (stop !== undefined && stop !== null) assertString(stop, "stop");
  if (Array.isArray(tools)) tools.forEach((tool, index) => assertTool(tool, `tools[${index}]`));
  if (choice !== undefined && choice !== null) assertToolChoice(choice, "tool_choice");
  if (format !== undefined && format !== null)
    assertString(assertObject(format, "response_format")["type"], "response_format.type");
  return request as ChatRequest;
}

const optionalRequestFields: Record<string, OptionalFieldType> = {
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

function assertMessage(value: unknown, path: string): void {
  const message = assertObject(value, path, "a message");
  assertOneOf(message["role"], joinPath(path, "role"), [
    "system",
    "developer",
    "user",
    "assistant",
    "tool",
    "function",
  ]);
  const { role } = message;
  assertContent(
    message["content"],
    joinPath(path, "content"),
    role === "assistant" || role === "function",
  );
  if (message["role"] === "tool")
    assertString(message["tool_call_id"], joinPath(path, "tool_call_id"));
  if (message["role"] === "function") assertString(message["name"], joinPath(path, "name"));
  if (message["role"] === "assistant") assertAssistantMessage(message, path);
}

function assertContent(content: unknown, path: string, isOptional: boolean): void {
  if (typeof content === "string") return;
  if ((content === null || content === undefined) && isOptional) return;
  assertArray(content, path, "a string or an array of content parts").forEach((value, index) => {
    const childPath = `${path}[${index}]`;
    const part = assertObject(value, childPath, "a content part");
    switch (part["type"]) {
      case "text":
        return assertString(part["text"], joinPath(childPath, "text"));
      case "refusal":
        return assertString(part["refusal"], joinPath(childPath, "refusal"));
      case "image_url": {
        const image = assertObject(
          part["image_url"],
          joinPath(childPath, "image_url"),
          'an object such as {"url":"https://…"}',
        );
        return assertString(image["url"], joinPath(childPath, "image_url.url"));
      }
      case "input_audio":
      case "file":
        return void assertObject(part[part["type"]], joinPath(childPath, part["type"]));
      default:
        if (typeof part["type"] !== "string")
          throwInvalid(
            joinPath(childPath, "type"),
            "one of text, image_url, input_audio, file, refusal",
            part["type"],
          );
    }
  });
}

function assertAssistantMessage(message: JsonObject, path: string): void {
  assertOptionalFields(message, path, {
    tool_calls: "array",
    function_call: "object",
    refusal: "string",
  });
  const { tool_calls: calls, function_call: legacyCall } = message;
  if (legacyCall !== undefined && legacyCall !== null)
    assertFunctionCall(legacyCall, joinPath(path, "function_call"));
  if (!Array.isArray(calls)) return;
  calls.forEach((value, index) => {
    const childPath = `${joinPath(path, "tool_calls")}[${index}]`;
    const call = assertObject(value, childPath, "a tool call");
    assertString(call["id"], joinPath(childPath, "id"));
    if (call["type"] === "custom") {
      const custom = assertObject(call["custom"], joinPath(childPath, "custom"));
      assertString(custom["name"], joinPath(childPath, "custom.name"));
      assertString(custom["input"], joinPath(childPath, "custom.input"));
    } else assertFunctionCall(call["function"], joinPath(childPath, "function"));
  });
}

function assertFunctionCall(value: unknown, path: string): void {
  const functionCall = assertObject(value, path);
  assertString(functionCall["name"], joinPath(path, "name"));
  assertString(
    functionCall["arguments"],
    joinPath(path, "arguments"),
    "send the arguments as a JSON string",
  );
}

function assertTool(value: unknown, path: string): void {
  const tool = assertObject(value, path, "a tool");
  const type = tool["type"];
  if (typeof type !== "string")
    throwInvalid(joinPath(path, "type"), "one of function, custom", type);
  if (type !== "function" && type !== "custom") return;
  const childPath = joinPath(path, type);
  const advice = `put name and description inside "${type}"`;
  const definition =
    tool[type] === undefined ? throwInvalid(childPath, "an object", undefined, advice) : tool[type];
  assertString(assertObject(definition, childPath)["name"], joinPath(childPath, "name"));
  assertOptionalFields(assertObject(definition, childPath), childPath, {
    description: "string",
    parameters: "object",
  });
}

function assertToolChoice(value: unknown, path: string): void {
  if (typeof value === "string") return assertOneOf(value, path, ["auto", "none", "required"]);
  const choice = assertObject(value, path, "a string or an object");
  const type = choice["type"];
  if (type !== "function" && type !== "custom" && type !== "allowed_tools")
    throwInvalid(joinPath(path, "type"), "one of function, custom, allowed_tools", type);
  const childPath = joinPath(path, type);
  const namedTool = assertObject(choice[type], childPath);
  if (type !== "allowed_tools") return assertString(namedTool["name"], joinPath(childPath, "name"));
  assertArray(namedTool["tools"], joinPath(childPath, "tools")).forEach((entry, index) =>
    assertObject(entry, `${joinPath(childPath, "tools")}[${index}]`, "a tool"),
  );
}
