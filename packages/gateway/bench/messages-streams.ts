import {
  argumentsClosing,
  argumentsOpening,
  callIds,
  formatArgumentsDelta,
  formatTextDelta,
  listNumbersTo,
  toolName,
  type WrittenStream,
} from "./deltas.ts";

export function createMessagesText(chunks: number): WrittenStream {
  return {
    // A blank at the start of a text may be sent apart from it.
    opening:
      formatMessageStart() +
      formatBlockStart(0, { type: "text", text: "" }) +
      formatBlockDelta(0, { type: "text_delta", text: "So" }),
    chunks: listNumbersTo(chunks).map((nth) =>
      formatBlockDelta(0, { type: "text_delta", text: formatTextDelta(nth) }),
    ),
    closing: () => formatBlockStop(0) + formatMessageEnd("end_turn", chunks),
  };
}

export function createMessagesTools(chunks: number): WrittenStream {
  const second = Math.floor(chunks / 2);
  const fragment = (index: number, partial_json: string) =>
    formatBlockDelta(index, { type: "input_json_delta", partial_json });
  const callOpening = (index: number) =>
    formatBlockStart(index, { type: "tool_use", id: callIds[index], name: toolName, input: {} }) +
    fragment(index, argumentsOpening);
  const callClosing = (index: number) => fragment(index, argumentsClosing) + formatBlockStop(index);
  return {
    opening: formatMessageStart() + callOpening(0),
    chunks: listNumbersTo(chunks).map((nth) => {
      const before = nth === second ? callClosing(0) + callOpening(1) : "";
      return before + fragment(nth < second ? 0 : 1, formatArgumentsDelta(nth));
    }),
    closing: () => callClosing(1) + formatMessageEnd("tool_use", chunks),
  };
}

function formatMessagesEvent(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

function formatMessageStart(): string {
  return formatMessagesEvent("message_start", {
    message: {
      id: "msg_01Kz8vQf3TnXcWb5RmYp7LdA",
      type: "message",
      role: "assistant",
      model: "claude-sonnet-4-6",
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: {
        input_tokens: 900,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        output_tokens: 1,
        service_tier: "standard",
      },
    },
  });
}

function formatBlockStart(index: number, content_block: object): string {
  return formatMessagesEvent("content_block_start", { index, content_block });
}

function formatBlockDelta(index: number, delta: object): string {
  return formatMessagesEvent("content_block_delta", { index, delta });
}

function formatBlockStop(index: number): string {
  return formatMessagesEvent("content_block_stop", { index });
}

function formatMessageEnd(stop_reason: string, output_tokens: number): string {
  return (
    formatMessagesEvent("message_delta", {
      delta: { stop_reason, stop_sequence: null },
      usage: { output_tokens },
    }) + formatMessagesEvent("message_stop", {})
  );
}
