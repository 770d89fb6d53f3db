import { isObject, nonEmptyString, type JsonObject } from "../json.ts";
import type { ChatRequest, ChatTool, ChatToolChoice } from "../shapes/chat-request.ts";
import type { ResponseTool, ResponseToolChoice } from "../shapes/responses-request.ts";

/** Returns the name of a tool, or undefined for an unknown kind of tool. */
export function getChatToolName(tool: ChatTool): string | undefined {
  const definition = tool.type === "custom" ? tool.custom : tool.function;
  return isObject(definition) ? nonEmptyString(definition["name"]) : undefined;
}

/** Converts `functions`, the predecessor of `tools`. */
export function convertLegacyFunctions(request: ChatRequest): ChatTool[] {
  return (request.functions ?? []).map((definition) => ({
    type: "function",
    function: definition,
  }));
}

/** Converts `function_call`, the predecessor of `tool_choice`. */
export function convertLegacyFunctionCall({
  function_call: choice,
}: ChatRequest): ChatToolChoice | undefined {
  if (choice === "auto" || choice === "none") return choice;
  return isObject(choice)
    ? { type: "function", function: { name: nonEmptyString(choice["name"]) ?? "" } }
    : undefined;
}

/** Converts a Chat tool to the flat form of Responses. */
export function toResponsesTool(tool: ChatTool): ResponseTool {
  if (tool.type === "custom") {
    const { name, description, format, ...rest } = tool.custom;
    const grammar = isObject(format?.["grammar"])
      ? { type: "grammar", ...format["grammar"] }
      : format;
    return {
      ...rest,
      type: "custom",
      name,
      ...(description === undefined ? {} : { description }),
      ...(grammar === undefined ? {} : { format: grammar as JsonObject & { type: string } }),
    };
  }
  if (tool.type !== "function") return tool; // an unknown type, which a Responses server may support
  const { name, description, parameters, strict, ...rest } = tool.function;
  return {
    ...rest,
    type: "function",
    name,
    ...(description ? { description } : {}),
    parameters: parameters ?? { type: "object", properties: {} },
    // Chat's default is false, Responses' is true.
    strict: strict ?? false,
  };
}

export function toResponsesToolChoice(
  choice: ChatToolChoice | undefined,
): ResponseToolChoice | undefined {
  if (choice === undefined || typeof choice === "string") return choice;
  switch (choice.type) {
    case "function":
      return { type: "function", name: choice.function.name };
    case "custom":
      return { type: "custom", name: choice.custom.name };
    case "allowed_tools": {
      const { mode, tools } = choice.allowed_tools;
      return { type: "allowed_tools", mode, tools: tools.map(flattenTool) };
    }
    default:
      return choice;
  }
}

/** Converts `{type: "function", function: {name}}` to `{type: "function", name}`. */
function flattenTool(tool: JsonObject): JsonObject {
  const { function: definition, custom, ...rest } = tool;
  return {
    ...rest,
    ...(isObject(definition) ? definition : {}),
    ...(isObject(custom) ? custom : {}),
  };
}
