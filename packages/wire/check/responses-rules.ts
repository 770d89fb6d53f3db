import type { ResponseInputContent, ResponseInputItem, ResponsesRequest } from "@deltawire/wire";

/**
 * Returns what a strict Responses upstream would reject in a request, which is nothing if every result follows its
 * call, every call has one result, reasoning precedes its output, parts match their role, and tool names are valid.
 */
export function findResponsesRequestFaults(request: ResponsesRequest): string[] {
  const faults: string[] = [];
  const items = Array.isArray(request.input) ? request.input : [];
  const openCalls = new Map<string, string>();
  items.forEach((item, index) => {
    const fault = (text: string): void => void faults.push(`input[${index}]: ${text}`);
    switch (item.type) {
      case "function_call":
      case "custom_tool_call":
        if (openCalls.has(item.call_id)) fault(`duplicate call ${item.call_id}`);
        if (!item.name) fault("a call without a name");
        openCalls.set(item.call_id, item.type);
        break;
      case "function_call_output":
      case "custom_tool_call_output": {
        const id = item.call_id ?? "";
        if (`${openCalls.get(id)}_output` !== item.type) fault(`${item.type} without its call`);
        openCalls.delete(id);
        break;
      }
      case "reasoning":
        if (!isFollowedByOutput(items, index)) fault("reasoning without output");
        break;
      case "message":
        faults.push(...findPartFaults(item.role, item.content, index));
        break;
      default:
        fault(`unknown type ${item.type ?? "message"}`);
    }
  });
  for (const id of openCalls.keys()) faults.push(`call ${id} has no result`);
  for (const tool of request.tools ?? [])
    if ((tool.type === "function" || tool.type === "custom") && !/^[\w-]{1,128}$/.test(tool.name))
      faults.push(`invalid tool name ${tool.name}`);
  return faults;
}

const partTypes: Record<string, RegExp> = {
  assistant: /^(?:output_text|refusal)$/,
  user: /^input_/,
  system: /^input_/,
  developer: /^input_/,
};

function findPartFaults(
  role: string,
  content: string | ResponseInputContent[],
  index: number,
): string[] {
  const allowed = partTypes[role];
  if (allowed === undefined) return [`input[${index}]: unknown role ${role}`];
  if (typeof content === "string") return [];
  return content.flatMap(({ type }) =>
    allowed.test(type) ? [] : [`input[${index}]: ${type} is not allowed for role ${role}`],
  );
}

function isFollowedByOutput(items: readonly ResponseInputItem[], from: number): boolean {
  const next = items.slice(from + 1).find((item) => item.type !== "reasoning");
  if (next === undefined) return false;
  if (next.type === "message") return next.role === "assistant";
  return next.type === "function_call" || next.type === "custom_tool_call";
}
