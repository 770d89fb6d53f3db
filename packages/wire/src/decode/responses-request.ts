import type { JsonObject } from "../json.ts";
import type { ResponsesRequest } from "../shapes/responses-request.ts";
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
 * Validates an untrusted Responses request and returns the same object. Throws `invalid_request`. Checks only what the
 * translators read: unknown fields, parts, items and tools are accepted.
 */
export function decodeResponsesRequest(value: unknown): ResponsesRequest {
  const request = assertObject(value, "request");
  assertJsonTree(request, "");
  assertOptionalFields(request, "", optionalRequestFields);
  const { input, tools, text, tool_choice: choice, include } = request;
  if (Array.isArray(input)) input.forEach((item, index) => assertItem(item, `input[${index}]`));
  else if (input !== undefined && input !== null && typeof input !== "string")
    throwInvalid("input", "a string or an array of items", input);
  if (Array.isArray(tools)) assertTools(tools, "tools");
  if (choice !== undefined && choice !== null) assertToolChoice(choice, "tool_choice");
  if (Array.isArray(include))
    include.forEach((entry, index) => assertString(entry, `include[${index}]`));
  assertSettings(request, "");
  if (text !== undefined && text !== null) assertTextFormat(text as JsonObject, "text");
  return request;
}

const optionalRequestFields: Record<string, OptionalFieldType> = {
  model: "string",
  instructions: "string",
  tools: "array",
  parallel_tool_calls: "boolean",
  reasoning: "object",
  text: "object",
  max_output_tokens: "number",
  max_tool_calls: "number",
  temperature: "number",
  top_p: "number",
  top_logprobs: "number",
  truncation: "string",
  metadata: "object",
  include: "array",
  prompt_cache_key: "string",
  safety_identifier: "string",
  service_tier: "string",
  user: "string",
  store: "boolean",
  stream: "boolean",
  stream_options: "object",
  background: "boolean",
  previous_response_id: "string",
  prompt: "object",
};

function assertSettings(object: JsonObject, path: string): void {
  const { reasoning, text } = object;
  if (reasoning !== undefined && reasoning !== null)
    assertOptionalFields(
      assertObject(reasoning, joinPath(path, "reasoning")),
      joinPath(path, "reasoning"),
      {
        effort: "string",
        summary: "string",
      },
    );
  if (text !== undefined && text !== null)
    assertOptionalFields(assertObject(text, joinPath(path, "text")), joinPath(path, "text"), {
      format: "object",
      verbosity: "string",
    });
}

function assertTextFormat(text: JsonObject, path: string): void {
  if (text["format"] === undefined || text["format"] === null) return;
  const childPath = joinPath(path, "format");
  const format = assertObject(text["format"], childPath);
  assertString(format["type"], joinPath(childPath, "type"));
  assertOptionalFields(format, childPath, {
    name: "string",
    description: "string",
    schema: "object",
    strict: "boolean",
  });
}

// Items

function assertItem(value: unknown, path: string): void {
  const item = assertObject(value, path, "an input item");
  const type = item["type"];
  if (type === undefined || type === null) {
    if (item["role"] !== undefined || item["content"] !== undefined)
      return assertMessage(item, path);
    if (typeof item["id"] === "string") return; // short form of item_reference
    throwInvalid(
      joinPath(path, "type"),
      "a string",
      type,
      'messages need "role" and "content", other items "type"',
    );
  }
  if (typeof type !== "string") throwInvalid(joinPath(path, "type"), "a string", type);
  if (type === "message") return assertMessage(item, path);
  // Object.hasOwn, because the type may be "constructor".
  if (Object.hasOwn(itemAssertions, type)) itemAssertions[type]?.(item, path);
}

function assertMessage(item: JsonObject, path: string): void {
  const toolResultHint =
    item["role"] === "tool" ? 'send tool results as "function_call_output" items' : undefined;
  assertOneOf(
    item["role"],
    joinPath(path, "role"),
    ["user", "assistant", "system", "developer"],
    toolResultHint,
  );
  assertContent(item["content"], joinPath(path, "content"));
}

function assertContent(content: unknown, path: string): void {
  if (typeof content === "string") return;
  const parts = assertArray(content, path, "a string or an array of content parts");
  parts.forEach((value, index) => {
    const childPath = `${path}[${index}]`;
    const part = assertObject(value, childPath, "a content part");
    if (typeof part["type"] !== "string")
      throwInvalid(
        joinPath(childPath, "type"),
        "one of input_text, input_image, input_file, input_audio, output_text, refusal",
        part["type"],
      );
    if (part["type"] === "input_text" || part["type"] === "output_text" || part["type"] === "text")
      assertString(part["text"], joinPath(childPath, "text"));
    if (part["type"] === "refusal") assertString(part["refusal"], joinPath(childPath, "refusal"));
    if (part["type"] === "input_audio")
      assertObject(part["input_audio"], joinPath(childPath, "input_audio"));
    assertOptionalFields(part, childPath, optionalPartFields);
    const image = part["image_url"];
    if (image === undefined || image === null || typeof image === "string") return;
    assertString(
      assertObject(image, joinPath(childPath, "image_url"), "a string")["url"],
      joinPath(childPath, "image_url.url"),
    );
  });
}

const optionalPartFields: Record<string, OptionalFieldType> = {
  text: "string",
  refusal: "string",
  detail: "string",
  file_id: "string",
  file_data: "string",
  file_url: "string",
  filename: "string",
  input_audio: "object",
};

type ItemAssertion = (item: JsonObject, path: string) => void;

const itemAssertions: Record<string, ItemAssertion> = {
  reasoning(item, path) {
    assertOptionalFields(item, path, {
      summary: "array",
      content: "array",
      encrypted_content: "string",
    });
    for (const field of ["summary", "content"]) {
      const parts = item[field];
      if (!Array.isArray(parts)) continue;
      parts.forEach((part, index) => {
        const childPath = `${joinPath(path, field)}[${index}]`;
        assertString(
          assertObject(part, childPath, "a text part")["text"],
          joinPath(childPath, "text"),
        );
      });
    }
  },
  function_call(item, path) {
    assertString(item["call_id"], joinPath(path, "call_id"));
    assertString(item["name"], joinPath(path, "name"));
    assertString(
      item["arguments"],
      joinPath(path, "arguments"),
      "send the arguments as a JSON string",
    );
    assertOptionalFields(item, path, { namespace: "string" });
  },
  custom_tool_call(item, path) {
    assertString(item["call_id"], joinPath(path, "call_id"));
    assertString(item["name"], joinPath(path, "name"));
    assertString(item["input"], joinPath(path, "input"));
    assertOptionalFields(item, path, { namespace: "string" });
  },
  local_shell_call(item, path) {
    assertOptionalFields(item, path, { id: "string", call_id: "string" });
    if (typeof item["call_id"] !== "string") assertString(item["id"], joinPath(path, "call_id"));
    assertObject(item["action"], joinPath(path, "action"));
  },
  shell_call(item, path) {
    assertString(item["call_id"], joinPath(path, "call_id"));
    assertObject(item["action"], joinPath(path, "action"));
  },
  apply_patch_call(item, path) {
    assertString(item["call_id"], joinPath(path, "call_id"));
    assertObject(item["operation"], joinPath(path, "operation"));
  },
  computer_call(item, path) {
    assertString(item["call_id"], joinPath(path, "call_id"));
  },
  tool_search_call(item, path) {
    assertOptionalFields(item, path, { call_id: "string", execution: "string" });
  },
  program(item, path) {
    assertString(item["call_id"], joinPath(path, "call_id"));
    assertString(item["code"], joinPath(path, "code"));
  },
  function_call_output: assertCallOutput,
  custom_tool_call_output: assertCallOutput,
  local_shell_call_output: assertOutputIds,
  shell_call_output: assertOutputIds,
  apply_patch_call_output: assertOutputIds,
  computer_call_output: assertOutputIds,
  program_output: assertOutputIds,
  tool_search_output(item, path) {
    assertOptionalFields(item, path, { call_id: "string" });
    assertTools(assertArray(item["tools"], joinPath(path, "tools")), joinPath(path, "tools"));
  },
  mcp_call(item, path) {
    for (const field of ["id", "server_label", "name", "arguments"])
      assertString(item[field], joinPath(path, field));
    assertOptionalFields(item, path, { output: "string" });
  },
  image_generation_call(item, path) {
    assertOptionalFields(item, path, {
      result: "string",
      output_format: "string",
      revised_prompt: "string",
    });
  },
  additional_tools(item, path) {
    assertTools(assertArray(item["tools"], joinPath(path, "tools")), joinPath(path, "tools"));
  },
  configuration_update(item, path) {
    assertSettings(item, path);
    const { text } = item;
    if (text !== undefined && text !== null)
      assertTextFormat(text as JsonObject, joinPath(path, "text"));
  },
  item_reference(item, path) {
    assertString(item["id"], joinPath(path, "id"));
  },
};

function assertCallOutput(item: JsonObject, path: string): void {
  assertOptionalFields(item, path, { id: "string", call_id: "string" });
  if (item["output"] !== undefined && item["output"] !== null)
    assertContent(item["output"], joinPath(path, "output"));
}

/** Checks only the ids of outputs of various forms (shell, patch, computer), which are forwarded as text or as an image. */
function assertOutputIds(item: JsonObject, path: string): void {
  assertOptionalFields(item, path, { id: "string", call_id: "string" });
}

// Tools

function assertTools(tools: unknown[], path: string): void {
  tools.forEach((value, index) => {
    const childPath = `${path}[${index}]`;
    const tool = assertObject(value, childPath, "a tool");
    const type = tool["type"];
    if (typeof type !== "string")
      throwInvalid(joinPath(childPath, "type"), "a string such as function", type);
    if (type === "function" || type === "custom" || type === "namespace") {
      if (typeof tool["name"] !== "string" && tool["function"] !== undefined)
        throwInvalid(
          joinPath(childPath, "name"),
          "a string",
          tool["name"],
          'put name and parameters next to "type", not inside "function"',
        );
      assertString(tool["name"], joinPath(childPath, "name"));
      assertOptionalFields(tool, childPath, {
        description: "string",
        parameters: "object",
        strict: "boolean",
        format: "object",
      });
    }
    if (type === "namespace")
      assertTools(
        assertArray(tool["tools"], joinPath(childPath, "tools")),
        joinPath(childPath, "tools"),
      );
    if (type === "tool_search")
      assertOptionalFields(tool, childPath, {
        execution: "string",
        description: "string",
        parameters: "object",
      });
    if (type === "custom" && tool["format"] !== undefined && tool["format"] !== null) {
      const format = tool["format"] as JsonObject;
      assertString(format["type"], joinPath(childPath, "format.type"));
      assertOptionalFields(format, joinPath(childPath, "format"), {
        syntax: "string",
        definition: "string",
      });
    }
  });
}

function assertToolChoice(value: unknown, path: string): void {
  if (typeof value === "string") return assertOneOf(value, path, ["auto", "none", "required"]);
  const choice = assertObject(value, path, "a string or an object");
  assertString(choice["type"], joinPath(path, "type"));
  assertOptionalFields(choice, path, {
    name: "string",
    namespace: "string",
    mode: "string",
    tools: "array",
  });
  if (Array.isArray(choice["tools"]))
    choice["tools"].forEach((tool, index) =>
      assertObject(tool, `${joinPath(path, "tools")}[${index}]`),
    );
}
