import type { TaskState } from "@deltawire/tasks";
import {
  estimateRequestTokens,
  type InputItem,
  type JsonObject,
  type ResponseEvent,
  type ResponsesRequest,
  type ResponseUsage,
} from "@deltawire/wire";
import {
  asModelError,
  failedReply,
  failureOf,
  followModel,
  replyFailure,
  waitFor,
} from "./follow-model.ts";
import { historyOf } from "./history.ts";
import { ModelError, type Model } from "../model.ts";
import { requestOf } from "./model-request.ts";
import { mostBroken, Patience, waitsWithin, type Failure } from "./model-waits.ts";
import { throwIfStopped } from "../task/stop.ts";
import type { RoundContext } from "./round-context.ts";
import { addRoundUsage, usageOf } from "../task/usage.ts";

/** History is put into fewer words when it fills this much of the window: the answer needs room too. */
const fullAt = 0.8;
/** What is kept word for word. */
const keptRounds = 2;

export function isFull(request: ResponsesRequest, contextWindow: number): boolean {
  return tokensOf(request) > contextWindow * fullAt;
}

function tokensOf(request: ResponsesRequest): number {
  return estimateRequestTokens(request);
}

/**
 * Puts the history before the last rounds into fewer words. The log stays as it is. False: there was nothing to put, or no
 * notes could be had and the request fits as it is. `isTooLong`: the model has refused it.
 */
export async function compact(
  run: RoundContext,
  model: Model,
  request: ResponsesRequest,
  { isTooLong = false } = {},
): Promise<boolean> {
  const { task, tree, agent } = run;
  const point = pointOf(run);
  if (point === undefined) return false;
  const before = tokensOf(request);
  task.compression("created", { before_tokens: before });
  task.compression("in_progress");
  const { state } = task;
  const upTo = {
    ...state,
    output: state.output.slice(0, point),
    inputs: state.inputs.filter(({ taken_at = point }) => taken_at < point),
  };
  const asked = summaryRequest(request, historyOf(upTo, tree.privateParts));
  const fits = !isTooLong && before <= agent.contextWindow;
  const notes = await notesFrom(run, model, asked, fits);
  if (notes instanceof ModelError) {
    if (!fits) throw notes;
    task.warning("compaction_failed", tree.eventText(notes.message));
    task.compression("completed", { before_tokens: before, after_tokens: before });
    return false;
  }
  const kept = { summary: notes, from_index: point };
  tree.privateParts.compact(task.taskId, kept);
  const after = tokensOf(requestOf(run, true));
  task.compression("completed", { before_tokens: before, after_tokens: after }, { ...kept });
  return true;
}

export function canCompact(run: RoundContext): boolean {
  return pointOf(run) !== undefined;
}

/** Where the words that stay begin; at the start of the task if only what came before it can be put into fewer. */
function pointOf({ task, tree }: RoundContext): number | undefined {
  const done = tree.privateParts.compaction(task.taskId);
  const point = compactionPoint(task.state, done?.from_index ?? 0);
  if (point !== undefined || done !== undefined) return point;
  const { history } = tree.privateParts.request(task.taskId);
  return Array.isArray(history) && history.length > 0 ? 0 : undefined;
}

/** The index of the first item that stays as it is; undefined where there is nothing before it to be put into fewer words. */
function compactionPoint(state: TaskState, from: number): number | undefined {
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

/** As patient as a round where the task cannot go on without; else the round will do the waiting. */
async function notesFrom(
  run: RoundContext,
  model: Model,
  request: ResponsesRequest,
  fits: boolean,
): Promise<string | ModelError> {
  const patience = new Patience(waitsWithin(run.tree.options.modelWaits, run.agent.retrySeconds));
  for (let attempt = 1; ; attempt += 1) {
    const began = performance.now();
    const notes = await notesOnce(run, model, request);
    if (typeof notes === "string") return notes;
    const isLast = fits && attempt >= mostBroken;
    const wait = isLast ? undefined : patience.waitAfter(notes, performance.now(), began);
    if (wait === undefined) return notes.error;
    await waitFor(run, notes, wait, attempt);
  }
}

async function notesOnce(
  run: RoundContext,
  model: Model,
  request: ResponsesRequest,
): Promise<string | Failure> {
  const { task, tree, signal } = run;
  const summary = new Summary();
  try {
    await followModel(run, model, request, (batch) => summary.push(batch));
  } catch (error) {
    throwIfStopped(signal);
    return failureOf(asModelError(error), summary.text !== "");
  }
  const { failure, text, usage } = summary;
  addRoundUsage(run, usageOf(usage, tree.options.price(task.state.info.model)));
  if (failure !== undefined)
    return failureOf(failedReply(failure.code, failure.message), text !== "");
  if (text !== "") return text;
  const message = "the history is too long, and the model did not put it into fewer words";
  return failureOf(new ModelError("context_length_exceeded", message), false);
}

function summaryRequest(
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
class Summary {
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
          this.failure = replyFailure(event.response as unknown as JsonObject);
          return true;
        default:
      }
    return false;
  }
}
