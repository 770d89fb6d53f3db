import type { JsonObject } from "../json.ts";
import type { ResponsesRequest } from "../shapes/responses-request.ts";
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

/**
 * Checks an untrusted Responses request, and returns the same object. As strict as the translator needs:
 * fields, parts, items and tools of types that we do not know pass as they are.
 */
export function decodeResponsesRequest(value: unknown): ResponsesRequest {
  const request = readObject(value, "request");
  readJsonTree(request, "");
  readOptional(request, "", requestFields);
  const { input, tools, text, tool_choice: choice, include } = request;
  if (Array.isArray(input)) input.forEach((item, index) => readItem(item, `input[${index}]`));
  else if (input !== undefined && input !== null && typeof input !== "string")
    refuse("input", "a string or an array of items", input);
  if (Array.isArray(tools)) readTools(tools, "tools");
  if (choice !== undefined && choice !== null) readToolChoice(choice, "tool_choice");
  if (Array.isArray(include))
    include.forEach((word, index) => readString(word, `include[${index}]`));
  readSettings(request, "");
  if (text !== undefined && text !== null) readTextFormat(text as JsonObject, "text");
  return request;
}

const requestFields: Record<string, FieldType> = {
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

function readSettings(object: JsonObject, path: string): void {
  const { reasoning, text } = object;
  if (reasoning !== undefined && reasoning !== null)
    readOptional(readObject(reasoning, at(path, "reasoning")), at(path, "reasoning"), {
      effort: "string",
      summary: "string",
    });
  if (text !== undefined && text !== null)
    readOptional(readObject(text, at(path, "text")), at(path, "text"), {
      format: "object",
      verbosity: "string",
    });
}

function readTextFormat(text: JsonObject, path: string): void {
  if (text["format"] === undefined || text["format"] === null) return;
  const place = at(path, "format");
  const format = readObject(text["format"], place);
  readString(format["type"], at(place, "type"));
  readOptional(format, place, {
    name: "string",
    description: "string",
    schema: "object",
    strict: "boolean",
  });
}

// Items

function readItem(value: unknown, path: string): void {
  const item = readObject(value, path, "an input item");
  const type = item["type"];
  if (type === undefined || type === null) {
    if (item["role"] !== undefined || item["content"] !== undefined) return readMessage(item, path);
    if (typeof item["id"] === "string") return; // a reference in its short form
    refuse(
      at(path, "type"),
      "a string",
      type,
      'messages need "role" and "content", other items "type"',
    );
  }
  if (typeof type !== "string") refuse(at(path, "type"), "a string", type);
  if (type === "message") return readMessage(item, path);
  // Object.hasOwn: an item may well be of the type "constructor".
  if (Object.hasOwn(itemReaders, type)) itemReaders[type]?.(item, path);
}

function readMessage(item: JsonObject, path: string): void {
  const toolResult =
    item["role"] === "tool" ? 'send tool results as "function_call_output" items' : undefined;
  readWord(
    item["role"],
    at(path, "role"),
    ["user", "assistant", "system", "developer"],
    toolResult,
  );
  readContent(item["content"], at(path, "content"));
}

function readContent(content: unknown, path: string): void {
  if (typeof content === "string") return;
  const parts = readArray(content, path, "a string or an array of content parts");
  parts.forEach((value, index) => {
    const place = `${path}[${index}]`;
    const part = readObject(value, place, "a content part");
    if (typeof part["type"] !== "string")
      refuse(
        at(place, "type"),
        "one of input_text, input_image, input_file, input_audio, output_text, refusal",
        part["type"],
      );
    if (part["type"] === "input_text" || part["type"] === "output_text" || part["type"] === "text")
      readString(part["text"], at(place, "text"));
    if (part["type"] === "refusal") readString(part["refusal"], at(place, "refusal"));
    if (part["type"] === "input_audio") readObject(part["input_audio"], at(place, "input_audio"));
    readOptional(part, place, partFields);
    const image = part["image_url"];
    if (image === undefined || image === null || typeof image === "string") return;
    readString(
      readObject(image, at(place, "image_url"), "a string")["url"],
      at(place, "image_url.url"),
    );
  });
}

const partFields: Record<string, FieldType> = {
  text: "string",
  refusal: "string",
  detail: "string",
  file_id: "string",
  file_data: "string",
  file_url: "string",
  filename: "string",
  input_audio: "object",
};

type ItemReader = (item: JsonObject, path: string) => void;

const itemReaders: Record<string, ItemReader> = {
  reasoning(item, path) {
    readOptional(item, path, { summary: "array", content: "array", encrypted_content: "string" });
    for (const field of ["summary", "content"]) {
      const parts = item[field];
      if (!Array.isArray(parts)) continue;
      parts.forEach((part, index) => {
        const place = `${at(path, field)}[${index}]`;
        readString(readObject(part, place, "a text part")["text"], at(place, "text"));
      });
    }
  },
  function_call(item, path) {
    readString(item["call_id"], at(path, "call_id"));
    readString(item["name"], at(path, "name"));
    readString(item["arguments"], at(path, "arguments"), "send the JSON of the arguments as text");
    readOptional(item, path, { namespace: "string" });
  },
  custom_tool_call(item, path) {
    readString(item["call_id"], at(path, "call_id"));
    readString(item["name"], at(path, "name"));
    readString(item["input"], at(path, "input"));
    readOptional(item, path, { namespace: "string" });
  },
  local_shell_call(item, path) {
    readOptional(item, path, { id: "string", call_id: "string" });
    if (typeof item["call_id"] !== "string") readString(item["id"], at(path, "call_id"));
    readObject(item["action"], at(path, "action"));
  },
  shell_call(item, path) {
    readString(item["call_id"], at(path, "call_id"));
    readObject(item["action"], at(path, "action"));
  },
  apply_patch_call(item, path) {
    readString(item["call_id"], at(path, "call_id"));
    readObject(item["operation"], at(path, "operation"));
  },
  computer_call(item, path) {
    readString(item["call_id"], at(path, "call_id"));
  },
  tool_search_call(item, path) {
    readOptional(item, path, { call_id: "string", execution: "string" });
  },
  program(item, path) {
    readString(item["call_id"], at(path, "call_id"));
    readString(item["code"], at(path, "code"));
  },
  function_call_output: readCallOutput,
  custom_tool_call_output: readCallOutput,
  local_shell_call_output: readAnyOutput,
  shell_call_output: readAnyOutput,
  apply_patch_call_output: readAnyOutput,
  computer_call_output: readAnyOutput,
  program_output: readAnyOutput,
  tool_search_output(item, path) {
    readOptional(item, path, { call_id: "string" });
    readTools(readArray(item["tools"], at(path, "tools")), at(path, "tools"));
  },
  mcp_call(item, path) {
    for (const field of ["id", "server_label", "name", "arguments"])
      readString(item[field], at(path, field));
    readOptional(item, path, { output: "string" });
  },
  image_generation_call(item, path) {
    readOptional(item, path, {
      result: "string",
      output_format: "string",
      revised_prompt: "string",
    });
  },
  additional_tools(item, path) {
    readTools(readArray(item["tools"], at(path, "tools")), at(path, "tools"));
  },
  configuration_update(item, path) {
    readSettings(item, path);
    const { text } = item;
    if (text !== undefined && text !== null) readTextFormat(text as JsonObject, at(path, "text"));
  },
  item_reference(item, path) {
    readString(item["id"], at(path, "id"));
  },
};

function readCallOutput(item: JsonObject, path: string): void {
  readOptional(item, path, { id: "string", call_id: "string" });
  if (item["output"] !== undefined && item["output"] !== null)
    readContent(item["output"], at(path, "output"));
}

/** Shell, patch and computer outputs each have a form of their own, and all of them are sent on as text or picture. */
function readAnyOutput(item: JsonObject, path: string): void {
  readOptional(item, path, { id: "string", call_id: "string" });
}

// Tools

function readTools(tools: unknown[], path: string): void {
  tools.forEach((value, index) => {
    const place = `${path}[${index}]`;
    const tool = readObject(value, place, "a tool");
    const type = tool["type"];
    if (typeof type !== "string") refuse(at(place, "type"), "a string such as function", type);
    if (type === "function" || type === "custom" || type === "namespace") {
      if (typeof tool["name"] !== "string" && tool["function"] !== undefined)
        refuse(
          at(place, "name"),
          "a string",
          tool["name"],
          'Responses tools carry name and parameters beside type, not inside "function"',
        );
      readString(tool["name"], at(place, "name"));
      readOptional(tool, place, {
        description: "string",
        parameters: "object",
        strict: "boolean",
        format: "object",
      });
    }
    if (type === "namespace")
      readTools(readArray(tool["tools"], at(place, "tools")), at(place, "tools"));
    if (type === "tool_search")
      readOptional(tool, place, {
        execution: "string",
        description: "string",
        parameters: "object",
      });
    if (type === "custom" && tool["format"] !== undefined && tool["format"] !== null) {
      const format = tool["format"] as JsonObject;
      readString(format["type"], at(place, "format.type"));
      readOptional(format, at(place, "format"), { syntax: "string", definition: "string" });
    }
  });
}

function readToolChoice(value: unknown, path: string): void {
  if (typeof value === "string") return readWord(value, path, ["auto", "none", "required"]);
  const choice = readObject(value, path, "a string or an object");
  readString(choice["type"], at(path, "type"));
  readOptional(choice, path, {
    name: "string",
    namespace: "string",
    mode: "string",
    tools: "array",
  });
  if (Array.isArray(choice["tools"]))
    choice["tools"].forEach((tool, index) => readObject(tool, `${at(path, "tools")}[${index}]`));
}
