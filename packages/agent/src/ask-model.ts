import type { Usage } from "@deltawire/tasks";
import type { JsonObject, ResponseEvent, ResponsesRequest } from "@deltawire/wire";
import { blobPath, withDataUrls } from "./blobs.ts";
import { compactionPoint, isFull, Summary, summaryRequest, tokensOf } from "./compaction.ts";
import { historyOf } from "./history.ts";
import { ModelError, type Model } from "./model.ts";
import { ModelRound } from "./model-round.ts";
import { spoken } from "./next-step.ts";
import { brief, messageOf } from "./run-tool.ts";
import { stoppedBy, throwIfStopped, unlessStopped } from "./stop.ts";
import type { TaskContext } from "./task-run.ts";
import { addUsage, treeUsage, usageOf } from "./usage.ts";

/** A round that is cut off is asked again this often. */
const mostAttempts = 3;
const firstWaitMs = 500;

/** One round: the model is asked, and what it says is written down as it comes. */
export async function askModel(run: TaskContext, tools: boolean): Promise<void> {
  const { task, tree, agent, pool } = run;
  const model = typeof agent.model === "string" ? tree.model(agent.model) : agent.model;
  let compacted = false;
  for (let attempt = 1; ; attempt += 1) {
    const { state } = task;
    const round = state.round_done || state.round === 0 ? state.round + 1 : state.round;
    task.roundStarted(round, state.info.model);
    if (!compacted && isFull(requestOf(run, tools), agent.contextWindow))
      compacted = await compact(run, model, requestOf(run, tools));
    const said = new ModelRound(task, {
      reasoning: agent.reasoning,
      newCallId: () => tree.newId("call"),
      known: (n) => pool.has(n),
    });
    const failure = await askOnce(run, model, requestOf(run, tools), said);
    if (failure === undefined) return;
    const tooLong = failure.code === "context_length_exceeded" && !compacted;
    if (tooLong && canCompact(run)) {
      takeBack(run, failure.code);
      compacted = await compact(run, model, requestOf(run, tools));
      continue;
    }
    if (!failure.retryable || attempt >= mostAttempts) {
      // Nobody will say it again: what there is of it is kept.
      said.close();
      throw failure;
    }
    takeBack(run, failure.code);
    const wait = firstWaitMs * 2 ** (attempt - 1);
    task.warning("model_asked_again", brief(failure.message), { retry_in_ms: wait, attempt });
    await unlessStopped(new Promise((resolve) => setTimeout(resolve, wait)), run.signal);
  }
}

function takeBack({ task }: TaskContext, reason: string): void {
  for (const { id } of spoken(task.state, task.state.round_started_at_index))
    task.retract(id, reason);
}

/** What the model failed with, if it did. */
async function askOnce(
  run: TaskContext,
  model: Model,
  request: ResponsesRequest,
  said: ModelRound,
): Promise<ModelError | undefined> {
  const { task, tree, signal } = run;
  try {
    await follow(run, model, request, (batch) => {
      said.push(batch);
      return said.end !== undefined;
    });
  } catch (error) {
    if (!signal.aborted) return asModelError(error);
    if (!tree.isLeft) said.close();
    throw error;
  }
  const { end } = said;
  if (end === undefined) return brokenOff();
  if (end.is === "failed")
    return new ModelError(end.code, end.message, { retryable: isPassing(end.code) });
  for (const { base64, mediaType } of said.images) {
    const hash = await tree.blobs.put(Buffer.from(base64, "base64"), mediaType);
    const message = task.message();
    message.block({ type: "image", image_url: { url: blobPath + hash } });
    message.done();
  }
  const usage = usageOf(end.usage, tree.price(task.state.info.model));
  task.roundDone(task.state.round, end.finishReason, usage);
  used(run, usage);
  return undefined;
}

type Batch = readonly (ResponseEvent | JsonObject)[];

/**
 * Hands on what the model says until `take` has enough. Stops when the run does, whether or not the model listens to its
 * signal.
 */
async function follow(
  { tree, signal }: TaskContext,
  model: Model,
  request: ResponsesRequest,
  take: (batch: Batch) => boolean,
): Promise<void> {
  const sent = await withDataUrls(request, tree.blobs);
  throwIfStopped(signal);
  let fail: (error: unknown) => void = () => undefined;
  const stop = (): void => fail(stoppedBy(signal));
  const batches = model.stream(sent, signal)[Symbol.asyncIterator]();
  signal.addEventListener("abort", stop, { once: true });
  try {
    for (;;) {
      const next = await new Promise<IteratorResult<Batch>>((resolve, reject) => {
        fail = reject;
        batches.next().then(resolve, reject);
      });
      throwIfStopped(signal);
      if (next.done === true || take(next.value)) return;
    }
  } finally {
    signal.removeEventListener("abort", stop);
    // Frees the connection; nothing waits for it.
    batches.return?.().then(undefined, () => undefined);
  }
}

function asModelError(error: unknown): ModelError {
  if (error instanceof ModelError) return error;
  return new ModelError("model_failed", messageOf(error), { cause: error });
}

function brokenOff(): ModelError {
  return new ModelError("upstream_stream_truncated", "the model's reply broke off", {
    retryable: true,
  });
}

function used({ task, tree }: TaskContext, usage: Usage): void {
  const below = treeUsage(tree.state, task.taskId);
  task.usageUpdated(addUsage(task.state.usage, usage), addUsage(below, usage));
}

/** What asking again may mend. */
function isPassing(code: string): boolean {
  return /truncated|timeout|overloaded|rate_limit|unreachable|server_error|upstream_error|reply_failed/.test(
    code,
  );
}

function requestOf({ task, tree, agent, toolset }: TaskContext, tools: boolean): ResponsesRequest {
  const { state } = task;
  const offered = [...toolset.tools.values()].map(({ name, description, parameters }) => ({
    type: "function" as const,
    name,
    description,
    parameters,
    strict: false,
  }));
  return {
    model: state.info.model,
    ...(toolset.instructions === "" ? {} : { instructions: toolset.instructions }),
    input: historyOf(state, tree.memory),
    ...(offered.length === 0
      ? {}
      : { tools: offered, tool_choice: tools ? "auto" : "none", parallel_tool_calls: true }),
    ...(agent.effort === undefined ? {} : { reasoning: { effort: agent.effort, summary: "auto" } }),
    include: ["reasoning.encrypted_content"],
    prompt_cache_key: tree.rootTaskId,
    store: false,
    stream: true,
  };
}

/** Puts the history before the last rounds into fewer words. The log stays as it is. False: there was nothing to put. */
async function compact(
  run: TaskContext,
  model: Model,
  request: ResponsesRequest,
): Promise<boolean> {
  const { task, tree } = run;
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
  const summary = new Summary();
  const asked = summaryRequest(request, historyOf(upTo, tree.memory));
  try {
    await follow(run, model, asked, (batch) => summary.push(batch));
  } catch (error) {
    throwIfStopped(run.signal);
    throw asModelError(error);
  }
  used(run, usageOf(summary.usage, tree.price(state.info.model)));
  if (summary.failure !== undefined)
    throw new ModelError(summary.failure.code, summary.failure.message);
  if (summary.text === "")
    throw new ModelError(
      "context_length_exceeded",
      "the history is too long, and the model did not put it into fewer words",
    );
  const kept = { summary: summary.text, from_index: point };
  tree.memory.compact(task.taskId, kept);
  const after = tokensOf(requestOf(run, true));
  task.compression("completed", { before_tokens: before, after_tokens: after }, { ...kept });
  return true;
}

function canCompact(run: TaskContext): boolean {
  return pointOf(run) !== undefined;
}

/** Where the words that stay begin; at the start of the task if only what came before it can be put into fewer. */
function pointOf({ task, tree }: TaskContext): number | undefined {
  const done = tree.memory.compaction(task.taskId);
  const point = compactionPoint(task.state, done?.from_index ?? 0);
  if (point !== undefined || done !== undefined) return point;
  const { history } = tree.memory.request(task.taskId);
  return Array.isArray(history) && history.length > 0 ? 0 : undefined;
}
