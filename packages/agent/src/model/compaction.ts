import type { TaskState } from "@deltawire/tasks";
import {
  estimateRequestTokens,
  type ResponseInputItem,
  type JsonObject,
  type ResponseEvent,
  type ResponsesRequest,
  type ResponseUsage,
} from "@deltawire/wire";
import {
  toModelError,
  createReplyError,
  toModelFailure,
  streamModel,
  parseReplyFailure,
  waitForRetry,
} from "./stream-model.ts";
import { renderTaskHistory } from "./task-history.ts";
import { ModelError, type Model } from "../model.ts";
import { buildModelRequest } from "./model-request.ts";
import {
  maxTruncatedReplies,
  ModelBackoff,
  limitRetryPolicy,
  type ModelFailure,
} from "./model-retry.ts";
import { throwIfStopped } from "../task/stop-reason.ts";
import type { RoundContext } from "./round-context.ts";
import { addRoundUsage, calculateUsage } from "../task/usage.ts";

/** Share of the context window at which the history is summarized. The rest is for the answer. */
const fullThreshold = 0.8;
/** Number of latest rounds that are not summarized. */
const retainedRounds = 2;

export function isContextFull(request: ResponsesRequest, contextWindow: number): boolean {
  return estimateRequestTokens(request) > contextWindow * fullThreshold;
}

/**
 * Lets the model summarize the history before the latest rounds. Logged items remain. Returns false if there is nothing to
 * summarize, or if summarizing failed but the request fits anyway; throws a ModelError if the request does not fit.
 * `isTooLong`: the model has rejected the request as too long.
 */
export async function compactHistory(
  context: RoundContext,
  model: Model,
  request: ResponsesRequest,
  { isTooLong = false } = {},
): Promise<boolean> {
  const { task, tree, agent } = context;
  const point = findCompactionPoint(context);
  if (point === undefined) return false;
  const tokensBefore = estimateRequestTokens(request);
  task.compaction("created", { before_tokens: tokensBefore });
  task.compaction("in_progress");
  const { state } = task;
  const truncatedState = {
    ...state,
    output: state.output.slice(0, point),
    inputs: state.inputs.filter(({ taken_at = point }) => taken_at < point),
  };
  const summaryRequest = buildSummaryRequest(
    request,
    renderTaskHistory(truncatedState, tree.privateRecords),
  );
  const fits = !isTooLong && tokensBefore <= agent.contextWindow;
  const summaryResult = await requestSummary(context, model, summaryRequest, fits);
  if (summaryResult instanceof ModelError) {
    if (!fits) throw summaryResult;
    task.warning("compaction_failed", tree.eventText(summaryResult.message));
    task.compaction("completed", { before_tokens: tokensBefore, after_tokens: tokensBefore });
    return false;
  }
  const newCompaction = { summary: summaryResult, from_index: point };
  tree.privateRecords.setCompaction(task.taskId, newCompaction);
  const tokensAfter = estimateRequestTokens(buildModelRequest(context, true));
  task.compaction(
    "completed",
    { before_tokens: tokensBefore, after_tokens: tokensAfter },
    { ...newCompaction },
  );
  return true;
}

export function canCompact(context: RoundContext): boolean {
  return findCompactionPoint(context) !== undefined;
}

/** Returns the index of the first item that is not summarized. 0 if only the history before the task can be summarized. */
function findCompactionPoint({ task, tree }: RoundContext): number | undefined {
  const previousCompaction = tree.privateRecords.compaction(task.taskId);
  const point = findRetainedStart(task.state, previousCompaction?.from_index ?? 0);
  if (point !== undefined || previousCompaction !== undefined) return point;
  const { history } = tree.privateRecords.request(task.taskId);
  return Array.isArray(history) && history.length > 0 ? 0 : undefined;
}

/** Returns the index of the first item of the latest rounds, or undefined if no item before them can be summarized. */
function findRetainedStart(state: TaskState, startIndex: number): number | undefined {
  const roundStarts: number[] = [];
  let previousType: string | undefined;
  for (const [index, item] of state.output.entries()) {
    // A round starts after the results of the previous round.
    if (index > startIndex && item.type !== "tool_result" && previousType === "tool_result")
      roundStarts.push(index);
    if (item.type !== "retracted") previousType = item.type;
  }
  if (previousType === "tool_result") roundStarts.push(state.output.length);
  const point = roundStarts.at(-retainedRounds) ?? roundStarts.at(-1);
  return point !== undefined && point > startIndex ? point : undefined;
}

/** Retries like a round. Makes only a few attempts if the request fits without a summary (`fits`). */
async function requestSummary(
  context: RoundContext,
  model: Model,
  request: ResponsesRequest,
  fits: boolean,
): Promise<string | ModelError> {
  const backoff = new ModelBackoff(
    limitRetryPolicy(context.tree.options.modelRetryPolicy, context.agent.retrySeconds),
  );
  for (let attempt = 1; ; attempt += 1) {
    const startedAt = performance.now();
    const summaryResult = await requestSummaryOnce(context, model, request);
    if (typeof summaryResult === "string") return summaryResult;
    const isLast = fits && attempt >= maxTruncatedReplies;
    const delayMs = isLast
      ? undefined
      : backoff.nextDelay(summaryResult, performance.now(), startedAt);
    if (delayMs === undefined) return summaryResult.error;
    await waitForRetry(context, summaryResult, delayMs, attempt);
  }
}

async function requestSummaryOnce(
  context: RoundContext,
  model: Model,
  request: ResponsesRequest,
): Promise<string | ModelFailure> {
  const { task, tree, signal } = context;
  const summary = new SummaryCollector();
  try {
    await streamModel(context, model, request, (batch) => summary.push(batch));
  } catch (error) {
    throwIfStopped(signal);
    return toModelFailure(toModelError(error), summary.text !== "");
  }
  const { failure, text, usage } = summary;
  addRoundUsage(context, calculateUsage(usage, tree.options.getPrice(task.state.info.model)));
  if (failure !== undefined)
    return toModelFailure(createReplyError(failure.code, failure.message), text !== "");
  if (text !== "") return text;
  const message = "the history is too long, and the model returned no summary of it";
  return toModelFailure(new ModelError("context_length_exceeded", message), false);
}

function buildSummaryRequest(
  request: ResponsesRequest,
  history: readonly ResponseInputItem[],
): ResponsesRequest {
  const { model = null, prompt_cache_key = null } = request;
  return {
    model,
    ...(prompt_cache_key === null ? {} : { prompt_cache_key }),
    instructions:
      "You take notes for an agent at work. Write down everything that the agent needs in order to continue: what the user wants, what was done and found (copy names, numbers, paths and quotes exactly), what failed, and what remains to be done. No introduction.",
    input: [
      ...history,
      { type: "message", role: "user", content: "Write the notes now. Do not call tools." },
    ],
    store: false,
    stream: true,
  };
}

/** Collects the reply to a summary request. */
class SummaryCollector {
  text = "";
  usage: ResponseUsage | null = null;
  failure: { code: string; message: string } | undefined = {
    code: "upstream_stream_truncated",
    message: "the summary of the history ended before it was complete",
  };

  /** Returns true if the reply has ended. */
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
          this.failure = parseReplyFailure(event.response as unknown as JsonObject);
          return true;
        default:
      }
    return false;
  }
}
