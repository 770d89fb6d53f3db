/** How a choice ended (decision 5). */
export type Finish =
  | { kind: "stop" }
  | { kind: "tool_calls" }
  | { kind: "content_filter" }
  | { kind: "length" }
  | { kind: "failed"; code: string; message: string; provider?: unknown };

interface FinishReasonMeaning {
  kind: Finish["kind"];
  /** For `failed`: the error code that the client receives. */
  code?: string;
}

/** Finish reasons of all known providers. Any other counts as `stop` and is recorded as a repair. */
const finishReasons: Record<string, FinishReasonMeaning> = {
  stop: { kind: "stop" },
  end_turn: { kind: "stop" },
  eos: { kind: "stop" },
  eos_token: { kind: "stop" },
  tool_calls: { kind: "tool_calls" },
  tool_call: { kind: "tool_calls" },
  tool_use: { kind: "tool_calls" },
  function_call: { kind: "tool_calls" },
  length: { kind: "length" },
  max_tokens: { kind: "length" }, // Anthropic's value, which some proxies forward
  content_filter: { kind: "content_filter" },
  sensitive: { kind: "content_filter" }, // z.ai
  error: { kind: "failed", code: "upstream_error" },
  network_error: { kind: "failed", code: "upstream_error" }, // z.ai
  abort: { kind: "failed", code: "upstream_error" }, // vLLM, SGLang
  model_context_window_exceeded: { kind: "failed", code: "context_length_exceeded" }, // z.ai
};

/** If a reply has several finish reasons, the one with the highest priority counts. */
const finishPriority: Record<Finish["kind"], number> = {
  stop: 0,
  tool_calls: 1,
  content_filter: 2,
  length: 3,
  failed: 4,
};

/** Returns undefined for an unknown finish reason. */
export function parseFinishReason(reason: string): Finish | undefined {
  const meaning = Object.hasOwn(finishReasons, reason) ? finishReasons[reason] : undefined;
  if (meaning === undefined) return undefined;
  if (meaning.kind !== "failed") return { kind: meaning.kind };
  const message = `the upstream ended the reply with finish_reason "${reason}"`;
  return { kind: "failed", code: meaning.code ?? "upstream_error", message };
}

/** Returns the finish with the higher priority; `a` if both have the same. */
export function pickStrongerFinish(a: Finish | undefined, b: Finish): Finish {
  return a !== undefined && finishPriority[a.kind] >= finishPriority[b.kind] ? a : b;
}
