import type { ContentPart, InputItem, ResponsesRequest } from "@deltawire/wire";

/**
 * What a strict Responses upstream would refuse in a request, in words; empty if it is legal: every result has its
 * call before it and every call one result, reasoning stands before what it led to, parts fit their role, and names
 * fit the alphabet.
 */
export function responsesRequestFaults(request: ResponsesRequest): string[] {
  const faults: string[] = [];
  const items = Array.isArray(request.input) ? request.input : [];
  const open = new Map<string, string>();
  items.forEach((item, at) => {
    const fault = (text: string): void => void faults.push(`input[${at}]: ${text}`);
    switch (item.type) {
      case "function_call":
      case "custom_tool_call":
        if (open.has(item.call_id)) fault(`call ${item.call_id} again`);
        if (!item.name) fault("a call without a name");
        open.set(item.call_id, item.type);
        break;
      case "function_call_output":
      case "custom_tool_call_output": {
        const id = item.call_id ?? "";
        if (`${open.get(id)}_output` !== item.type) fault(`${item.type} without its call`);
        open.delete(id);
        break;
      }
      case "reasoning":
        if (!leads(items, at)) fault("reasoning without what it led to");
        break;
      case "message":
        faults.push(...partFaults(item.role, item.content, at));
        break;
      default:
        fault(`type ${item.type ?? "message"}`);
    }
  });
  for (const id of open.keys()) faults.push(`call ${id} has no result`);
  for (const tool of request.tools ?? [])
    if ((tool.type === "function" || tool.type === "custom") && !/^[\w-]{1,128}$/.test(tool.name))
      faults.push(`tool ${tool.name}`);
  return faults;
}

const partTypes: Record<string, RegExp> = {
  assistant: /^(?:output_text|refusal)$/,
  user: /^input_/,
  system: /^input_/,
  developer: /^input_/,
};

function partFaults(role: string, content: string | ContentPart[], at: number): string[] {
  const allowed = partTypes[role];
  if (allowed === undefined) return [`input[${at}]: role ${role}`];
  if (typeof content === "string") return [];
  return content.flatMap(({ type }) =>
    allowed.test(type) ? [] : [`input[${at}]: ${type} of ${role}`],
  );
}

function leads(items: readonly InputItem[], from: number): boolean {
  const next = items.slice(from + 1).find((item) => item.type !== "reasoning");
  if (next === undefined) return false;
  if (next.type === "message") return next.role === "assistant";
  return next.type === "function_call" || next.type === "custom_tool_call";
}
