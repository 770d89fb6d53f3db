import {
  removeMarkers,
  type Block,
  type ContentPart,
  type ToolExecution,
  type ToolCallItem,
  type ExpandedArguments,
  type ToolBlock,
  type ToolOutput,
  type ToolResultWriter,
} from "@deltawire/tasks";
import {
  requestCallApproval,
  findApprovedArguments,
  findCallApproval,
  findEditedArguments,
  formatDenial,
} from "../approvals/call-approval.ts";
import { getTaskApprovals, requestApproval } from "../approvals/request-approval.ts";
import {
  checkToolArguments,
  type CheckedToolArguments,
} from "../variables/check-tool-arguments.ts";
import { getErrorMessage } from "../event-text.ts";
import { executeCall } from "./execute-call.ts";
import { needsResultApproval, type CallResult } from "./call-result.ts";
import { releaseResult } from "./held-result.ts";
import { truncateOutput, joinOutputText, type TruncatedOutput } from "./long-results.ts";
import { saveArgumentVariables, saveResultVariable, formatVariableNote } from "./save-variables.ts";
import { prepareOutput } from "./prepare-output.ts";
import { statusByOutcome } from "../task/reject-call.ts";
import { raceWithAbort } from "../task/stop-reason.ts";
import { endRemovedAgentCall } from "./sub-agent.ts";
import type { CallContext } from "./call-context.ts";
import type { Tool } from "../tool.ts";
import {
  expandArguments,
  hasReferences,
  readExpansion,
  storeExpansion,
} from "../variables/expand-arguments.ts";
import type { Variables } from "../variables/variables.ts";

/**
 * Runs the calls and writes exactly one result for each. The results are opened in the order of the calls and closed as the
 * calls end.
 */
export async function processCalls(
  context: CallContext,
  calls: readonly ToolCallItem[],
): Promise<void> {
  const { task } = context;
  for (const { call_id } of calls) if (!task.hasOpenResult(call_id)) task.toolResult(call_id);
  const scheduler = new CallScheduler();
  const settledCalls = await Promise.allSettled(
    calls.map((call) => processCall(context, call, scheduler)),
  );
  for (const settled of settledCalls) if (settled.status === "rejected") throw settled.reason;
}

/**
 * Writes the result of one call. The state of the task contains what has already happened to the call, in this process or an
 * earlier one, so processing resumes where it stopped.
 */
async function processCall(
  context: CallContext,
  call: ToolCallItem,
  scheduler: CallScheduler,
): Promise<void> {
  const { activity, tree } = context;
  const writer = openResultWriter(context, call);
  activity.set(call.call_id, []);
  try {
    await closeResult(context, call, writer, await resolveCall(context, call, scheduler, writer));
  } finally {
    tree.runningCalls.delete(call.call_id);
    activity.delete(call.call_id);
  }
}

/** Opens the result, which may already be open. Drops the blocks of an interrupted execution if the call is run again. */
function openResultWriter(context: CallContext, call: ToolCallItem): ToolResultWriter {
  const { task, toolset } = context;
  const earlierExecution = findLatestExecution(context, call);
  const shouldRerun =
    earlierExecution !== undefined && isRerunnable(earlierExecution, toolset.tools.get(call.name));
  const blocks = shouldRerun ? "drop" : "keep";
  return task.openResult(call.call_id, { blocks }) ?? task.toolResult(call.call_id);
}

async function resolveCall(
  context: CallContext,
  call: ToolCallItem,
  scheduler: CallScheduler,
  writer: ToolResultWriter,
): Promise<CallResult> {
  const tool = context.toolset.tools.get(call.name);
  const earlierExecution = findLatestExecution(context, call);
  const resumedResult =
    earlierExecution === undefined
      ? undefined
      : await resumeEarlierExecution(context, call, tool, earlierExecution);
  if (resumedResult !== undefined) return resumedResult;
  const removedAgentResult = endRemovedAgentCall(context, call);
  if (removedAgentResult !== undefined)
    return tool !== undefined &&
      needsResultApproval(context.agent, tool, removedAgentResult.outcome)
      ? releaseResult(context, call, removedAgentResult)
      : removedAgentResult;
  if (call.status === "incomplete")
    return {
      outcome: "incomplete",
      output: "The call was not run: the model's output ended before the call was complete.",
    };
  if (tool === undefined)
    return { outcome: "failed", output: formatUnknownTool(context, call.name) };
  const input = await prepareCallInput(context, call, tool);
  if ("outcome" in input) return input;
  const checkedCall = { call, tool, input: input.value };
  const callResult = await scheduler.run(tool.parallel, () =>
    executeCall(context, checkedCall, earlierExecution, writer),
  );
  return needsResultApproval(context.agent, tool, callResult.outcome)
    ? releaseResult(context, call, callResult)
    : callResult;
}

function findLatestExecution(
  { task }: CallContext,
  { call_id: callId }: ToolCallItem,
): ToolExecution | undefined {
  return task.state.executions.findLast(({ call_id }) => call_id === callId);
}

/** Returns the input of the tool, after approval if that is required, or the result of a call that must not run. */
async function prepareCallInput(
  context: CallContext,
  call: ToolCallItem,
  tool: Tool,
): Promise<{ value: unknown } | CallResult> {
  const { variables, options } = context.tree;
  const check = (
    text: string,
    variableSource: Variables | undefined,
  ): Promise<CheckedToolArguments> =>
    raceWithAbort(checkToolArguments(tool, text, variableSource), context.signal);
  const earlierApproval = findCallApproval(context, call);
  // The user approves the arguments as shown, so they are not expanded again after a restart.
  const shownArguments =
    earlierApproval?.expanded_arguments &&
    (await readExpansion(earlierApproval.expanded_arguments, options.blobs));
  const checked =
    shownArguments === undefined
      ? await check(call.arguments, variables)
      : await check(shownArguments, undefined);
  if (!checked.ok) return { outcome: "failed", output: formatBadArguments(tool, checked.problems) };
  const approval = await requestCallApproval(context, call, tool, checked);
  if (approval === undefined) return checked;
  const denial = formatDenial(approval);
  if (denial !== undefined) return { outcome: "denied", output: denial };
  const approvedArguments = findApprovedArguments(context, call);
  const text =
    approvedArguments === undefined
      ? call.arguments
      : await readExpansion(approvedArguments, options.blobs);
  if (text === undefined) return { outcome: "failed", output: approvedArgumentsMissingMessage };
  // Earlier versions of this program requested the approval without showing the content of the variables.
  if (hasReferences(tool, text, variables))
    return { outcome: "failed", output: approvedBeforeExpansionMessage };
  const approvedInput = await check(text, undefined);
  return approvedInput.ok
    ? approvedInput
    : { outcome: "failed", output: formatBadArguments(tool, approvedInput.problems) };
}

const approvedArgumentsMissingMessage =
  "The call was not run: the approved arguments are no longer stored. Make the call again.";
const approvedBeforeExpansionMessage =
  "The call was not run: it was approved without showing the user the content of its variables. Make the call again to request a new approval.";

/** Handles a call that an earlier process started. Returns undefined if the call may be run again. */
async function resumeEarlierExecution(
  context: CallContext,
  call: ToolCallItem,
  tool: Tool | undefined,
  earlierExecution: ToolExecution,
): Promise<CallResult | undefined> {
  const isResultHeld = getTaskApprovals(context).some(
    ({ call_id, kind }) => call_id === call.call_id && kind === "result",
  );
  if (isResultHeld) return releaseResult(context, call);
  const shouldRerun = isRerunnable(earlierExecution, tool);
  if (earlierExecution.outcome === undefined) {
    context.task.executionDone(call.call_id, earlierExecution.execution_id, "unknown", 0);
    if (!shouldRerun) context.task.update(call.id, { status: "unknown" });
  }
  return shouldRerun ? undefined : reconcileCall(context, call, tool);
}

function isRerunnable(earlierExecution: ToolExecution, tool: Tool | undefined): boolean {
  return earlierExecution.effect !== "once" && tool?.effect !== "once";
}

/** Asks the user whether an interrupted call was carried out. */
async function reconcileCall(
  context: CallContext,
  call: ToolCallItem,
  tool: Tool | undefined,
): Promise<CallResult> {
  const executedArguments = await loadExecutedArguments(context, call, tool);
  const approval = await requestApproval(context, call.call_id, {
    kind: "reconcile",
    call_id: call.call_id,
    tool: call.name,
    ...(executedArguments === undefined ? {} : { expanded_arguments: executedArguments }),
    choices: ["approve", "deny", "abort"],
    question: `${call.name} was running when the process ended. Was it carried out? Approve if it was, deny if it was not.`,
  });
  const { decision, reason, replacement } = approval.resolution ?? {};
  const answer =
    approval.status === "expired"
      ? "It is unknown whether the call was carried out."
      : decision === "approve"
        ? "The user confirmed that the call was carried out."
        : "The user confirmed that the call was not carried out.";
  const comment = replacement ?? reason ?? "";
  const output = `The process ended during this call. ${answer} ${comment}`.trim();
  return { outcome: "unknown", output };
}

/**
 * Returns the arguments that the call ran with if they differ from those that the model wrote: the approved ones, else those with
 * expanded variables.
 */
async function loadExecutedArguments(
  context: CallContext,
  call: ToolCallItem,
  tool: Tool | undefined,
): Promise<ExpandedArguments | undefined> {
  const approvedArguments = findApprovedArguments(context, call);
  if (approvedArguments !== undefined) return approvedArguments;
  const { variables, options } = context.tree;
  const expansion = await expandArguments(tool ?? call, call.arguments, variables);
  if (!expansion.ok || expansion.text === undefined) return undefined;
  return storeExpansion(expansion.text, options.blobs);
}

/** Stores the result, then writes all of its events synchronously, so that the log contains all of them or none. */
async function closeResult(
  context: CallContext,
  call: ToolCallItem,
  writer: ToolResultWriter,
  callResult: CallResult,
): Promise<void> {
  const { task, pool } = context;
  const { child, recordExecution } = callResult;
  const leadingContent = buildEditNote(context, call);
  const trailingContent = await saveArgumentVariables(context, call);
  if (child !== undefined) {
    const { outcome } = callResult;
    const { cited, message } = child;
    const text = removeMarkers(message);
    const variable =
      callResult.isFromTool && (await saveResultVariable(context, call, outcome, text));
    if (variable !== undefined)
      trailingContent.unshift({ type: "text", text: formatVariableNote(variable.name) });
    const status = statusByOutcome[outcome];
    const lastReference = pool.lastNumber;
    recordExecution?.();
    const { content, references } = pool.addChild(call.call_id, cited, message, writer.itemId);
    for (const reference of references) task.referenceAdded(reference);
    writer.done({
      status,
      outcome,
      content: [...leadingContent, ...content, ...trailingContent],
      omitBlocks: true,
      private: { pool: pool.toJson(lastReference) },
    });
    return task.update(call.id, { status, outcome });
  }
  const { truncated, outcome } = await storeResult(context, call, callResult);
  const status = statusByOutcome[outcome];
  const lastReference = pool.lastNumber;
  recordExecution?.();
  const { content, blocks, references } = pool.add(truncated.output, writer.itemId);
  const { writtenBlocks = 0 } = callResult;
  writer.closeBlock();
  for (const block of blocks.slice(writtenBlocks)) writer.block(block);
  const referenceNumbers = mapReferenceNumbers(blocks.slice(0, writtenBlocks));
  const addReferences = (): void => {
    for (const reference of references) task.referenceAdded(reference);
  };
  // Streamed blocks get their reference numbers when the result is done, so the references are added afterwards.
  if (referenceNumbers.size === 0) addReferences();
  writer.done({
    ...(status === "completed" ? {} : { status }),
    ...(outcome === "completed" ? {} : { outcome }),
    numbers: referenceNumbers,
    content: [...leadingContent, ...content, ...trailingContent],
    private: {
      pool: pool.toJson(lastReference),
      ...(truncated.fullText === undefined ? {} : { full_output: truncated.fullText }),
    },
  });
  if (referenceNumbers.size > 0) addReferences();
  task.update(call.id, { status, outcome });
}

/** Returns the reference numbers of blocks that have one, by block index. */
function mapReferenceNumbers(blocks: readonly Block[]): ReadonlyMap<number, number> {
  return new Map(
    blocks.flatMap(({ id }, index): [number, number][] => (id === undefined ? [] : [[index, id]])),
  );
}

/** Stores long parts of the result. If that fails, the model receives an error message instead. */
async function storeResult(
  context: CallContext,
  call: ToolCallItem,
  { output, outcome, isFromTool, writtenBlocks = 0 }: CallResult,
): Promise<{ truncated: TruncatedOutput; outcome: CallResult["outcome"] }> {
  const { options, truncationGuard } = context.tree;
  const { blobs } = options;
  try {
    const fullOutput = await prepareOutput(output, blobs);
    const variable =
      isFromTool && (await saveResultVariable(context, call, outcome, joinOutputText(fullOutput)));
    const truncated = await truncateOutput(fullOutput, call.call_id, blobs, {
      variable,
      truncationGuard,
    });
    await truncationGuard?.flush?.();
    return { truncated, outcome };
  } catch (error) {
    const subject =
      isFromTool === true ? "The call was run, but its result" : "The result of the call";
    const text = `${subject} could not be stored: ${getErrorMessage(error)}`;
    const streamed =
      writtenBlocks === 0 ? [] : (output as ToolOutput).block_list.slice(0, writtenBlocks);
    const failureOutput: ToolOutput = {
      message_content: [{ type: "text", text }],
      block_list: [...streamed.map(omitCitationFields), { type: "text", text }],
    };
    return { truncated: { output: failureOutput }, outcome: "failed" };
  }
}

/** Removes the citation fields: the model does not receive the content, so it cannot cite it. */
function omitCitationFields(block: ToolBlock): ToolBlock {
  const { id: _id, title: _title, url: _url, ...rest } = block;
  return rest;
}

/** Returns the note for the model, placed before the result, if the user edited the arguments. */
function buildEditNote(context: CallContext, call: ToolCallItem): ContentPart[] {
  const editedArguments = findEditedArguments(context, call);
  if (editedArguments === undefined) return [];
  return [
    { type: "text", text: `The user changed the arguments of this call to ${editedArguments}` },
  ];
}

function formatUnknownTool({ toolset }: CallContext, name: string): string {
  const names = [...toolset.tools.keys()].join(", ");
  return `Unknown tool "${name}". ${names === "" ? "No tools are available." : `Available tools: ${names}.`}`;
}

function formatBadArguments(tool: Tool, problems: readonly string[]): string {
  return `The call was not run because its arguments are invalid:\n${problems.join("\n")}\nJSON Schema of the arguments of ${tool.name}: ${JSON.stringify(tool.parameters)}`;
}

/**
 * Runs parallel calls concurrently, and every other call alone. Calls start in the order in which they are ready, so a call that
 * waits for an approval does not delay the others.
 */
class CallScheduler {
  #exclusive: Promise<unknown> = Promise.resolve();
  #parallel: Promise<unknown>[] = [];

  async run<T>(isParallel: boolean, work: () => Promise<T>): Promise<T> {
    if (isParallel) {
      const running = this.#exclusive.then(work);
      this.#parallel.push(running.catch(() => undefined));
      return running;
    }
    const running = Promise.all([this.#exclusive, ...this.#parallel.splice(0)]).then(work);
    this.#exclusive = running.catch(() => undefined);
    return running;
  }
}
