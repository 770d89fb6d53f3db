import type { TaskState } from "@deltawire/tasks";
import {
  estimateRequestTokens,
  type InputItem,
  type JsonObject,
  type ResponseEvent,
  type ResponsesRequest,
  type ResponseUsage,
} from "@deltawire/wire";

/** History is put into fewer words when it fills this much of the window: the answer needs room too. */
const fullAt = 0.8;
/** What is kept word for word. */
const keptRounds = 2;

export function isFull(request: ResponsesRequest, contextWindow: number): boolean {
  return tokensOf(request) > contextWindow * fullAt;
}

export function tokensOf(request: ResponsesRequest): number {
  return estimateRequestTokens(request);
}

/** The index of the first item that stays as it is; undefined where there is nothing before it to be put into fewer words. */
export function compactionPoint(state: TaskState, from: number): number | undefined {
  const starts: number[] = [];
  let previous: string | undefined;
  for (const [index, item] of state.output.entries()) {
    // A round begins behind the results of the round before it.
    if (index > from && item.type !== "tool_result" && previous === "tool_result")
      starts.push(index);
    if (item.type !== "retracted") previous = item.type;
  }
  if (previous === "tool_result") starts.push(state.output.length);
  const point = starts.at(-keptRounds) ?? starts.at(-1);
  return point !== undefined && point > from ? point : undefined;
}

export function summaryRequest(
  request: ResponsesRequest,
  history: readonly InputItem[],
): ResponsesRequest {
  const { model = null, prompt_cache_key = null } = request;
  return {
    model,
    ...(prompt_cache_key === null ? {} : { prompt_cache_key }),
    instructions:
      "You keep the notes of an agent at work. Write down, for the agent itself, what it needs to go on: what the user wants, what was done and found (names, numbers, paths and quotes exactly), what failed, what is still to be done. No introduction.",
    input: [
      ...history,
      { type: "message", role: "user", content: "Write the notes now. Do not call tools." },
    ],
    store: false,
    stream: true,
  };
}

/** What a model writes when it is asked for a summary. */
export class Summary {
  text = "";
  usage: ResponseUsage | null = null;
  failure: { code: string; message: string } | undefined = {
    code: "upstream_stream_truncated",
    message: "the summary of the history broke off",
  };

  /** Whether it is done. */
  push(batch: readonly (ResponseEvent | JsonObject)[]): boolean {
    for (const event of batch as readonly ResponseEvent[])
      switch (event.type) {
        case "response.output_text.delta":
          this.text += event.delta;
          break;
        case "response.completed":
        case "response.incomplete":
          this.usage = event.response.usage;
          this.failure = undefined;
          return true;
        case "response.failed":
          this.failure = {
            code: event.response.error?.code ?? "upstream_error",
            message: event.response.error?.message ?? "the model failed",
          };
          return true;
        default:
      }
    return false;
  }
}
