import type { ChatChunk, ChatDelta, JsonObject } from "@deltawire/wire";

/** Builds a chunk of a Chat stream in the standard format. */
export function chunk(
  delta: ChatDelta | JsonObject,
  finish: string | null = null,
  rest: JsonObject = {},
): ChatChunk {
  return {
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...rest,
  };
}

export const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };

export function usageChunk(counts: JsonObject = usage): ChatChunk {
  return { ...chunk({}), choices: [], usage: counts };
}

/** Builds the delta with a fragment of a tool call. */
export function call(fragment: {
  index?: number | null;
  id?: string | null;
  name?: string | null;
  args?: unknown;
  [field: string]: unknown;
}): ChatDelta {
  const { index, id, name, args, ...rest } = fragment;
  return {
    tool_calls: [
      {
        ...(index === undefined ? {} : { index }),
        ...(id === undefined ? {} : { id }),
        type: "function",
        function: {
          ...(name === undefined ? {} : { name }),
          ...(args === undefined ? {} : { arguments: args as string }),
        },
        ...rest,
      },
    ],
  };
}

/** Builds the body of a reply with one event per read, without `[DONE]` if `done` is false. */
export function body(chunks: readonly unknown[], done = true): string[] {
  const reads = chunks.map((value) => `data: ${JSON.stringify(value)}\n\n`);
  return done ? [...reads, "data: [DONE]\n\n"] : reads;
}
