import {
  assertNever,
  type ToolEffect,
  type ToolExecution,
  type ToolCallItem,
  type ToolOutput,
  type ToolResultWriter,
} from "@deltawire/tasks";
import { hashExecutedArguments } from "../approvals/call-approval.ts";
import { truncateEventText, getErrorMessage } from "../event-text.ts";
import { needsResultApproval, getResultPolicy, type CallResult } from "./call-result.ts";
import { getBlobHash, renderTextPage } from "./long-results.ts";
import { mergeStreamedOutput } from "./prepare-output.ts";
import {
  readResultTool,
  type AskForHelpInput,
  type ReadResultInput,
} from "../task/built-in-tools.ts";
import { runTool, type ToolRunResult } from "./run-tool.ts";
import { runSubAgent } from "./sub-agent.ts";
import { isDetached, getStopError } from "../task/stop-reason.ts";
import { StreamedOutput, type StreamedResult } from "./streamed-output.ts";
import type { CallContext } from "./call-context.ts";
import type { PrivateItem } from "../log/private-records.ts";
import type { Tool } from "../tool.ts";

interface CheckedCall {
  call: ToolCallItem;
  tool: Tool;
  input: unknown;
}

/** Runs a call. The start of the execution is stored in the log before the tool runs. */
export async function executeCall(
  context: CallContext,
  { call, tool, input }: CheckedCall,
  earlierExecution: ToolExecution | undefined,
  writer: ToolResultWriter,
): Promise<CallResult> {
  const { task, tree, signal } = context;
  tree.assertMayStart(signal);
  if (tool !== context.toolset.helpTool) tree.runningCalls.add(call.call_id);
  const attempt = (earlierExecution?.attempt ?? 0) + 1;
  const executionId = tree.options.newId("exec");
  const idempotencyKey = earlierExecution?.idempotency_key ?? tree.options.newId("key");
  const effect = earlierExecution?.effect ?? tool.effect;
  task.update(call.id, { status: "executing" });
  task.executionStarted({
    call_id: call.call_id,
    execution_id: executionId,
    attempt,
    args_hash: hashExecutedArguments(context, call),
    effect,
    idempotency_key: idempotencyKey,
  });
  // From here on a crash leaves a log entry that shows that the tool may have run.
  await tree.journal.whenStored();
  tree.abandonIfLeaseExpired();
  const startedAt = tree.options.now();
  const callResult = signal.aborted ? cancelBeforeStart() : await execute();
  const durationMs = Math.max(0, tree.options.now() - startedAt);
  // If the user may withhold the result, its error is not reported before the decision.
  const isErrorReported =
    callResult.error !== undefined && !needsResultApproval(context.agent, tool, callResult.outcome);
  const error = isErrorReported ? truncateEventText(callResult.error ?? "") : undefined;
  const recordExecution = (): void =>
    task.executionDone(call.call_id, executionId, callResult.outcome, durationMs, error);
  return { ...callResult, recordExecution, isFromTool: true };

  /**
   * Handles a stop while the start was being stored. If the process is ending, a call with the effect `once` receives a result;
   * other calls are run when the task is resumed.
   */
  function cancelBeforeStart(): CallResult {
    if (!isDetached(signal) || effect !== "once") {
      task.executionDone(call.call_id, executionId, "canceled", 0);
      throw getStopError(signal);
    }
    return {
      outcome: "canceled",
      output: "The call was not run: the process ended before it started.",
    };
  }

  async function execute(): Promise<CallResult> {
    if (tool === context.toolset.helpTool)
      return runSubAgent(context, call, input as AskForHelpInput);
    if (tool === readResultTool) return readResultPage(context, input as ReadResultInput);
    // A result that the user may withhold is not streamed.
    const isShownLive = getResultPolicy(context.agent, tool) === "never";
    const { blobs, redact, findSecretStart } = tree.options;
    const liveWriter = isShownLive ? writer : undefined;
    const stream = new StreamedOutput({ blobs, redact, findSecretStart, writer: liveWriter });
    const toolContext = {
      taskId: task.taskId,
      callId: call.call_id,
      idempotencyKey,
      attempt,
      blobs,
      stream,
      progress: (message: string, fraction?: number): void => {
        const progressText = isShownLive ? tree.eventText(message) : undefined;
        if (progressText !== undefined || fraction !== undefined)
          task.executionProgress(call.call_id, executionId, progressText, fraction);
      },
    };
    try {
      const toolRun = await runTool(tool, input, toolContext, signal);
      // Another process resumes the call, but a known outcome is still recorded.
      if (isDetached(signal) && !isOutcomeKnown(toolRun, effect)) throw getStopError(signal);
      return await buildCallResult(context, tool, toolRun, await stream.end());
    } finally {
      stream.stop();
    }
  }
}

/** True if the outcome can be recorded although the process is ending; false if the call must be run again to know it. */
function isOutcomeKnown(toolRun: ToolRunResult, effect: ToolEffect): boolean {
  if (toolRun.status === "returned") return true;
  return effect === "once" && (toolRun.status !== "stopped" || toolRun.hasEnded);
}

/**
 * Merges the streamed output with the return value or the failure, without secrets. All later forms of the result derive from
 * this output. Streamed output was redacted while it was streamed.
 */
async function buildCallResult(
  context: CallContext,
  tool: Tool,
  toolRun: ToolRunResult,
  streamed: StreamedResult,
): Promise<CallResult> {
  const { redact, blobs } = context.tree.options;
  const { writtenBlocks } = streamed;
  if (toolRun.status === "returned" && streamed.failure === undefined) {
    try {
      const output = await mergeStreamedOutput(streamed.output, toolRun.value, { blobs, redact });
      return { outcome: "completed", output, writtenBlocks };
    } catch (error) {
      return withStreamedBlocks(
        failedResult("The tool returned an invalid result", redact(getErrorMessage(error))),
      );
    }
  }
  return withStreamedBlocks(buildFailure(context, tool, toolRun, streamed));

  /** Prepends the output that the tool streamed before it failed. */
  function withStreamedBlocks(callResult: CallResult): CallResult {
    if (streamed.output.block_list.length === 0) return callResult;
    const text = { type: "text" as const, text: String(callResult.output) };
    const { message_content, block_list } = streamed.output;
    const output: ToolOutput = {
      message_content: [...message_content, text],
      block_list: [...block_list, text],
    };
    return { ...callResult, output, writtenBlocks };
  }
}

function buildFailure(
  context: CallContext,
  tool: Tool,
  toolRun: ToolRunResult,
  streamed: StreamedResult,
): CallResult {
  const { redact } = context.tree.options;
  switch (toolRun.status) {
    case "returned":
      return failedResult(
        "The streamed output could not be stored",
        redact(getErrorMessage(streamed.failure)),
      );
    case "threw":
      return failedResult("The tool failed", redact(toolRun.message));
    case "timeout": {
      const error = `no result within ${tool.timeoutMs / 1000} s`;
      return { outcome: "timeout", output: `The tool was stopped: ${error}.`, error };
    }
    case "stopped": {
      const output = isDetached(context.signal)
        ? "The process ended while the call was running: it may have been partially carried out."
        : "The call was canceled while it was running.";
      return { outcome: "canceled", output };
    }
    default:
      return assertNever(toolRun);
  }
}

function failedResult(description: string, error: string): CallResult {
  return { outcome: "failed", output: `${description}: ${error}`, error };
}

async function readResultPage(
  context: CallContext,
  { result, offset }: ReadResultInput,
): Promise<CallResult> {
  const fullOutput = findFullOutput(context, result);
  const blob =
    fullOutput === undefined
      ? undefined
      : await context.tree.options.blobs.get(getBlobHash(fullOutput));
  if (blob === undefined)
    return {
      outcome: "failed",
      output: `There is no truncated result "${result}".`,
      error: "no such result",
    };
  const text = Buffer.from(blob.bytes).toString("utf8");
  return {
    outcome: "completed",
    output: renderTextPage(text, result, offset, { truncationGuard: context.tree.truncationGuard }),
  };
}

/** Returns the location of the complete text of a result that was truncated for the model. */
function findFullOutput({ task, tree }: CallContext, callId: string): PrivateItem["full_output"] {
  const item = task.state.output.find(
    (entry) => entry.type === "tool_result" && entry.call_id === callId,
  );
  return item === undefined ? undefined : tree.privateRecords.item(item.id).full_output;
}
