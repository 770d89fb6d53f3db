/** How a choice came to its end, after decision 5. */
export type Finish =
  | { kind: "stop" }
  | { kind: "tool_calls" }
  | { kind: "content_filter" }
  | { kind: "length" }
  | { kind: "failed"; code: string; message: string; provider?: unknown };

interface Word {
  kind: Finish["kind"];
  /** For `failed`: the code a client gets. */
  code?: string;
}

/** What providers say, and what they mean. A word that is not here is `stop`, and counted. */
const words: Record<string, Word> = {
  stop: { kind: "stop" },
  end_turn: { kind: "stop" },
  eos: { kind: "stop" },
  eos_token: { kind: "stop" },
  tool_calls: { kind: "tool_calls" },
  tool_call: { kind: "tool_calls" },
  tool_use: { kind: "tool_calls" },
  function_call: { kind: "tool_calls" },
  length: { kind: "length" },
  max_tokens: { kind: "length" }, // Anthropic's word, let through by some proxies
  content_filter: { kind: "content_filter" },
  sensitive: { kind: "content_filter" }, // z.ai
  error: { kind: "failed", code: "upstream_error" },
  network_error: { kind: "failed", code: "upstream_error" }, // z.ai
  abort: { kind: "failed", code: "upstream_error" }, // vLLM, SGLang
  model_context_window_exceeded: { kind: "failed", code: "context_length_exceeded" }, // z.ai
};

/** Of several, the strongest counts: an error over a cut, a cut over a filter, calls over a plain stop. */
const strength: Record<Finish["kind"], number> = {
  stop: 0,
  tool_calls: 1,
  content_filter: 2,
  length: 3,
  failed: 4,
};

/** What is known of a reply's calls when the reply ends. */
export interface CallEnds {
  /** There is at least one call. */
  any: boolean;
  /** A call is incomplete and the upstream did not say that it had ended. */
  half: boolean;
}

/**
 * How a reply ended, given its calls: the same for both client wires, streamed and complete (decisions 5 to 7 and
 * docs/decisions/0014). Whether there are calls is seen from the calls. Half a call means that the reply was cut, whatever
 * the upstream calls it: `length`, and none of its calls may run.
 */
export function finishWithCalls(finish: Finish, { any, half }: CallEnds): Finish {
  if (isCut(finish)) return finish;
  if (half) return { kind: "length" };
  return { kind: any ? "tool_calls" : "stop" };
}

/** True if a reply with this finish is not complete: none of its calls may run. */
export function isCut({ kind }: Finish): boolean {
  return kind !== "stop" && kind !== "tool_calls";
}

/** The meaning of one word; undefined for a word that nobody has told us of. */
export function finishOf(word: string): Finish | undefined {
  const known = Object.hasOwn(words, word) ? words[word] : undefined;
  if (known === undefined) return undefined;
  if (known.kind !== "failed") return { kind: known.kind };
  const message = `the upstream ended the reply with finish_reason "${word}"`;
  return { kind: "failed", code: known.code ?? "upstream_error", message };
}

export function stronger(a: Finish | undefined, b: Finish): Finish {
  return a !== undefined && strength[a.kind] >= strength[b.kind] ? a : b;
}
