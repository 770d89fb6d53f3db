import type { ResponseInputItem } from "@deltawire/wire";

/** True for system and developer messages, and for declarations of tools within the input. */
export function isInstruction(item: ResponseInputItem): boolean {
  if (item.type === "additional_tools") return true;
  return "role" in item && (item.role === "system" || item.role === "developer");
}

/** True for what a model has returned: messages of the assistant, reasoning and calls. */
export function isModelOutput(item: ResponseInputItem): boolean {
  if ("role" in item) return item.role === "assistant";
  return item.type === "reasoning" || item.type.endsWith("_call");
}

/** Returns the id of the call that an item is, or whose result it is. */
export function getCallId(item: ResponseInputItem): string | undefined {
  return "call_id" in item && typeof item.call_id === "string" ? item.call_id : undefined;
}
