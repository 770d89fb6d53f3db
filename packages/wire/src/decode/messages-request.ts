import { WireError } from "../error.ts";
import type { JsonObject } from "../json.ts";
import type { MessagesRequest } from "../shapes/messages-request.ts";
import {
  assertArray,
  assertJsonTree,
  assertObject,
  assertOneOf,
  assertOptionalFields,
  assertString,
  joinPath,
  throwInvalid,
} from "./assertions.ts";

export interface DecodeMessagesOptions {
  /** The header `anthropic-version`. Unknown versions and none count as 2023-06-01. */
  version?: string | undefined;
  /** False for `count_tokens`, whose requests have no `max_tokens`. Default true. */
  requiresMaxTokens?: boolean;
}

/** The version that removed sampling parameters. */
const samplingRemovedVersion = "2026-10-21";

/**
 * Validates an untrusted Messages request and returns the same object. Throws `invalid_request`. Unknown fields and types are
 * accepted.
 */
export function decodeMessagesRequest(
  value: unknown,
  { version, requiresMaxTokens = true }: DecodeMessagesOptions = {},
): MessagesRequest {
  const request = assertObject(value, "request");
  assertJsonTree(request, "");
  assertString(request["model"], "model");
  assertMaxTokens(request["max_tokens"], requiresMaxTokens);
  assertOptionalFields(request, "", {
    stream: "boolean",
    tools: "array",
    tool_choice: "object",
    thinking: "object",
    output_config: "object",
    stop_sequences: "array",
    temperature: "number",
    top_p: "number",
    top_k: "number",
    metadata: "object",
    service_tier: "string",
    mcp_servers: "array",
  });
  const isNewVersion = version === samplingRemovedVersion;
  if (isNewVersion)
    for (const name of ["temperature", "top_p", "top_k"])
      if (name in request)
        throw new WireError(
          "invalid_request",
          `${name}: not supported with anthropic-version ${samplingRemovedVersion}`,
          { param: name },
        );
  assertSystem(request["system"]);
  const messages = assertArray(request["messages"], "messages");
  if (messages.length === 0) throwInvalid("messages", "at least one message", []);
  messages.forEach((message, index) => assertMessage(message, `messages[${index}]`, isNewVersion));
  const { tools, tool_choice: choice, stop_sequences: stop } = request;
  if (Array.isArray(tools)) tools.forEach((tool, index) => assertTool(tool, `tools[${index}]`));
  if (Array.isArray(stop))
    stop.forEach((sequence, index) => assertString(sequence, `stop_sequences[${index}]`));
  if (choice !== undefined && choice !== null) assertToolChoice(choice);
  return request as MessagesRequest;
}

function assertMaxTokens(value: unknown, isRequired: boolean): void {
  if (value === undefined && !isRequired) return;
  if (value === undefined || value === null)
    throw new WireError("invalid_request", "max_tokens: Field required", { param: "max_tokens" });
  if (!Number.isInteger(value) || Number(value) < 1)
    throwInvalid("max_tokens", "an integer of at least 1", value);
}

function assertSystem(system: unknown): void {
  if (system === undefined || system === null || typeof system === "string") return;
  assertArray(system, "system", "a string or an array of text blocks").forEach((value, index) => {
    const block = assertObject(value, `system[${index}]`, "a text block");
    assertString(block["text"], `system[${index}].text`);
  });
}

function assertMessage(value: unknown, path: string, isNewVersion: boolean): void {
  const message = assertObject(value, path, "a message");
  assertOneOf(message["role"], joinPath(path, "role"), ["user", "assistant", "system"]);
  const { content } = message;
  if (typeof content === "string") return;
  assertArray(content, joinPath(path, "content"), "a string or an array of blocks").forEach(
    (block, index) =>
      assertBlock(
        assertObject(block, `${path}.content[${index}]`, "a content block"),
        `${path}.content[${index}]`,
        isNewVersion ? (message["role"] as string) : undefined,
      ),
  );
}

/** `strictRole`: the role of the message, with the version that restricts its contents. */
function assertBlock(block: JsonObject, path: string, strictRole: string | undefined): void {
  assertString(block["type"], joinPath(path, "type"));
  switch (block["type"]) {
    case "text":
      if (
        strictRole === "user" &&
        Array.isArray(block["citations"]) &&
        block["citations"].length > 0
      )
        throw new WireError(
          "invalid_request",
          `${path}.citations: not supported in user messages with anthropic-version ${samplingRemovedVersion}`,
          { param: `${path}.citations` },
        );
      return assertString(block["text"], joinPath(path, "text"));
    case "image":
      return void assertObject(block["source"], joinPath(path, "source"));
    case "document":
      if (strictRole === "assistant")
        throw new WireError(
          "invalid_request",
          `${path}: documents in assistant messages are not supported with anthropic-version ${samplingRemovedVersion}`,
          { param: path },
        );
      return void assertObject(block["source"], joinPath(path, "source"));
    case "thinking":
      return assertString(block["thinking"], joinPath(path, "thinking"));
    case "tool_use":
      assertString(block["id"], joinPath(path, "id"));
      assertString(block["name"], joinPath(path, "name"));
      return void assertObject(block["input"], joinPath(path, "input"));
    case "tool_result": {
      assertString(block["tool_use_id"], joinPath(path, "tool_use_id"));
      const { content } = block;
      if (content === undefined || content === null || typeof content === "string") return;
      return assertArray(
        content,
        joinPath(path, "content"),
        "a string or an array of blocks",
      ).forEach((inner, index) => {
        const innerPath = `${path}.content[${index}]`;
        assertBlock(assertObject(inner, innerPath, "a content block"), innerPath, undefined);
      });
    }
    default:
  }
}

function assertTool(value: unknown, path: string): void {
  const tool = assertObject(value, path, "a tool");
  assertOptionalFields(tool, path, {
    name: "string",
    description: "string",
    type: "string",
    input_schema: "object",
  });
  const { type } = tool;
  if (type !== undefined && type !== null && type !== "custom") return;
  assertString(tool["name"], joinPath(path, "name"));
  assertObject(tool["input_schema"], joinPath(path, "input_schema"), "a JSON schema");
}

function assertToolChoice(value: unknown): void {
  const choice = assertObject(value, "tool_choice");
  assertOneOf(choice["type"], "tool_choice.type", ["auto", "any", "tool", "none"]);
  if (choice["type"] === "tool") assertString(choice["name"], "tool_choice.name");
}
