import { isObject, type ChatRequest, type ChatTool, type JsonObject } from "@deltawire/wire";

export interface OfferedTool {
  kind: "function" | "custom";
  name: string;
  description: string;
  /** A JSON schema. Empty for custom tools. */
  parameters: JsonObject;
}

export type PlannedCall =
  | { kind: "function"; name: string; arguments: JsonObject }
  | { kind: "custom"; name: string; input: string };

/** Calls and the text that announces them. */
export interface CallPlan {
  calls: PlannedCall[];
  text: string;
}

/** Returns the tools of a request that its `tool_choice` allows. */
export function getOfferedTools(request: ChatRequest): OfferedTool[] {
  const tools = (request.tools ?? []).flatMap(toOfferedTool);
  const choice = request.tool_choice;
  if (!isObject(choice) || choice["type"] !== "allowed_tools") return tools;
  const allowed = JSON.stringify(choice);
  return tools.filter(({ name }) => allowed.includes(JSON.stringify(name)));
}

function toOfferedTool(tool: ChatTool): OfferedTool[] {
  if (tool.type === "custom") {
    const { name, description } = tool.custom;
    return [{ kind: "custom", name, description: description ?? "", parameters: {} }];
  }
  if (!isObject(tool["function"])) return [];
  const { name, description, parameters } = tool.function;
  return [{ kind: "function", name, description: description ?? "", parameters: parameters ?? {} }];
}
