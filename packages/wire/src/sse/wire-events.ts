import type { ChatOutput } from "../shapes/chat-reply.ts";
import type { ResponseEvent } from "../shapes/responses-reply.ts";
import { sseDone } from "./encoder.ts";

/**
 * A Responses event as text. The three deltas that a stream consists of are written by hand, on the path of every token:
 * 0.1 µs instead of 0.34 through JSON.stringify.
 */
export function encodeResponseEvent(event: ResponseEvent): string {
  switch (event.type) {
    case "response.output_text.delta":
      if (event.logprobs?.length !== 0 || !isWhole(event, event.content_index)) break;
      return `event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":${event.sequence_number},"item_id":${quotedId(event.item_id)},"output_index":${event.output_index},"content_index":${event.content_index},"delta":${JSON.stringify(event.delta)},"logprobs":[]}\n\n`;
    case "response.reasoning_summary_text.delta":
      if (!isWhole(event, event.summary_index)) break;
      return `event: response.reasoning_summary_text.delta\ndata: {"type":"response.reasoning_summary_text.delta","sequence_number":${event.sequence_number},"item_id":${quotedId(event.item_id)},"output_index":${event.output_index},"summary_index":${event.summary_index},"delta":${JSON.stringify(event.delta)}}\n\n`;
    case "response.function_call_arguments.delta":
      if (!isWhole(event, 0)) break;
      return `event: response.function_call_arguments.delta\ndata: {"type":"response.function_call_arguments.delta","sequence_number":${event.sequence_number},"item_id":${quotedId(event.item_id)},"output_index":${event.output_index},"delta":${JSON.stringify(event.delta)}}\n\n`;
    default:
  }
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

let lastId = "";
let lastQuoted = '""';

/** The deltas of one item follow each other: quoting its id again and again took a fifth of the time of an event. */
function quotedId(id: string): string {
  if (id !== lastId) {
    lastId = id;
    lastQuoted = JSON.stringify(id);
  }
  return lastQuoted;
}

/** Events of an upstream that are passed on may lack anything. */
function isWhole(event: Partial<Omit<Delta, "type">>, part: unknown): boolean {
  return (
    typeof event.item_id === "string" &&
    typeof event.output_index === "number" &&
    typeof event.delta === "string" &&
    typeof event.sequence_number === "number" &&
    typeof part === "number"
  );
}

type Delta = Extract<ResponseEvent, { type: "response.function_call_arguments.delta" }>;

/** A Chat chunk, an error or the sentinel as text. */
export function encodeChatOutput(output: ChatOutput): string {
  return output === "[DONE]" ? sseDone : `data: ${JSON.stringify(output)}\n\n`;
}
