import { toCallOutput, toInputPart } from "@deltawire/agent";
import type { UiHistoryMessage, UiHistoryPart } from "@deltawire/tasks";
import type { ResponseInputItem } from "@deltawire/wire";

/** Converts the earlier messages of a chat to input items for the model. */
export function toModelHistoryItems(history: readonly UiHistoryMessage[]): ResponseInputItem[] {
  return history.flatMap((message): ResponseInputItem[] => {
    if (message.role === "assistant") return message.parts.flatMap(toAssistantItems);
    return [{ type: "message", role: message.role, content: message.parts.map(toInputPart) }];
  });
}

/** Files are dropped, because only user messages can contain files for a model. */
function toAssistantItems(part: UiHistoryPart): ResponseInputItem[] {
  switch (part.type) {
    case "text":
      return [
        {
          type: "message",
          role: "assistant",
          content: [{ type: "output_text", text: part.text }],
        },
      ];
    case "tool_call": {
      const { call_id, name, arguments: args } = part;
      return [{ type: "function_call", call_id, name, arguments: args }];
    }
    case "tool_result": {
      const { call_id, content } = part;
      return [{ type: "function_call_output", call_id, output: toCallOutput(content) }];
    }
    default:
      return [];
  }
}
