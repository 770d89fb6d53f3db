import {
  withoutMarkers,
  type Block,
  type ContentPart,
  type Execution,
  type ToolCallItem,
  type ExpandedArguments,
  type ToolBlock,
  type ToolOutput,
  type ToolResultWriter,
} from "@deltawire/tasks";
import {
  approvalOf,
  approvedFor,
  askedBefore,
  editedArguments,
  refusal,
} from "../approvals/call-approval.ts";
import { approvalsOf, askPerson } from "../approvals/ask-person.ts";
import { checkArguments, type CheckedArguments } from "../variables/check-arguments.ts";
import { messageOf } from "../event-text.ts";
import { executeCall } from "./execute-call.ts";
import { isHeld, type Executed } from "./executed.ts";
import { released } from "./held-result.ts";
import { shorten, wholeText, type Shortened } from "./long-results.ts";
import { namedArguments, namedResult, nameNote } from "./named-values.ts";
import { readable } from "./readable.ts";
import { statusOf } from "../task/refuse-call.ts";
import { unlessStopped } from "../task/stop.ts";
import { helpOfOneGone } from "./sub-agent.ts";
import type { CallContext } from "./call-context.ts";
import type { Tool } from "../tool.ts";
import {
  expandArguments,
  hasReferences,
  readExpansion,
  storeExpansion,
} from "../variables/expanded-arguments.ts";
import type { Variables } from "../variables/variables.ts";

/** Gives each call one result, in the order of the calls, whichever is ready first. */
export async function answerCalls(run: CallContext, calls: readonly ToolCallItem[]): Promise<void> {
  const { task } = run;
  for (const { call_id } of calls) if (!task.hasOpenResult(call_id)) task.toolResult(call_id);
  const lanes = new Lanes();
  const answers = await Promise.allSettled(calls.map((call) => answerCall(run, call, lanes)));
  for (const one of answers) if (one.status === "rejected") throw one.reason;
}

/**
 * One result for one call, in every case. What has already happened to the call, in this process or in one that is gone,
 * is in the task's state; so this picks up wherever it was left.
 */
async function answerCall(run: CallContext, call: ToolCallItem, lanes: Lanes): Promise<void> {
  const { activity, tree } = run;
  const result = resultOf(run, call);
  activity.set(call.call_id, []);
  try {
    await close(run, call, result, await answer(run, call, lanes, result));
  } finally {
    tree.atWork.delete(call.call_id);
    activity.delete(call.call_id);
  }
}

/** Where the call is run again, what the interrupted run streamed is dropped: it is streamed again. */
function resultOf(run: CallContext, call: ToolCallItem): ToolResultWriter {
  const { task, toolset } = run;
  const ran = task.state.executions.findLast(({ call_id }) => call_id === call.call_id);
  const runsAgain = ran !== undefined && mayRunAgain(ran, toolset.tools.get(call.name));
  const blocks = runsAgain ? "dropped" : "kept";
  return task.openResult(call.call_id, { blocks }) ?? task.toolResult(call.call_id);
}

async function answer(
  run: CallContext,
  call: ToolCallItem,
  lanes: Lanes,
  result: ToolResultWriter,
): Promise<Executed> {
  const tool = run.toolset.tools.get(call.name);
  const ran = run.task.state.executions.findLast(({ call_id }) => call_id === call.call_id);
  const before = ran === undefined ? undefined : await fromBefore(run, call, tool, ran);
  if (before !== undefined) return before;
  const help = helpOfOneGone(run, call);
  if (help !== undefined)
    return tool !== undefined && isHeld(run.agent, tool, help.outcome)
      ? released(run, call, help)
      : help;
  if (call.status === "incomplete")
    return {
      outcome: "incomplete",
      output: "The call was cut off before it was whole, and was not run.",
    };
  if (tool === undefined) return { outcome: "failed", output: unknownTool(run, call.name) };
  const input = await callInput(run, call, tool);
  if ("outcome" in input) return input;
  const checkedCall = { call, tool, input: input.value };
  const executed = await lanes.run(tool.parallel, () => executeCall(run, checkedCall, ran, result));
  return isHeld(run.agent, tool, executed.outcome) ? released(run, call, executed) : executed;
}

/** What the tool runs with, once a person has approved it where one has to; or why it does not run. */
async function callInput(
  run: CallContext,
  call: ToolCallItem,
  tool: Tool,
): Promise<{ value: unknown } | Executed> {
  const { variables, options } = run.tree;
  const check = (text: string, from: Variables | undefined): Promise<CheckedArguments> =>
    unlessStopped(checkArguments(tool, text, from), run.signal);
  const asked = askedBefore(run, call);
  // What was shown once is not expanded anew.
  const shown =
    asked?.expanded_arguments && (await readExpansion(asked.expanded_arguments, options.blobs));
  const checked =
    shown === undefined ? await check(call.arguments, variables) : await check(shown, undefined);
  if (!checked.ok) return { outcome: "failed", output: badArguments(tool, checked.problems) };
  const approval = await approvalOf(run, call, tool, checked);
  if (approval === undefined) return checked;
  const refused = refusal(approval);
  if (refused !== undefined) return { outcome: "denied", output: refused };
  const approved = approvedFor(run, call);
  const text =
    approved === undefined ? call.arguments : await readExpansion(approved, options.blobs);
  if (text === undefined) return { outcome: "failed", output: approvedIsGone };
  // Approved by an earlier version, which did not show what the references stand for.
  if (hasReferences(tool, text, variables))
    return { outcome: "failed", output: approvedUnexpanded };
  const approvedInput = await check(text, undefined);
  return approvedInput.ok
    ? approvedInput
    : { outcome: "failed", output: badArguments(tool, approvedInput.problems) };
}

const approvedIsGone =
  "The call was not run: the text that was approved is no longer stored. Make the call again.";
const approvedUnexpanded =
  "The call was not run: it was approved before the user was shown what its variables contain. Make the call again, and the user is asked with their content.";

/** What an earlier run of the call, in a process that is gone, leaves to be done. Undefined: it may be run again. */
async function fromBefore(
  run: CallContext,
  call: ToolCallItem,
  tool: Tool | undefined,
  ran: Execution,
): Promise<Executed | undefined> {
  const held = approvalsOf(run).some(
    (one) => one.call_id === call.call_id && one.kind === "result",
  );
  if (held) return released(run, call);
  const runsAgain = mayRunAgain(ran, tool);
  if (ran.outcome === undefined) {
    run.task.executionDone(call.call_id, ran.execution_id, "unknown", 0);
    if (!runsAgain) run.task.update(call.id, { status: "unknown" });
  }
  return runsAgain ? undefined : reconciled(run, call, tool);
}

function mayRunAgain(ran: Execution, tool: Tool | undefined): boolean {
  return ran.effect !== "once" && tool?.effect !== "once";
}

/** Nobody knows whether it was done: a person looks, and says. */
async function reconciled(
  run: CallContext,
  call: ToolCallItem,
  tool: Tool | undefined,
): Promise<Executed> {
  const executed = await executedArguments(run, call, tool);
  const approval = await askPerson(run, call.call_id, {
    kind: "reconcile",
    call_id: call.call_id,
    tool: call.name,
    ...(executed === undefined ? {} : { expanded_arguments: executed }),
    choices: ["approve", "deny", "abort"],
    question: `${call.name} was running when the process ended. Was it done? Approve: it was. Deny: it was not.`,
  });
  const { decision, reason, replacement } = approval.resolution ?? {};
  const found =
    approval.status === "expired"
      ? "and nobody knows whether it was carried out."
      : decision === "approve"
        ? "but the user has seen that the call was carried out."
        : "and the user has seen that it was not carried out.";
  const said = replacement ?? reason ?? "";
  return { outcome: "unknown", output: `The run was interrupted, ${found} ${said}`.trim() };
}

/** What a call ran with, where that is not its own text: as approved, else with its variables replaced by their content. */
async function executedArguments(
  run: CallContext,
  call: ToolCallItem,
  tool: Tool | undefined,
): Promise<ExpandedArguments | undefined> {
  const approved = approvedFor(run, call);
  if (approved !== undefined) return approved;
  const { variables, options } = run.tree;
  const expansion = await expandArguments(tool ?? call, call.arguments, variables);
  if (!expansion.ok || expansion.text === undefined) return undefined;
  return storeExpansion(expansion.text, options.blobs);
}

/** Writes the result in one go: all of it is kept, or none. */
async function close(
  run: CallContext,
  call: ToolCallItem,
  result: ToolResultWriter,
  executed: Executed,
): Promise<void> {
  const { task, pool } = run;
  const { child, record } = executed;
  const before = noteOn(run, call);
  const behind = await namedArguments(run, call);
  if (child !== undefined) {
    const { outcome } = executed;
    const { cited, message } = child;
    const text = withoutMarkers(message);
    const named = executed.fromTool && (await namedResult(run, call, outcome, text));
    if (named !== undefined) behind.unshift({ type: "text", text: nameNote(named.name) });
    const status = statusOf[outcome];
    const numbered = pool.last;
    record?.();
    const { content, references } = pool.addChild(call.call_id, cited, message, result.itemId);
    for (const reference of references) task.referenceAdded(reference);
    result.done({
      status,
      outcome,
      content: [...before, ...content, ...behind],
      blocks: false,
      private: { pool: pool.toJson(numbered) },
    });
    return task.update(call.id, { status, outcome });
  }
  const { short, outcome } = await kept(run, call, executed);
  const status = statusOf[outcome];
  const numbered = pool.last;
  record?.();
  const { content, blocks, references } = pool.add(short.output, result.itemId);
  const { written = 0 } = executed;
  result.closeBlock();
  for (const block of blocks.slice(written)) result.block(block);
  const numbers = numbersOf(blocks.slice(0, written));
  const addReferences = (): void => {
    for (const reference of references) task.referenceAdded(reference);
  };
  // A block that was streamed gets its number when the result is done, and can be referred to then.
  if (numbers.size === 0) addReferences();
  result.done({
    ...(status === "completed" ? {} : { status }),
    ...(outcome === "completed" ? {} : { outcome }),
    numbers,
    content: [...before, ...content, ...behind],
    private: {
      pool: pool.toJson(numbered),
      ...(short.whole === undefined ? {} : { whole: short.whole }),
    },
  });
  if (numbers.size > 0) addReferences();
  task.update(call.id, { status, outcome });
}

function numbersOf(blocks: readonly Block[]): ReadonlyMap<number, number> {
  return new Map(
    blocks.flatMap(({ id }, index): [number, number][] => (id === undefined ? [] : [[index, id]])),
  );
}

/** A result whose pictures or whose length the store does not take is told as that. */
async function kept(
  run: CallContext,
  call: ToolCallItem,
  { output, outcome, fromTool, written = 0 }: Executed,
): Promise<{ short: Shortened; outcome: Executed["outcome"] }> {
  const { options, cuts } = run.tree;
  const { blobs } = options;
  try {
    const whole = await readable(output, blobs);
    const named = fromTool && (await namedResult(run, call, outcome, wholeText(whole)));
    const short = await shorten(whole, call.call_id, blobs, { named, cuts });
    await cuts?.stored?.();
    return { short, outcome };
  } catch (error) {
    const text = `The call was run, but its result could not be kept: ${messageOf(error)}`;
    const streamed = written === 0 ? [] : (output as ToolOutput).block_list.slice(0, written);
    const told: ToolOutput = {
      message_content: [{ type: "text", text }],
      block_list: [...streamed.map(withoutGroup), { type: "text", text }],
    };
    return { short: { output: told }, outcome: "failed" };
  }
}

/** The model receives no content that it could cite. */
function withoutGroup(block: ToolBlock): ToolBlock {
  const { id: _id, title: _title, url: _url, ...rest } = block;
  return rest;
}

/** Told to the model before the result. */
function noteOn(run: CallContext, call: ToolCallItem): ContentPart[] {
  const edited = editedArguments(run, call);
  if (edited === undefined) return [];
  return [{ type: "text", text: `The user changed the arguments of this call to ${edited}` }];
}

function unknownTool({ toolset }: CallContext, name: string): string {
  const names = [...toolset.tools.keys()].join(", ");
  return `There is no tool "${name}". ${names === "" ? "There are none." : `There are: ${names}.`}`;
}

function badArguments(tool: Tool, problems: readonly string[]): string {
  return `The call was not run, its arguments are no good:\n${problems.join("\n")}\nThe arguments of ${tool.name} are described by ${JSON.stringify(tool.parameters)}`;
}

/** Lets calls that may run beside others do so, and the rest run alone, in the order in which they came. */
class Lanes {
  #last: Promise<unknown> = Promise.resolve();
  #beside: Promise<unknown>[] = [];

  async run<T>(parallel: boolean, work: () => Promise<T>): Promise<T> {
    if (parallel) {
      const running = this.#last.then(work);
      this.#beside.push(running.catch(() => undefined));
      return running;
    }
    const running = Promise.all([this.#last, ...this.#beside.splice(0)]).then(work);
    this.#last = running.catch(() => undefined);
    return running;
  }
}
