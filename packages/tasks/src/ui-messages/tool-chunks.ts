import type { ToolCallItem } from "../items.ts";
import type { TaskApproval } from "../state.ts";
import type { UiChunk } from "./chunks.ts";

/** The fields of a tool call in UI messages. */
export function toToolInputFields({ call_id, name }: ToolCallItem) {
  return { toolCallId: call_id, toolName: name, dynamic: true, providerExecuted: true } as const;
}

export function toToolInputChunk(call: ToolCallItem) {
  const input = parseArguments(call.arguments);
  if (call.status === "incomplete" || input === undefined)
    return {
      type: "tool-input-error",
      ...toToolInputFields(call),
      input: call.arguments,
      errorText: "the arguments are incomplete",
    } as const;
  return { type: "tool-input-available", ...toToolInputFields(call), input } as const;
}

function parseArguments(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function toApprovalRequestChunk(call: ToolCallItem, approval: TaskApproval): UiChunk {
  const { approval_id: approvalId, question = describeLongExpansion(approval) } = approval;
  return {
    type: "tool-approval-request",
    approvalId,
    toolCallId: call.call_id,
    approvalDescriptor: approval,
    ...(question === undefined ? {} : { reason: question }),
  };
}

/**
 * Returns a notice with a link to the expanded arguments if they are too long for a chunk: the input chunk then still contains the
 * variable references. Undefined otherwise.
 */
function describeLongExpansion({
  expanded_arguments: expandedArguments,
}: TaskApproval): string | undefined {
  if (expandedArguments === undefined || "text" in expandedArguments) return undefined;
  return `With all variables expanded, the input is ${expandedArguments.length} characters long. Read it at ${expandedArguments.url} before you approve it.`;
}
