import {
  argumentsHash,
  normalizeToolOutput,
  type BlobStore,
  type CitedGroup,
  type Execution,
  type Outcome,
  type ToolCallItem,
  type ToolOutput,
} from "@deltawire/tasks";
import { withBlobs } from "./blobs.ts";
import { pageOf } from "./long-results.ts";
import { askForHelpName, readResultName, type HelpWanted, type PageWanted } from "./own-tools.ts";
import { brief, messageOf, runTool, wellFormed, type ToolRun } from "./run-tool.ts";
import { throwIfStopped } from "./stop.ts";
import type { TaskContext } from "./task-run.ts";
import type { Tool } from "./tool.ts";
import { unreachable } from "./unreachable.ts";

/** What a call came to. */
export interface Executed {
  outcome: Outcome;
  output: unknown;
  /** What the tool failed with, for the record of its run. */
  error?: string;
  /** Writes that the run has ended: together with what came of it, so that neither is kept without the other. */
  record?: () => void;
  /** It is the answer of a sub-agent, whose items are its blocks. */
  child?: { cited: CitedGroup[]; message: string };
}

interface CheckedCall {
  call: ToolCallItem;
  tool: Tool;
  input: unknown;
  /** Those that are run, which a person may have changed. */
  args: string;
}

/** Carries a call out. That it begins is in the log before it does. */
export async function executeCall(
  run: TaskContext,
  { call, tool, input, args }: CheckedCall,
  before: Execution | undefined,
): Promise<Executed> {
  const { task, tree, signal } = run;
  tree.mayBegin(signal);
  const attempt = (before?.attempt ?? 0) + 1;
  const executionId = tree.newId("exec");
  const idempotencyKey = before?.idempotency_key ?? tree.newId("key");
  task.update(call.id, { status: "executing" });
  task.executionStarted({
    call_id: call.call_id,
    execution_id: executionId,
    attempt,
    args_hash: argumentsHash(args),
    effect: before?.effect ?? tool.effect,
    idempotency_key: idempotencyKey,
  });
  // Whatever happens from here on, the log says that it may have happened.
  await tree.journal.settled();
  const began = tree.now();
  const executed = await carriedOut();
  const took = Math.max(0, tree.now() - began);
  const error = executed.error === undefined ? undefined : brief(executed.error);
  const record = (): void =>
    task.executionDone(call.call_id, executionId, executed.outcome, took, error);
  return { ...executed, record };

  async function carriedOut(): Promise<Executed> {
    if (tool.name === askForHelpName) return run.askAgent(call, input as HelpWanted);
    if (tool.name === readResultName) return readOn(run, input as PageWanted);
    const context = {
      taskId: task.taskId,
      callId: call.call_id,
      idempotencyKey,
      attempt,
      blobs: tree.blobs,
      progress: (message: string, fraction?: number): void =>
        task.executionProgress(call.call_id, executionId, message, fraction),
    };
    tree.atWork.add(call.call_id);
    const ended = await runTool(tool, input, context, signal);
    // Another process goes on; but what is done is done, and is kept.
    if (tree.isLeft && ended.is !== "returned") throwIfStopped(signal);
    return executedBy(run, tool, ended);
  }
}

async function executedBy(run: TaskContext, tool: Tool, ended: ToolRun): Promise<Executed> {
  switch (ended.is) {
    case "returned":
      try {
        return { outcome: "completed", output: await readable(ended.value, run.tree.blobs) };
      } catch (error) {
        const message = messageOf(error);
        return {
          outcome: "failed",
          output: `The tool returned what cannot be read: ${message}`,
          error: message,
        };
      }
    case "threw":
      return {
        outcome: "failed",
        output: `The tool failed: ${ended.message}`,
        error: ended.message,
      };
    case "timeout": {
      const error = `no result within ${tool.timeoutMs / 1000} s`;
      return { outcome: "timeout", output: `The tool was stopped: ${error}.`, error };
    }
    case "stopped":
      return { outcome: "canceled", output: "The call was cancelled while it ran." };
    default:
      return unreachable(ended);
  }
}

async function readOn(run: TaskContext, { result, offset }: PageWanted): Promise<Executed> {
  const whole = run.wholeOf(result);
  const blob = whole === undefined ? undefined : await run.tree.blobs.get(whole.hash);
  if (blob === undefined)
    return {
      outcome: "failed",
      output: `There is no result "${result}" that was cut.`,
      error: "no such result",
    };
  const text = Buffer.from(blob.bytes).toString("utf8");
  return { outcome: "completed", output: pageOf(text, result, offset) };
}

/** Whatever a tool returned, as parts and blocks; throws where it can be neither. */
export async function readable(output: unknown, blobs: BlobStore): Promise<ToolOutput> {
  const { message_content, block_list } = normalizeToolOutput(await withBlobs(output, blobs));
  return {
    message_content: message_content.map((part) =>
      part.type === "text" ? { ...part, text: wellFormed(part.text) } : part,
    ),
    block_list,
  };
}
