import type { ContentPart, UiHistoryMessage, UiHistoryPart } from "@deltawire/tasks";
import type { ContentPart as WirePart, InputItem } from "@deltawire/wire";

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
      return [{ type: "function_call_output", call_id, output: outputOf(content) }];
    }
    default:
      return [];
  }
}

/** Text alone is a string, which every server reads. */
function outputOf(content: readonly ContentPart[]): string | WirePart[] {
  const texts = content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return texts.length === content.length ? texts.join("\n") : content.map(inputPart);
}

function inputPart(part: ContentPart): WirePart {
  switch (part.type) {
    case "text":
      return { type: "input_text", text: part.text };
    case "image_url":
      return { type: "input_image", image_url: part.image_url.url };
    case "audio_url":
      return { type: "input_audio", input_audio: { url: part.audio_url.url } };
    default: {
      const { file_url: file, filename } = part;
      const named = filename === undefined ? {} : { filename };
      return file.url.startsWith("data:")
        ? { type: "input_file", filename: "file", ...named, file_data: file.url }
        : { type: "input_file", file_url: file.url, ...named };
    }
  }
}
