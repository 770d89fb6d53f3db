import type { ChatChunk, ChatDelta, JsonObject } from "@deltawire/wire";

/** Chunks of a Chat stream, as a well-behaved server would wrap them. */
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

/** A fragment of a tool call. */
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

/** The body of the reply, an event a read; without the sentinel if `done` is false. */
export function body(chunks: readonly unknown[], done = true): string[] {
  const reads = chunks.map((value) => `data: ${JSON.stringify(value)}\n\n`);
  return done ? [...reads, "data: [DONE]\n\n"] : reads;
}
