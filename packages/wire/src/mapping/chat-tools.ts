import { isObject, nonEmptyString, type JsonObject } from "../json.ts";
import type { ChatRequest, ChatTool, ChatToolChoice } from "../shapes/chat-request.ts";
import type { Tool, ToolChoice } from "../shapes/responses-request.ts";

/** The name of a tool; undefined for a kind that came after us, which passes as it is. */
export function chatToolName(tool: ChatTool): string | undefined {
  const described = tool.type === "custom" ? tool.custom : tool.function;
  return isObject(described) ? nonEmptyString(described["name"]) : undefined;
}

/** `functions`, the form before tools. */
export function legacyTools(request: ChatRequest): ChatTool[] {
  return (request.functions ?? []).map((described) => ({ type: "function", function: described }));
}

/** `function_call`, the same for the choice. */
export function legacyChoice({ function_call: choice }: ChatRequest): ChatToolChoice | undefined {
  if (choice === "auto" || choice === "none") return choice;
  return isObject(choice)
    ? { type: "function", function: { name: nonEmptyString(choice["name"]) ?? "" } }
    : undefined;
}

/** A Chat tool as Responses has it: flat. */
export function responsesTool(tool: ChatTool): Tool {
  if (tool.type === "custom") {
    const { name, description, format } = tool.custom;
    const grammar = isObject(format?.["grammar"])
      ? { type: "grammar", ...format["grammar"] }
      : format;
    return {
      type: "custom",
      name,
      ...(description === undefined ? {} : { description }),
      ...(grammar === undefined ? {} : { format: grammar as JsonObject & { type: string } }),
    };
  }
  if (tool.type !== "function") return tool; // a server's own: Responses may know it
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

export function responsesToolChoice(choice: ChatToolChoice | undefined): ToolChoice | undefined {
  if (choice === undefined || typeof choice === "string") return choice;
  switch (choice.type) {
    case "function":
      return { type: "function", name: choice.function.name };
    case "custom":
      return { type: "custom", name: choice.custom.name };
    case "allowed_tools": {
      const { mode, tools } = choice.allowed_tools;
      return { type: "allowed_tools", mode, tools: tools.map(flatTool) };
    }
    default:
      return choice;
  }
}

/** `{type: "function", function: {name}}` as `{type: "function", name}`. */
function flatTool(tool: JsonObject): JsonObject {
  const { function: described, custom, ...rest } = tool;
  return {
    ...rest,
    ...(isObject(described) ? described : {}),
    ...(isObject(custom) ? custom : {}),
  };
}
