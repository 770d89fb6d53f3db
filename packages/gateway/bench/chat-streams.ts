import {
  argumentsClosing,
  formatArgumentsDelta,
  argumentsOpening,
  callIds,
  listNumbersTo,
  formatTextDelta,
  toolName,
  type WrittenStream,
} from "./deltas.ts";

export function createChatText(chunks: number): WrittenStream {
  return {
    opening: formatChatEvent({ role: "assistant", content: "", refusal: null }),
    chunks: listNumbersTo(chunks).map((nth) => formatChatEvent({ content: formatTextDelta(nth) })),
    closing: () => formatChatEnding("stop", chunks),
  };
}

export function createChatTools(chunks: number): WrittenStream {
  const second = Math.floor(chunks / 2);
  const fragment = (index: number, text: string) =>
    formatChatEvent({ tool_calls: [{ index, function: { arguments: text } }] });
  const callOpening = (index: number) =>
    formatChatEvent({
      tool_calls: [
        {
          index,
          id: callIds[index],
          type: "function",
          function: { name: toolName, arguments: "" },
        },
      ],
    }) + fragment(index, argumentsOpening);
  return {
    opening: formatChatEvent({ role: "assistant", content: null }) + callOpening(0),
    chunks: listNumbersTo(chunks).map((nth) => {
      const index = nth < second ? 0 : 1;
      const before = nth === second ? fragment(0, argumentsClosing) + callOpening(1) : "";
      return before + fragment(index, formatArgumentsDelta(nth));
    }),
    closing: () => fragment(1, argumentsClosing) + formatChatEnding("tool_calls", chunks),
  };
}

function formatChatEvent(delta: object, finish_reason: string | null = null): string {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason }];
  return `data: ${JSON.stringify({ ...chatEnvelope, choices, usage: null })}\n\n`;
}

function formatChatEnding(finish: string, tokens: number): string {
  const usage = { prompt_tokens: 900, completion_tokens: tokens, total_tokens: tokens + 900 };
  const last = JSON.stringify({ ...chatEnvelope, choices: [], usage });
  return `${formatChatEvent({}, finish)}data: ${last}\n\ndata: [DONE]\n\n`;
}

const chatEnvelope = {
  id: "chatcmpl-C7mQxW2k4Tz9LrVb1nDpYs8HfGaEj",
  object: "chat.completion.chunk",
  created: 1_760_000_000,
  model: "gpt-4.1-mini-2025-04-14",
  service_tier: "default",
  system_fingerprint: "fp_4fce0778af",
};
