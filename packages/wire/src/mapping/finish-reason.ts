/** How a choice ended (decision 5). */
export type Finish =
  | { kind: "stop" }
  | { kind: "tool_calls" }
  | { kind: "content_filter" }
  | { kind: "length" }
  | { kind: "failed"; code: string; message: string; provider?: unknown };

/** Finish reasons of all known providers. Any other counts as `stop` and is recorded as a repair. */
const finishReasons: Record<string, Finish["kind"]> = {
  stop: "stop",
  end_turn: "stop",
  eos: "stop",
  eos_token: "stop",
  tool_calls: "tool_calls",
  tool_call: "tool_calls",
  tool_use: "tool_calls",
  function_call: "tool_calls",
  length: "length",
  max_tokens: "length", // Anthropic's value, which some proxies forward
  model_context_window_exceeded: "length", // Anthropic, z.ai (decision 0005)
  content_filter: "content_filter",
  sensitive: "content_filter", // z.ai
  error: "failed",
  network_error: "failed", // z.ai
  abort: "failed", // vLLM, SGLang
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
  const kind = Object.hasOwn(finishReasons, reason) ? finishReasons[reason] : undefined;
  if (kind !== "failed") return kind && { kind };
  const message = `the upstream ended the reply with finish_reason "${reason}"`;
  return { kind, code: "upstream_error", message };
}

/** Returns the finish with the higher priority; `a` if both have the same. */
export function pickStrongerFinish(a: Finish | undefined, b: Finish): Finish {
  return a !== undefined && finishPriority[a.kind] >= finishPriority[b.kind] ? a : b;
}
