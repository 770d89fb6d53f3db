import { unreachable } from "../error.ts";
import { isObject, nonEmptyString } from "../json.ts";
import type { Repairs } from "../repairs.ts";
import type {
  ChatAssistantMessage,
  ChatContent,
  ChatContentPart,
  ChatMessage,
} from "../shapes/chat-request.ts";
import type { ContentPart, InputItem } from "../shapes/responses-request.ts";
import { encryptedFormat } from "./stream.ts";

/** The messages of a Chat history as the items of a Responses input. */
export function inputItems(messages: readonly ChatMessage[], repairs: Repairs): InputItem[] {
  const items: InputItem[] = [];
  const customCalls = new Set<string>();
  for (const message of messages) {
    switch (message.role) {
      case "system":
      case "developer":
      case "user":
        items.push({ type: "message", role: message.role, content: inputParts(message.content) });
        break;
      case "assistant":
        for (const call of message.tool_calls ?? [])
          if (call.type === "custom") customCalls.add(call.id);
        items.push(...assistantItems(message, repairs));
        break;
      case "tool":
        items.push({
          type: customCalls.has(message.tool_call_id)
            ? "custom_tool_call_output"
            : "function_call_output",
          call_id: message.tool_call_id,
          output: outputOf(message.content),
        });
        break;
      case "function":
        break; // a tool message by now
      default:
        unreachable(message);
    }
  }
  return items;
}

/** Reasoning, then what was said, then the calls: the order in which a response has them. */
function assistantItems(message: ChatAssistantMessage, repairs: Repairs): InputItem[] {
  const items: InputItem[] = reasoningItems(message, repairs);
  const content = [...outputParts(message.content, repairs), ...refusalParts(message.refusal)];
  if (content.length > 0) items.push({ type: "message", role: "assistant", content });
  for (const field of ["audio", "name", "reasoning_opaque"])
    if (message[field] !== undefined && message[field] !== null)
      repairs.add("content_converted", `an assistant's ${field} left out`);
  for (const call of message.tool_calls ?? [])
    items.push(
      call.type === "custom"
        ? {
            type: "custom_tool_call",
            call_id: call.id,
            name: call.custom.name,
            input: call.custom.input,
          }
        : {
            type: "function_call",
            call_id: call.id,
            name: call.function.name,
            arguments: call.function.arguments,
          },
    );
  return items;
}

/** What the upstream sealed comes back as it was; plain words as a summary, which it may keep or drop. */
function reasoningItems(message: ChatAssistantMessage, repairs: Repairs): InputItem[] {
  const { reasoning_details: listed } = message;
  const details = Array.isArray(listed) ? listed.filter(isObject) : [];
  const sealed = details.flatMap((detail): InputItem[] => {
    const data = nonEmptyString(detail["data"]);
    if (detail["type"] !== "reasoning.encrypted" || data === undefined) return [];
    if (detail["format"] !== encryptedFormat) {
      repairs.add("reasoning_dropped", "sealed by another upstream");
      return [];
    }
    const id = nonEmptyString(detail["id"]);
    return [
      {
        type: "reasoning",
        ...(id === undefined ? {} : { id }),
        summary: [],
        encrypted_content: data,
      },
    ];
  });
  const words = nonEmptyString(message.reasoning_content) ?? nonEmptyString(message.reasoning);
  if (sealed.length > 0 || words === undefined) return sealed;
  return [{ type: "reasoning", summary: [{ type: "summary_text", text: words }] }];
}

function inputParts(content: ChatContent): string | ContentPart[] {
  return typeof content === "string" ? content : content.map(inputPart);
}

function inputPart(part: ChatContentPart): ContentPart {
  switch (part.type) {
    case "text":
      return { type: "input_text", text: part.text };
    case "image_url": {
      const { url, detail } = part.image_url;
      return { type: "input_image", image_url: url, detail: detail ?? "auto" };
    }
    case "file":
      return { type: "input_file", ...part.file };
    case "input_audio":
      return { type: "input_audio", input_audio: part.input_audio };
    case "refusal":
      return { type: "input_text", text: part.refusal };
    default:
      return part;
  }
}

function outputParts(content: ChatContent | null | undefined, repairs: Repairs): ContentPart[] {
  if (typeof content === "string") return content === "" ? [] : [outputText(content)];
  return (content ?? []).flatMap((part) => {
    if (part.type === "text") return part.text === "" ? [] : [outputText(part.text)];
    if (part.type === "refusal") return refusalParts(part.refusal);
    repairs.add("content_converted", `an assistant's part ${part.type} left out`);
    return [];
  });
}

function outputText(text: string): ContentPart {
  return { type: "output_text", text, annotations: [] };
}

function refusalParts(refusal: string | null | undefined): ContentPart[] {
  return refusal ? [{ type: "refusal", refusal }] : [];
}

/** A string where there is nothing but text: some upstreams refuse a list of it. */
function outputOf(content: ChatContent): string | ContentPart[] {
  if (typeof content === "string") return content;
  const texts = content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return texts.length === content.length ? texts.join("\n\n") : content.map(inputPart);
}
