import { isObject, type ChatRequest, type ChatTool, type JsonObject } from "@deltawire/wire";

export interface OfferedTool {
  kind: "function" | "custom";
  name: string;
  description: string;
  /** A JSON schema; a custom tool has none. */
  parameters: JsonObject;
}

export type PlannedCall =
  | { kind: "function"; name: string; arguments: JsonObject }
  | { kind: "custom"; name: string; input: string };

/** Calls, and how the model announces them. */
export interface Plan {
  calls: PlannedCall[];
  says: string;
}

/** The tools of a request that its tool_choice allows. */
export function offeredTools(request: ChatRequest): OfferedTool[] {
  const tools = (request.tools ?? []).flatMap(offeredTool);
  const choice = request.tool_choice;
  if (!isObject(choice) || choice["type"] !== "allowed_tools") return tools;
  const allowed = JSON.stringify(choice);
  return tools.filter(({ name }) => allowed.includes(JSON.stringify(name)));
}

function offeredTool(tool: ChatTool): OfferedTool[] {
  if (tool.type === "custom") {
    const { name, description } = tool.custom;
    return [{ kind: "custom", name, description: description ?? "", parameters: {} }];
  }
  if (!isObject(tool["function"])) return [];
  const { name, description, parameters } = tool.function;
  return [{ kind: "function", name, description: description ?? "", parameters: parameters ?? {} }];
}
