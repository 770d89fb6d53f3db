import type { OutputItem } from "@deltawire/tasks";
import type { ResponsesRequest, ResponseUsage } from "@deltawire/wire";
import { canCompact, compactHistory, isContextFull } from "./compaction.ts";
import {
  toModelError,
  createReplyError,
  toModelFailure,
  streamModel,
  waitForRetry,
} from "./stream-model.ts";
import type { Model, ModelError } from "../model.ts";
import { buildModelRequest } from "./model-request.ts";
import { RoundWriter } from "./round-writer.ts";
import { ModelBackoff, limitRetryPolicy, type ModelFailure } from "./model-retry.ts";
import { estimateUnfinishedUsage } from "./estimate-usage.ts";
import { getUnretractedItems } from "../task/task-items.ts";
import type { RoundContext } from "./round-context.ts";
import { addRoundUsage, calculateUsage } from "../task/usage.ts";

/** Runs one round: sends a request to the model and writes its reply to the task. Retries failures that may be temporary. */
export async function runRound(context: RoundContext, allowsToolCalls: boolean): Promise<void> {
  const { task, tree, agent, pool } = context;
  const model = typeof agent.model === "string" ? tree.options.getModel(agent.model) : agent.model;
  const backoff = new ModelBackoff(
    limitRetryPolicy(tree.options.modelRetryPolicy, agent.retrySeconds),
  );
  let hasCheckedContext = false;
  let hasCompacted = false;
  for (let attempt = 1; ; attempt += 1) {
    const { state } = task;
    const round = state.round_done || state.round === 0 ? state.round + 1 : state.round;
    task.roundStarted(round, state.info.model);
    if (
      !hasCheckedContext &&
      isContextFull(buildModelRequest(context, allowsToolCalls), agent.contextWindow)
    )
      hasCompacted = await compactHistory(
        context,
        model,
        buildModelRequest(context, allowsToolCalls),
      );
    hasCheckedContext = true;
    const writer = new RoundWriter(task, {
      reasoning: agent.reasoning,
      newCallId: () => tree.options.newId("call"),
      isKnownReference: (n) => pool.has(n),
      toEventText: (text) => tree.eventText(text),
      now: tree.options.now,
    });
    const startedAt = performance.now();
    const failure = await attemptRound(
      context,
      model,
      buildModelRequest(context, allowsToolCalls),
      writer,
    );
    if (failure === undefined) return;
    const { error } = failure;
    if (error.code === "context_length_exceeded" && !hasCompacted && canCompact(context)) {
      retractRound(context, error.code);
      hasCompacted = await compactHistory(
        context,
        model,
        buildModelRequest(context, allowsToolCalls),
        {
          isTooLong: true,
        },
      );
      continue;
    }
    const delayMs = backoff.nextDelay(failure, performance.now(), startedAt);
    if (delayMs === undefined) {
      // There is no further attempt, so the incomplete output remains.
      writer.close();
      throw error;
    }
    retractRound(context, error.code);
    await waitForRetry(context, failure, delayMs, attempt);
  }
}

function retractRound({ task }: RoundContext, reason: string): void {
  for (const { id } of getUnretractedItems(task.state, task.state.round_started_at_index))
    task.retract(id, reason);
}

/** Returns the failure of the attempt, or undefined if it succeeded. */
async function attemptRound(
  context: RoundContext,
  model: Model,
  request: ResponsesRequest,
  writer: RoundWriter,
): Promise<ModelFailure | undefined> {
  const { task, tree, signal } = context;
  const getRoundItems = (): OutputItem[] =>
    getUnretractedItems(task.state, task.state.round_started_at_index);
  const countUsage = (reportedUsage?: ResponseUsage | null): void => {
    const usage = reportedUsage ?? estimateUnfinishedUsage(request, getRoundItems());
    addRoundUsage(context, calculateUsage(usage, tree.options.getPrice(task.state.info.model)));
  };
  const buildFailure = (error: ModelError, reportedUsage?: ResponseUsage | null): ModelFailure => {
    const hasOutput = getRoundItems().length > 0;
    // A rejected request costs nothing.
    if (hasOutput || reportedUsage) countUsage(reportedUsage);
    return toModelFailure(error, hasOutput);
  };
  try {
    await streamModel(context, model, request, (batch) => {
      writer.push(batch);
      const { end, media } = writer;
      if (!media.hasPendingWrites) return end !== undefined;
      return media.flush(tree.options.blobs, signal).then(() => end !== undefined);
    });
  } catch (error) {
    if (!signal.aborted) return buildFailure(toModelError(error));
    if (!tree.isDetached) {
      writer.close();
      if (writer.hasStarted) countUsage();
    }
    throw error;
  }
  const { end } = writer;
  if (end === undefined)
    return buildFailure(
      createReplyError(
        "upstream_stream_truncated",
        "the model's reply ended before it was complete",
      ),
    );
  if (end.status === "failed")
    return buildFailure(createReplyError(end.code, end.message), end.usage);
  const usage = calculateUsage(end.usage, tree.options.getPrice(task.state.info.model));
  task.roundDone(task.state.round, end.finishReason, usage);
  addRoundUsage(context, usage);
  return undefined;
}
