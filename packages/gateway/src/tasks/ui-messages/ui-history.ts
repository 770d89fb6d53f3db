import { callOutput, inputPart } from "@deltawire/agent";
import type { UiHistoryMessage, UiHistoryPart } from "@deltawire/tasks";
import type { InputItem } from "@deltawire/wire";

/** What was said in a chat before, as the model is told of it. */
export function historyItems(history: readonly UiHistoryMessage[]): InputItem[] {
  return history.flatMap((message): InputItem[] => {
    if (message.role === "assistant") return message.parts.flatMap(assistantItem);
    return [{ type: "message", role: message.role, content: message.parts.map(inputPart) }];
  });
}

/** What it showed cannot be said as its own words; only users show pictures to models. */
function assistantItem(part: UiHistoryPart): InputItem[] {
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
      return [{ type: "function_call_output", call_id, output: callOutput(content) }];
    }
    default:
      return [];
  }
}
