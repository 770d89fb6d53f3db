import type { OutputItem } from "@deltawire/tasks";
import type { ResponsesRequest, ResponseUsage } from "@deltawire/wire";
import { canCompact, compact, isFull } from "./compaction.ts";
import { asModelError, failedReply, failureOf, followModel, waitFor } from "./follow-model.ts";
import type { Model, ModelError } from "../model.ts";
import { requestOf } from "./model-request.ts";
import { ModelRound } from "./model-round.ts";
import { Patience, waitsWithin, type Failure } from "./model-waits.ts";
import { unfinishedUsage } from "./unfinished-usage.ts";
import { unretractedItems } from "../task/items.ts";
import type { RoundContext } from "./round-context.ts";
import { addRoundUsage, usageOf } from "../task/usage.ts";

/** One round: the model is asked, and what it says is written down as it comes. */
export async function askModel(run: RoundContext, tools: boolean): Promise<void> {
  const { task, tree, agent, pool } = run;
  const model = typeof agent.model === "string" ? tree.options.model(agent.model) : agent.model;
  const patience = new Patience(waitsWithin(tree.options.modelWaits, agent.retrySeconds));
  let looked = false;
  let compacted = false;
  for (let attempt = 1; ; attempt += 1) {
    const { state } = task;
    const round = state.round_done || state.round === 0 ? state.round + 1 : state.round;
    task.roundStarted(round, state.info.model);
    if (!looked && isFull(requestOf(run, tools), agent.contextWindow))
      compacted = await compact(run, model, requestOf(run, tools));
    looked = true;
    const said = new ModelRound(task, {
      reasoning: agent.reasoning,
      newCallId: () => tree.options.newId("call"),
      known: (n) => pool.has(n),
      told: (text) => tree.eventText(text),
      now: tree.options.now,
    });
    const began = performance.now();
    const failure = await askOnce(run, model, requestOf(run, tools), said);
    if (failure === undefined) return;
    const { error } = failure;
    if (error.code === "context_length_exceeded" && !compacted && canCompact(run)) {
      takeBack(run, error.code);
      compacted = await compact(run, model, requestOf(run, tools), { isTooLong: true });
      continue;
    }
    const wait = patience.waitAfter(failure, performance.now(), began);
    if (wait === undefined) {
      // Nobody will say it again: what there is of it is kept.
      said.close();
      throw error;
    }
    takeBack(run, error.code);
    await waitFor(run, failure, wait, attempt);
  }
}

function takeBack({ task }: RoundContext, reason: string): void {
  for (const { id } of unretractedItems(task.state, task.state.round_started_at_index))
    task.retract(id, reason);
}

/** What the model failed with, if it did. */
async function askOnce(
  run: RoundContext,
  model: Model,
  request: ResponsesRequest,
  said: ModelRound,
): Promise<Failure | undefined> {
  const { task, tree, signal } = run;
  const inRound = (): OutputItem[] =>
    unretractedItems(task.state, task.state.round_started_at_index);
  const count = (told?: ResponseUsage | null): void => {
    const usage = told ?? unfinishedUsage(request, inRound());
    addRoundUsage(run, usageOf(usage, tree.options.price(task.state.info.model)));
  };
  const failed = (error: ModelError, told?: ResponseUsage | null): Failure => {
    const hasSpoken = inRound().length > 0;
    // A refusal costs nothing.
    if (hasSpoken || told) count(told);
    return failureOf(error, hasSpoken);
  };
  try {
    await followModel(run, model, request, (batch) => {
      said.push(batch);
      const { end, media } = said;
      if (!media.isWaiting) return end !== undefined;
      return media.tell(tree.options.blobs, signal).then(() => end !== undefined);
    });
  } catch (error) {
    if (!signal.aborted) return failed(asModelError(error));
    if (!tree.isLeft) {
      said.close();
      if (said.hasBegun) count();
    }
    throw error;
  }
  const { end } = said;
  if (end === undefined)
    return failed(failedReply("upstream_stream_truncated", "the model's reply broke off"));
  if (end.is === "failed") return failed(failedReply(end.code, end.message), end.usage);
  const usage = usageOf(end.usage, tree.options.price(task.state.info.model));
  task.roundDone(task.state.round, end.finishReason, usage);
  addRoundUsage(run, usage);
  return undefined;
}
