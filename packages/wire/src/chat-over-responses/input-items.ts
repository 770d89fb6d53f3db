import { hasBreakpoint, toBreakpointField } from "../mapping/cache-breakpoints.ts";
import { assertNever } from "../error.ts";
import { isObject, nonEmptyString } from "../json.ts";
import { encryptedReasoningFormat } from "../mapping/reasoning.ts";
import type { Repairs } from "../repairs.ts";
import type {
  ChatAssistantMessage,
  ChatContent,
  ChatContentPart,
  ChatMessage,
} from "../shapes/chat-request.ts";
import type { ResponseInputContent, ResponseInputItem } from "../shapes/responses-request.ts";

/** Converts the messages of a Chat history into items of a Responses input. */
export function toResponseInputItems(
  messages: readonly ChatMessage[],
  repairs: Repairs,
): ResponseInputItem[] {
  const items: ResponseInputItem[] = [];
  const customCalls = new Set<string>();
  for (const message of messages) {
    switch (message.role) {
      case "system":
      case "developer":
      case "user":
        items.push({
          type: "message",
          role: message.role,
          content: toInputContent(message.content),
        });
        break;
      case "assistant":
        for (const call of message.tool_calls ?? [])
          if (call.type === "custom") customCalls.add(call.id);
        items.push(...toAssistantItems(message, repairs));
        break;
      case "tool":
        items.push({
          type: customCalls.has(message.tool_call_id)
            ? "custom_tool_call_output"
            : "function_call_output",
          call_id: message.tool_call_id,
          output: toCallOutput(message.content),
        });
        break;
      case "function":
        break; // already converted into a tool message
      default:
        assertNever(message);
    }
  }
  return items;
}

/** Returns reasoning, then text, then calls: their order in a response. */
function toAssistantItems(message: ChatAssistantMessage, repairs: Repairs): ResponseInputItem[] {
  const items: ResponseInputItem[] = toReasoningItems(message, repairs);
  const content = [
    ...toOutputContent(message.content, repairs),
    ...toRefusalParts(message.refusal),
  ];
  if (content.length > 0) items.push({ type: "message", role: "assistant", content });
  for (const field of ["audio", "name", "reasoning_opaque"])
    if (message[field] !== undefined && message[field] !== null)
      repairs.add("content_converted", `${field} of an assistant message dropped`);
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

/** Returns the upstream's own sealed reasoning unchanged, else plain reasoning as a summary, which the upstream may ignore. */
function toReasoningItems(message: ChatAssistantMessage, repairs: Repairs): ResponseInputItem[] {
  const { reasoning_details: rawDetails } = message;
  const details = Array.isArray(rawDetails) ? rawDetails.filter(isObject) : [];
  const sealedItems = details.flatMap((detail): ResponseInputItem[] => {
    const data = nonEmptyString(detail["data"]);
    if (detail["type"] !== "reasoning.encrypted" || data === undefined) return [];
    if (detail["format"] !== encryptedReasoningFormat) {
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
  const text = nonEmptyString(message.reasoning_content) ?? nonEmptyString(message.reasoning);
  if (sealedItems.length > 0 || text === undefined) return sealedItems;
  return [{ type: "reasoning", summary: [{ type: "summary_text", text }] }];
}

function toInputContent(content: ChatContent): string | ResponseInputContent[] {
  return typeof content === "string" ? content : content.map(toInputPart);
}

function toInputPart(part: ChatContentPart): ResponseInputContent {
  const inputPart = convertPart(part);
  return hasBreakpoint(part) ? { ...inputPart, ...toBreakpointField(part) } : inputPart;
}

function convertPart(part: ChatContentPart): ResponseInputContent {
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

function toOutputContent(
  content: ChatContent | null | undefined,
  repairs: Repairs,
): ResponseInputContent[] {
  if (typeof content === "string") return content === "" ? [] : [toOutputText(content)];
  return (content ?? []).flatMap((part) => {
    if (part.type === "text") return part.text === "" ? [] : [toOutputText(part.text)];
    if (part.type === "refusal") return toRefusalParts(part.refusal);
    repairs.add("content_converted", `part ${part.type} of an assistant message dropped`);
    return [];
  });
}

function toOutputText(text: string): ResponseInputContent {
  return { type: "output_text", text, annotations: [] };
}

function toRefusalParts(refusal: string | null | undefined): ResponseInputContent[] {
  return refusal ? [{ type: "refusal", refusal }] : [];
}

/** Returns a string if there is only text: some upstreams reject a list of text parts. */
function toCallOutput(content: ChatContent): string | ResponseInputContent[] {
  if (typeof content === "string") return content;
  const texts = content.flatMap((part) =>
    part.type === "text" && !hasBreakpoint(part) ? [part.text] : [],
  );
  return texts.length === content.length ? texts.join("\n\n") : content.map(toInputPart);
}
