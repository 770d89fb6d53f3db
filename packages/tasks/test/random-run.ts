import { createHash } from "node:crypto";
import {
  hashArguments,
  emptyTree,
  reduce,
  ReferencePool,
  TreeWriter,
  type Block,
  type ApprovalDecision,
  type ToolEffect,
  type LogEntry,
  type MessageWriter,
  type CallOutcome,
  type TaskEvent,
  type TaskTree,
  type TaskWriter,
  type TreeWriterOptions,
} from "@deltawire/tasks";
import fc from "fast-check";
import { Choices } from "./scripted-choices.ts";
import { cancelTask, settleTask } from "./close-task.ts";

/*
 * Random valid runs that the writer produces. They do everything that an agent runtime may do, with crashes and cancellations.
 * A run is a function of a list of numbers, one for each choice, so that fast-check can shrink a failing run. When the numbers
 * are used up, every choice is the first one, which ends the run.
 */

export interface Run {
  entries: LogEntry[];
  events: TaskEvent[];
  state: TaskTree;
}

const numbers = fc.array(fc.nat({ max: 0xffff }), { minLength: 100, maxLength: 400, size: "max" });

export const randomRun: fc.Arbitrary<Run> = numbers.map((choices) =>
  buildRun(choices, "task_root", new Ids()),
);

/** Two runs of the same session. */
export const randomSession: fc.Arbitrary<[Run, Run]> = fc
  .tuple(numbers, numbers)
  .map(([one, other]) => {
    const ids = new Ids();
    return [buildRun(one, "task_one", ids), buildRun(other, "task_other", ids)];
  });

function buildRun(choices: readonly number[], rootTaskId: string, ids: Ids): Run {
  const run = new Driver(choices, rootTaskId, ids).run();
  const lines = () => `\n${run.entries.map(({ json }) => json.slice(0, 240)).join("\n")}\n`;
  return Object.assign(run, { [fc.toStringMethod]: lines });
}

/** Returns the event types of a run. */
export function collectTypes(run: Run): Set<string> {
  return new Set(run.events.map(({ type }) => type));
}

/** SHA-256 of Node, which is faster than ours. */
export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Generates unique ids. */
class Ids {
  count = 0;

  next(prefix: string): string {
    this.count += 1;
    return `${prefix}_${this.count}`;
  }
}

/** Some providers restart the numbering of calls in every reply. */
export function providerIds(index: number): { call_id: string; id: string } {
  return { call_id: `provider_call_${index}`, id: `provider_item_${index}` };
}

type Steps = Generator<undefined, void, undefined>;

interface DrivenTask {
  writer: TaskWriter;
  depth: number;
  pool: ReferencePool;
  rounds: number;
  tokens: number;
  message: string;
  isAborted: boolean;
}

interface DrivenCall {
  callId: string;
  itemId: string;
  arguments: string;
  isComplete: boolean;
}

const maxDepth = 3;

const effects: ToolEffect[] = ["pure", "idempotent", "once"];
const outcomes: CallOutcome[] = ["completed", "failed", "timeout", "canceled", "unknown"];

class Driver {
  readonly #choices: Choices;
  readonly #ids: Ids;
  readonly #rootTaskId: string;
  readonly #entries: LogEntry[] = [];
  readonly #options: TreeWriterOptions;
  #tree: TreeWriter;

  constructor(choices: readonly number[], rootTaskId: string, ids: Ids) {
    this.#choices = new Choices(choices);
    this.#ids = ids;
    this.#rootTaskId = rootTaskId;
    this.#options = {
      newId: (prefix) => ids.next(prefix),
      now: () => `2026-01-01T00:00:${String(ids.count % 60).padStart(2, "0")}.000Z`,
      emit: (entry) => this.#entries.push(entry),
      sha256,
      ...(this.#choices.pick(3) === 1 ? { include: ["content"] } : {}),
    };
    this.#tree = new TreeWriter(this.#options);
  }

  run(): Run {
    const root = this.#newTask(this.#rootTaskId, {}, 0);
    const rootSteps = this.#task(root);
    // Number of steps before the run is canceled or the process crashes.
    const maxSteps = this.#choices.pick(3) === 1 ? this.#choices.pick(60) : Infinity;
    let steps = 0;
    while (steps < maxSteps && rootSteps.next().done !== true) steps += 1;
    if (steps === maxSteps) this.#interrupt(root);
    const events = this.#entries.map(({ event }) => event);
    return { entries: this.#entries, events, state: this.#tree.state };
  }

  /** The run is canceled by the same process, or crashes and is resumed by another one, which cancels or completes it. */
  #interrupt(root: DrivenTask): void {
    const state = this.#tree.state.tasks[root.writer.taskId];
    if (state?.status === "completed" || state?.status === "canceled") return;
    if (this.#choices.pick(2) === 1) {
      // The last events were not written before the crash.
      this.#entries.splice(Math.max(1, this.#entries.length - this.#choices.pick(30)));
      const events = this.#entries.map(({ json }) => JSON.parse(json) as TaskEvent);
      const restored = JSON.parse(JSON.stringify(reduce(emptyTree, events))) as TaskTree;
      this.#tree = new TreeWriter(this.#options, restored);
      root.writer = this.#tree.task(root.writer.taskId);
      root.writer.working({ recovered: true, epoch: 1 });
      if (!root.isAborted && this.#choices.pick(2) === 1) {
        settleTask(this.#tree, root.writer);
        const { round, round_done } = root.writer.state;
        root.rounds = round_done ? round : round - 1;
        root.writer.roundStarted(root.rounds + 1, "model");
        root.writer.message().done();
        root.writer.roundDone(root.rounds + 1, "stop", this.#usage(root));
        return root.writer.completed(this.#usage(root));
      }
    }
    this.#cancel(root);
  }

  #newTask(taskId: string, parent: { parent_task_id?: string }, depth: number): DrivenTask {
    const { parent_task_id } = parent;
    const above = parent_task_id === undefined ? {} : { parent_task_id, parent_call_id: taskId };
    const root_task_id = this.#rootTaskId;
    const info = { root_task_id, attempt: 1, depth, agent: "agent", model: "model" };
    const writer = this.#tree.create(taskId, { ...info, ...above, limits: { rounds: 10 } });
    const pool = new ReferencePool();
    return { writer, depth, pool, rounds: 0, tokens: 0, message: "", isAborted: false };
  }

  *#task(task: DrivenTask): Steps {
    const { writer } = task;
    if (this.#choices.pick(4) === 1) writer.queued(this.#choices.pick(5));
    writer.working();
    if (this.#choices.pick(8) === 1) {
      writer.paused("user");
      yield;
      writer.working();
    }
    const rounds = 1 + this.#choices.pick(3);
    for (let round = 1; round <= rounds; round += 1) {
      if (this.#choices.pick(5) === 1) this.#sideEvents(task);
      const calls: DrivenCall[] = [];
      if (this.#choices.pick(6) === 1) yield* this.#cutRound(task, round);
      yield* this.#round(task, round, calls);
      yield* this.#interleave(calls.map((call) => this.#call(task, call)));
      if (task.isAborted) {
        this.#cancel(task);
        return;
      }
    }
    yield;
    const usage = this.#usage(task);
    if (this.#choices.pick(8) === 1)
      writer.failed({ code: "upstream", message: "gone", retryable: true }, usage);
    else if (this.#choices.pick(12) === 1) writer.expired("time", usage);
    else writer.completed(usage);
  }

  #sideEvents(task: DrivenTask): void {
    const { writer } = task;
    writer.warning("retry", "asked again", { attempt: 2, retry_in_ms: 10 });
    const content = [{ type: "text" as const, text: "And tomorrow?" }];
    const delivery = this.#choices.pick(2) === 1 ? "steer" : "queue";
    writer.inputAdded(
      { type: "message", id: this.#ids.next("in"), role: "user", content },
      delivery,
    );
    writer.compaction("created", { before_tokens: 1000 });
    writer.compaction("in_progress");
    writer.compaction("completed", { after_tokens: 100 });
  }

  /** The model is cut off, and its items are retracted. */
  *#cutRound(task: DrivenTask, round: number): Steps {
    const { writer } = task;
    writer.roundStarted(round, "model");
    const from = writer.state.output.length;
    const reasoning = writer.reasoning();
    reasoning.summaryDelta("Let me ");
    if (this.#choices.pick(2) === 1) reasoning.done();
    yield;
    if (this.#choices.pick(2) === 1) writer.message().delta("Half a sen");
    if (this.#choices.pick(2) === 1)
      writer.toolCall(this.#ids.next("call"), "tool").argumentsDelta('{"a');
    yield;
    for (const item of writer.state.output.slice(from)) writer.retract(item.id, "cut");
  }

  *#round(task: DrivenTask, round: number, calls: DrivenCall[]): Steps {
    const { writer } = task;
    writer.roundStarted(round, "model");
    const cut = this.#choices.pick(10) === 1;
    const end = cut ? { status: "incomplete" as const } : {};
    if (this.#choices.pick(2) === 1) {
      const reasoning = writer.reasoning();
      for (let parts = this.#choices.pick(3); parts > 0; parts -= 1) {
        for (let n = 1 + this.#choices.pick(3); n > 0; n -= 1)
          reasoning.summaryDelta(this.#choices.word());
        yield;
        reasoning.summaryDone();
      }
      if (this.#choices.pick(4) === 1) reasoning.rawDelta(this.#choices.word());
      const took = this.#choices.pick(2) === 1 ? { durationMs: this.#choices.pick(5000) } : {};
      reasoning.done({ ...end, ...took, private: { signature: "s" } });
    }
    if (this.#choices.pick(4) === 1) writer.roundProgress(round, this.#choices.word(), 0.5);
    if (this.#choices.pick(2) === 1) task.message = yield* this.#message(writer.message(), end);
    const openCalls = Array.from({ length: this.#choices.pick(4) }, (_, index) => {
      const callId = this.#ids.next("call");
      const call = writer.toolCall(callId, "tool");
      return { call, args: `{"city":"${callId} 😀"}`, private: providerIds(index) };
    });
    for (const { call, args, private: providerData } of openCalls) {
      for (const piece of args.match(/.{1,5}/gs) ?? []) call.argumentsDelta(piece);
      yield;
      const isComplete = !cut && this.#choices.pick(8) !== 1;
      call.done(args, {
        private: providerData,
        ...(isComplete ? {} : { status: "incomplete" as const }),
      });
      calls.push({ callId: call.callId, itemId: call.itemId, arguments: args, isComplete });
    }
    writer.roundDone(round, cut ? "length" : "stop", this.#usage(task));
    task.rounds = round;
    writer.usageUpdated(this.#usage(task), this.#usage(task));
  }

  *#message(message: MessageWriter, end: { status?: "incomplete" }): Generator<undefined, string> {
    let fullText = "";
    for (let blocks = this.#choices.pick(3); blocks > 0; blocks -= 1) {
      let text = "";
      for (let n = this.#choices.pick(8); n > 0; n -= 1) text += this.#choices.word();
      fullText += text;
      if (this.#choices.pick(2) === 1) {
        message.text(text);
      } else {
        for (let index = 0; index < text.length;) {
          const length = text.length > 300 ? 299 : 1 + this.#choices.pick(12);
          message.delta(text.slice(index, index + length));
          index += length;
        }
        message.textDone();
      }
      yield;
      if (this.#choices.pick(6) === 1) message.block(this.#choices.image());
    }
    message.done({ ...end, content: [{ type: "text", text: "said" }] });
    return fullText;
  }

  *#call(task: DrivenTask, call: DrivenCall): Steps {
    const { writer } = task;
    if (!call.isComplete) {
      this.#writeResult(task, call, "incomplete");
      return;
    }
    const decision = this.#choices.pick(2) === 1 ? yield* this.#approval(task, call) : "approve";
    if (task.isAborted) return;
    if (decision !== "approve") {
      this.#writeResult(task, call, "denied");
    } else if (task.depth < maxDepth && this.#choices.pick(2) === 1) {
      yield* this.#subAgent(task, call);
    } else {
      writer.update(call.itemId, { status: "executing" });
      const outcome = yield* this.#execution(task, call);
      if (task.isAborted) return;
      const released = this.#choices.pick(4) !== 1 || (yield* this.#resultApproval(task, call));
      if (!task.isAborted) this.#writeResult(task, call, released ? outcome : "denied");
    }
  }

  *#approval(
    task: DrivenTask,
    call: DrivenCall,
  ): Generator<undefined, ApprovalDecision | "expire"> {
    const { writer } = task;
    const approval_id = this.#ids.next("ap");
    writer.approvalRequested({
      approval_id,
      kind: "call",
      call_id: call.callId,
      args_hash: hashArguments(call.arguments),
      choices: ["approve", "deny", "abort"],
      scopes: ["once", "session"],
      any_arguments: true,
      tool: "tool",
    });
    writer.update(call.itemId, { status: "awaiting_approval" });
    if (this.#choices.pick(2) === 1) writer.inputRequired("approval", [approval_id]);
    yield;
    if (task.isAborted) return "abort";
    const decision = this.#choices.of<ApprovalDecision | "expire">([
      "approve",
      "approve",
      "deny",
      "expire",
      "abort",
    ]);
    if (decision === "expire") {
      writer.approvalExpired(approval_id);
    } else {
      const scope = this.#choices.pick(2) === 1 ? "session" : "once";
      const edited = decision === "approve" && this.#choices.pick(2) === 1;
      if (edited) call.arguments = '{"city":"Rome"}';
      writer.approvalResolved(approval_id, {
        decision,
        by: "user",
        scope,
        ...(edited ? { arguments: call.arguments } : {}),
        ...(decision === "deny" ? { reason: "not now" } : {}),
      });
    }
    if (decision === "abort") task.isAborted = true;
    else writer.working();
    return decision;
  }

  *#resultApproval(task: DrivenTask, call: DrivenCall): Generator<undefined, boolean> {
    const { writer } = task;
    const approval_id = this.#ids.next("ap");
    const block_list: Block[] = [{ type: "text", text: "held" }];
    const choices: ApprovalDecision[] = ["approve", "redact", "deny"];
    writer.approvalRequested({
      approval_id,
      kind: "result",
      call_id: call.callId,
      choices,
      block_list,
    });
    writer.inputRequired("approval", [approval_id]);
    yield;
    if (task.isAborted) return false;
    const decision = this.#choices.of(choices);
    writer.approvalResolved(approval_id, { decision, by: "user", scope: "once" });
    writer.working();
    return decision === "approve";
  }

  *#execution(task: DrivenTask, call: DrivenCall): Generator<undefined, CallOutcome> {
    const { writer } = task;
    const effect = this.#choices.of(effects);
    const { callId: call_id } = call;
    const attempts = effect === "once" ? 1 : 1 + this.#choices.pick(2);
    let execution_id = "";
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      execution_id = this.#ids.next("ex");
      writer.executionStarted({
        call_id,
        execution_id,
        attempt,
        args_hash: hashArguments(call.arguments),
        effect,
        idempotency_key: `key_${call_id}`,
      });
      yield;
      if (task.isAborted) return "canceled";
      if (this.#choices.pick(3) === 1) writer.executionProgress(call_id, execution_id, "half", 0.5);
      if (attempt < attempts && this.#choices.pick(2) === 1)
        writer.executionDone(call_id, execution_id, "failed", 5, "try again");
    }
    const outcome = this.#choices.of(outcomes);
    writer.executionDone(call_id, execution_id, outcome, 12);
    return outcome;
  }

  *#subAgent(task: DrivenTask, call: DrivenCall): Steps {
    const { writer } = task;
    const { taskId } = writer;
    writer.update(call.itemId, { status: "executing", child_task_ids: [call.callId] });
    const result = writer.toolResult(call.callId);
    const child = this.#newTask(call.callId, { parent_task_id: taskId }, task.depth + 1);
    const steps = this.#task(child);
    while (steps.next().done !== true) {
      yield;
      if (task.isAborted) return;
    }
    const cited = child.pool.findCitedGroups(child.message);
    const { content, references } = task.pool.addChild(
      call.callId,
      cited,
      child.message,
      result.itemId,
    );
    for (const reference of references) writer.referenceAdded(reference);
    result.done({ content, outcome: "completed" });
    writer.update(call.itemId, { status: "completed", outcome: "completed" });
  }

  #writeResult(task: DrivenTask, call: DrivenCall, outcome: CallOutcome): void {
    const { writer, pool } = task;
    const result = writer.toolResult(call.callId);
    const { content, blocks, references } = pool.add(this.#choices.output(), result.itemId);
    for (const block of blocks) {
      if (block.type === "image" && this.#choices.pick(3) === 1) result.partialImage(block);
      result.block(block);
    }
    for (const reference of references) writer.referenceAdded(reference);
    const status =
      outcome === "completed" ? "completed" : outcome === "denied" ? "denied" : "failed";
    result.done({ status, outcome, content });
    writer.update(call.itemId, { status, outcome });
  }

  /** Runs all of the steps, randomly interleaved. */
  *#interleave(all: Steps[]): Steps {
    const running = [...all];
    while (running.length > 0) {
      const index = this.#choices.pick(running.length);
      if (running[index]?.next().done === true) running.splice(index, 1);
      yield;
    }
  }

  #cancel({ writer }: DrivenTask): void {
    cancelTask(this.#tree, writer, this.#choices.pick(2) === 1 ? "enough" : undefined);
  }

  #usage(task: DrivenTask) {
    task.tokens += this.#choices.pick(100);
    const { tokens } = task;
    return { input_tokens: tokens, output_tokens: tokens, total_tokens: 2 * tokens };
  }
}
