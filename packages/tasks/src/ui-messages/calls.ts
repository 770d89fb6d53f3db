import type { ToolCallItem } from "../items.ts";
import type { TaskApproval } from "../state.ts";
import type { UiChunk } from "./chunks.ts";

/** The call as a UI message names it. */
export function inputOf({ call_id, name }: ToolCallItem) {
  return { toolCallId: call_id, toolName: name, dynamic: true, providerExecuted: true } as const;
}

export function whole(call: ToolCallItem) {
  const input = parsed(call.arguments);
  if (call.status === "incomplete" || input === undefined)
    return {
      type: "tool-input-error",
      ...inputOf(call),
      input: call.arguments,
      errorText: "the arguments are not whole",
    } as const;
  return { type: "tool-input-available", ...inputOf(call), input } as const;
}

function parsed(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function requestOf(call: ToolCallItem, approval: TaskApproval): UiChunk {
  const { approval_id: approvalId, question = longExpansion(approval) } = approval;
  return {
    type: "tool-approval-request",
    approvalId,
    toolCallId: call.call_id,
    approvalDescriptor: approval,
    ...(question === undefined ? {} : { reason: question }),
  };
}

/** The input of the call still has the names of its variables then. */
function longExpansion({ expanded_arguments: expanded }: TaskApproval): string | undefined {
  if (expanded === undefined || "text" in expanded) return undefined;
  return `With its variables filled in, the input has ${expanded.length} characters. Read it at ${expanded.url} before you approve.`;
}
