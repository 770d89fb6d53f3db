import {
  argumentsClosing,
  argumentsDelta,
  argumentsOpening,
  callIds,
  numbersTo,
  textDelta,
  toolName,
  type WrittenStream,
} from "./deltas.ts";

export function chatText(chunks: number): WrittenStream {
  return {
    opening: chatEvent({ role: "assistant", content: "", refusal: null }),
    chunks: numbersTo(chunks).map((nth) => chatEvent({ content: textDelta(nth) })),
    closing: () => chatEnding("stop", chunks),
  };
}

export function chatTools(chunks: number): WrittenStream {
  const second = Math.floor(chunks / 2);
  const fragment = (index: number, text: string) =>
    chatEvent({ tool_calls: [{ index, function: { arguments: text } }] });
  const callOpening = (index: number) =>
    chatEvent({
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
    opening: chatEvent({ role: "assistant", content: null }) + callOpening(0),
    chunks: numbersTo(chunks).map((nth) => {
      const index = nth < second ? 0 : 1;
      const before = nth === second ? fragment(0, argumentsClosing) + callOpening(1) : "";
      return before + fragment(index, argumentsDelta(nth));
    }),
    closing: () => fragment(1, argumentsClosing) + chatEnding("tool_calls", chunks),
  };
}

function chatEvent(delta: object, finish_reason: string | null = null): string {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason }];
  return `data: ${JSON.stringify({ ...chatEnvelope, choices, usage: null })}\n\n`;
}

function chatEnding(finish: string, tokens: number): string {
  const usage = { prompt_tokens: 900, completion_tokens: tokens, total_tokens: tokens + 900 };
  const last = JSON.stringify({ ...chatEnvelope, choices: [], usage });
  return `${chatEvent({}, finish)}data: ${last}\n\ndata: [DONE]\n\n`;
}

const chatEnvelope = {
  id: "chatcmpl-C7mQxW2k4Tz9LrVb1nDpYs8HfGaEj",
  object: "chat.completion.chunk",
  created: 1_760_000_000,
  model: "gpt-4.1-mini-2025-04-14",
  service_tier: "default",
  system_fingerprint: "fp_4fce0778af",
};
