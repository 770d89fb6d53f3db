import type {
  Effect,
  Execution,
  ToolCallItem,
  ToolOutput,
  ToolResultWriter,
} from "@deltawire/tasks";
import { executedHash } from "../approvals/call-approval.ts";
import { brief, messageOf } from "../event-text.ts";
import { isHeld, resultPolicy, type Executed } from "./executed.ts";
import { hashOf, pageOf } from "./long-results.ts";
import { withStreamed } from "./readable.ts";
import { readResult, type HelpWanted, type PageWanted } from "../task/own-tools.ts";
import { runTool, type ToolRun } from "./run-tool.ts";
import { askAgent } from "./sub-agent.ts";
import { isLeft, stoppedBy } from "../task/stop.ts";
import { StreamedOutput, type Streamed } from "./streamed-output.ts";
import type { CallContext } from "./call-context.ts";
import type { PrivateItem } from "../log/private-parts.ts";
import type { Tool } from "../tool.ts";
import { unreachable } from "../unreachable.ts";

interface CheckedCall {
  call: ToolCallItem;
  tool: Tool;
  input: unknown;
}

/** Carries a call out. That it begins is in the log before it does. */
export async function executeCall(
  run: CallContext,
  { call, tool, input }: CheckedCall,
  before: Execution | undefined,
  result: ToolResultWriter,
): Promise<Executed> {
  const { task, tree, signal } = run;
  tree.mayBegin(signal);
  if (tool !== run.toolset.help) tree.atWork.add(call.call_id);
  const attempt = (before?.attempt ?? 0) + 1;
  const executionId = tree.options.newId("exec");
  const idempotencyKey = before?.idempotency_key ?? tree.options.newId("key");
  const effect = before?.effect ?? tool.effect;
  task.update(call.id, { status: "executing" });
  task.executionStarted({
    call_id: call.call_id,
    execution_id: executionId,
    attempt,
    args_hash: executedHash(run, call),
    effect,
    idempotency_key: idempotencyKey,
  });
  // Whatever happens from here on, the log says that it may have happened.
  await tree.journal.settled();
  const began = tree.options.now();
  const executed = signal.aborted ? notBegun() : await carriedOut();
  const took = Math.max(0, tree.options.now() - began);
  // What a person may refuse to show is told to nobody before.
  const isTold = executed.error !== undefined && !isHeld(run.agent, tool, executed.outcome);
  const error = isTold ? brief(executed.error ?? "") : undefined;
  const record = (): void =>
    task.executionDone(call.call_id, executionId, executed.outcome, took, error);
  return { ...executed, record, fromTool: true };

  /** It was stopped while that was written. What may be run again is, by the process that goes on; the rest is told. */
  function notBegun(): Executed {
    if (!isLeft(signal) || effect !== "once") {
      task.executionDone(call.call_id, executionId, "canceled", 0);
      throw stoppedBy(signal);
    }
    return { outcome: "canceled", output: "The call was not run: the process ended before it." };
  }

  async function carriedOut(): Promise<Executed> {
    if (tool === run.toolset.help) return askAgent(run, call, input as HelpWanted);
    if (tool === readResult) return readOn(run, input as PageWanted);
    // Of a result that a person may refuse nothing is shown before.
    const isShown = resultPolicy(run.agent, tool) === "never";
    const { blobs, redact, secretStart } = tree.options;
    const shownIn = isShown ? result : undefined;
    const stream = new StreamedOutput({ blobs, redact, secretStart, result: shownIn });
    const context = {
      taskId: task.taskId,
      callId: call.call_id,
      idempotencyKey,
      attempt,
      blobs,
      stream,
      progress: (message: string, fraction?: number): void => {
        const told = isShown ? tree.eventText(message) : undefined;
        if (told !== undefined || fraction !== undefined)
          task.executionProgress(call.call_id, executionId, told, fraction);
      },
    };
    try {
      const ended = await runTool(tool, input, context, signal);
      // Another process goes on; but what is known is kept.
      if (isLeft(signal) && !isKnown(ended, effect)) throw stoppedBy(signal);
      return await executedBy(run, tool, ended, await stream.end());
    } finally {
      stream.stop();
    }
  }
}

/** What is not known of a call that may run again, the next run will tell. */
function isKnown(ended: ToolRun, effect: Effect): boolean {
  if (ended.is === "returned") return true;
  return effect === "once" && (ended.is !== "stopped" || ended.ended);
}

/**
 * Secrets are removed here, once, from all that a tool returns: whatever becomes of it later is made of this. They are not in
 * what was streamed.
 */
async function executedBy(
  run: CallContext,
  tool: Tool,
  ended: ToolRun,
  streamed: Streamed,
): Promise<Executed> {
  const { redact, blobs } = run.tree.options;
  const { written } = streamed;
  if (ended.is === "returned" && streamed.failure === undefined) {
    try {
      const output = await withStreamed(streamed.output, ended.value, { blobs, redact });
      return { outcome: "completed", output, written };
    } catch (error) {
      return after(failed("The tool returned what cannot be read", redact(messageOf(error))));
    }
  }
  return after(notReturned(run, tool, ended, streamed));

  /** People and the model also get what it streamed before. */
  function after(executed: Executed): Executed {
    if (streamed.output.block_list.length === 0) return executed;
    const text = { type: "text" as const, text: String(executed.output) };
    const { message_content, block_list } = streamed.output;
    const output: ToolOutput = {
      message_content: [...message_content, text],
      block_list: [...block_list, text],
    };
    return { ...executed, output, written };
  }
}

function notReturned(run: CallContext, tool: Tool, ended: ToolRun, streamed: Streamed): Executed {
  const { redact } = run.tree.options;
  switch (ended.is) {
    case "returned":
      return failed("What the tool streamed cannot be stored", redact(messageOf(streamed.failure)));
    case "threw":
      return failed("The tool failed", redact(ended.message));
    case "timeout": {
      const error = `no result within ${tool.timeoutMs / 1000} s`;
      return { outcome: "timeout", output: `The tool was stopped: ${error}.`, error };
    }
    case "stopped": {
      const output = isLeft(run.signal)
        ? "The process ended, and the call was stopped while it ran: it may have been carried out in part."
        : "The call was cancelled while it ran.";
      return { outcome: "canceled", output };
    }
    default:
      return unreachable(ended);
  }
}

function failed(what: string, error: string): Executed {
  return { outcome: "failed", output: `${what}: ${error}`, error };
}

async function readOn(run: CallContext, { result, offset }: PageWanted): Promise<Executed> {
  const whole = wholeOf(run, result);
  const blob = whole === undefined ? undefined : await run.tree.options.blobs.get(hashOf(whole));
  if (blob === undefined)
    return {
      outcome: "failed",
      output: `There is no result "${result}" that was cut.`,
      error: "no such result",
    };
  const text = Buffer.from(blob.bytes).toString("utf8");
  return { outcome: "completed", output: pageOf(text, result, offset, { cuts: run.tree.cuts }) };
}

/** Where the whole of a result is that was cut for the model. */
function wholeOf({ task, tree }: CallContext, callId: string): PrivateItem["whole"] {
  const item = task.state.output.find(
    (each) => each.type === "tool_result" && each.call_id === callId,
  );
  return item === undefined ? undefined : tree.privateParts.item(item.id).whole;
}
