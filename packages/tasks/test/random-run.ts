import { createHash } from "node:crypto";
import {
  argumentsHash,
  emptyTree,
  reduce,
  ReferencePool,
  TreeWriter,
  type Block,
  type Decision,
  type Effect,
  type LogEntry,
  type MessageWriter,
  type Outcome,
  type TaskEvent,
  type TaskTree,
  type TaskWriter,
  type TreeWriterOptions,
} from "@deltawire/tasks";
import fc from "fast-check";
import { Choices } from "./choices.ts";
import { cancelTask, settleTask } from "./settle-task.ts";

/*
 * Legal runs of every kind, made by the writer: what an agent runtime might do, and what might happen to it. A run is a
 * function of a list of numbers, which decide wherever there is a choice, so that a failing one shrinks. When they are
 * used up, every choice is the first one, which leads to the end.
 */

export interface Run {
  entries: LogEntry[];
  events: TaskEvent[];
  state: TaskTree;
}

const numbers = fc.array(fc.nat({ max: 0xffff }), { minLength: 100, maxLength: 400, size: "max" });

export const randomRun: fc.Arbitrary<Run> = numbers.map((choices) =>
  runOf(choices, "task_root", new Ids()),
);

/** Two of the same session. */
export const randomSession: fc.Arbitrary<[Run, Run]> = fc
  .tuple(numbers, numbers)
  .map(([one, other]) => {
    const ids = new Ids();
    return [runOf(one, "task_one", ids), runOf(other, "task_other", ids)];
  });

function runOf(choices: readonly number[], rootTaskId: string, ids: Ids): Run {
  const run = new Driver(choices, rootTaskId, ids).run();
  const lines = () => `\n${run.entries.map(({ json }) => json.slice(0, 240)).join("\n")}\n`;
  return Object.assign(run, { [fc.toStringMethod]: lines });
}

/** The event types that tests of coverage ask for. */
export function typesIn(run: Run): Set<string> {
  return new Set(run.events.map(({ type }) => type));
}

/** The platform's own, which is faster than ours. */
export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Of which none comes twice, as long as they are taken from here. */
class Ids {
  count = 0;

  next(prefix: string): string {
    this.count += 1;
    return `${prefix}_${this.count}`;
  }
}

/** Some providers number their calls anew in every reply. */
export function providersIds(at: number): { call_id: string; id: string } {
  return { call_id: `provider_call_${at}`, id: `provider_item_${at}` };
}

type Steps = Generator<undefined, void, undefined>;

interface DrivenTask {
  writer: TaskWriter;
  depth: number;
  pool: ReferencePool;
  rounds: number;
  tokens: number;
  message: string;
  aborted: boolean;
}

interface DrivenCall {
  callId: string;
  itemId: string;
  arguments: string;
  whole: boolean;
}

const maxDepth = 3;

const effects: Effect[] = ["pure", "idempotent", "once"];
const outcomes: Outcome[] = ["completed", "failed", "timeout", "canceled", "unknown"];

class Driver {
  readonly #any: Choices;
  readonly #ids: Ids;
  readonly #rootTaskId: string;
  readonly #entries: LogEntry[] = [];
  readonly #options: TreeWriterOptions;
  #tree: TreeWriter;

  constructor(choices: readonly number[], rootTaskId: string, ids: Ids) {
    this.#any = new Choices(choices);
    this.#ids = ids;
    this.#rootTaskId = rootTaskId;
    this.#options = {
      newId: (prefix) => ids.next(prefix),
      now: () => `2026-01-01T00:00:${String(ids.count % 60).padStart(2, "0")}.000Z`,
      emit: (entry) => this.#entries.push(entry),
      sha256,
      ...(this.#any.pick(3) === 1 ? { include: ["content"] } : {}),
    };
    this.#tree = new TreeWriter(this.#options);
  }

  run(): Run {
    const root = this.#newTask(this.#rootTaskId, {}, 0);
    const steps = this.#task(root);
    // How many steps it may take before somebody cancels it, or the process dies.
    const allowed = this.#any.pick(3) === 1 ? this.#any.pick(60) : Infinity;
    let taken = 0;
    while (taken < allowed && steps.next().done !== true) taken += 1;
    if (taken === allowed) this.#interrupted(root);
    const events = this.#entries.map(({ event }) => event);
    return { entries: this.#entries, events, state: this.#tree.state };
  }

  /** Cancelled by the same process, or after its crash taken up by another, which cancels it or brings it to its end. */
  #interrupted(root: DrivenTask): void {
    const state = this.#tree.state.tasks[root.writer.taskId];
    if (state?.status === "completed" || state?.status === "canceled") return;
    if (this.#any.pick(2) === 1) {
      // What was not written in time is lost.
      this.#entries.splice(Math.max(1, this.#entries.length - this.#any.pick(30)));
      const events = this.#entries.map(({ json }) => JSON.parse(json) as TaskEvent);
      const kept = JSON.parse(JSON.stringify(reduce(emptyTree, events))) as TaskTree;
      this.#tree = new TreeWriter(this.#options, kept);
      root.writer = this.#tree.task(root.writer.taskId);
      root.writer.working({ recovered: true, epoch: 1 });
      if (!root.aborted && this.#any.pick(2) === 1) {
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
    return { writer, depth, pool, rounds: 0, tokens: 0, message: "", aborted: false };
  }

  *#task(task: DrivenTask): Steps {
    const { writer } = task;
    if (this.#any.pick(4) === 1) writer.queued(this.#any.pick(5));
    writer.working();
    if (this.#any.pick(8) === 1) {
      writer.paused("user");
      yield;
      writer.working();
    }
    const rounds = 1 + this.#any.pick(3);
    for (let round = 1; round <= rounds; round += 1) {
      if (this.#any.pick(5) === 1) this.#aside(task);
      const calls: DrivenCall[] = [];
      if (this.#any.pick(6) === 1) yield* this.#cutRound(task, round);
      yield* this.#round(task, round, calls);
      yield* this.#interleaved(calls.map((call) => this.#call(task, call)));
      if (task.aborted) {
        this.#cancel(task);
        return;
      }
    }
    yield;
    const usage = this.#usage(task);
    if (this.#any.pick(8) === 1)
      writer.failed({ code: "upstream", message: "gone", retryable: true }, usage);
    else if (this.#any.pick(12) === 1) writer.expired("time", usage);
    else writer.completed(usage);
  }

  #aside(task: DrivenTask): void {
    const { writer } = task;
    writer.warning("retry", "asked again", { attempt: 2, retry_in_ms: 10 });
    const content = [{ type: "text" as const, text: "And tomorrow?" }];
    const delivery = this.#any.pick(2) === 1 ? "steer" : "queue";
    writer.inputAdded(
      { type: "message", id: this.#ids.next("in"), role: "user", content },
      delivery,
    );
    writer.compression("created", { before_tokens: 1000 });
    writer.compression("in_progress");
    writer.compression("completed", { after_tokens: 100 });
  }

  /** The model is cut off, and what it said is taken back. */
  *#cutRound(task: DrivenTask, round: number): Steps {
    const { writer } = task;
    writer.roundStarted(round, "model");
    const from = writer.state.output.length;
    const reasoning = writer.reasoning();
    reasoning.summaryDelta("Let me ");
    if (this.#any.pick(2) === 1) reasoning.done();
    yield;
    if (this.#any.pick(2) === 1) writer.message().delta("Half a sen");
    if (this.#any.pick(2) === 1)
      writer.toolCall(this.#ids.next("call"), "tool").argumentsDelta('{"a');
    yield;
    for (const item of writer.state.output.slice(from)) writer.retract(item.id, "cut");
  }

  *#round(task: DrivenTask, round: number, calls: DrivenCall[]): Steps {
    const { writer } = task;
    writer.roundStarted(round, "model");
    const cut = this.#any.pick(10) === 1;
    const end = cut ? { status: "incomplete" as const } : {};
    if (this.#any.pick(2) === 1) {
      const reasoning = writer.reasoning();
      for (let parts = this.#any.pick(3); parts > 0; parts -= 1) {
        for (let n = 1 + this.#any.pick(3); n > 0; n -= 1) reasoning.summaryDelta(this.#any.word());
        yield;
        reasoning.summaryDone();
      }
      if (this.#any.pick(4) === 1) reasoning.rawDelta(this.#any.word());
      const took = this.#any.pick(2) === 1 ? { durationMs: this.#any.pick(5000) } : {};
      reasoning.done({ ...end, ...took, private: { signature: "s" } });
    }
    if (this.#any.pick(4) === 1) writer.roundProgress(round, this.#any.word(), 0.5);
    if (this.#any.pick(2) === 1) task.message = yield* this.#message(writer.message(), end);
    const open = Array.from({ length: this.#any.pick(4) }, (_, at) => {
      const callId = this.#ids.next("call");
      const call = writer.toolCall(callId, "tool");
      return { call, args: `{"city":"${callId} 😀"}`, private: providersIds(at) };
    });
    for (const { call, args, private: theirs } of open) {
      for (const piece of args.match(/.{1,5}/gs) ?? []) call.argumentsDelta(piece);
      yield;
      const whole = !cut && this.#any.pick(8) !== 1;
      call.done(args, { private: theirs, ...(whole ? {} : { status: "incomplete" as const }) });
      calls.push({ callId: call.callId, itemId: call.itemId, arguments: args, whole });
    }
    writer.roundDone(round, cut ? "length" : "stop", this.#usage(task));
    task.rounds = round;
    writer.usageUpdated(this.#usage(task), this.#usage(task));
  }

  *#message(message: MessageWriter, end: { status?: "incomplete" }): Generator<undefined, string> {
    let said = "";
    for (let blocks = this.#any.pick(3); blocks > 0; blocks -= 1) {
      let text = "";
      for (let n = this.#any.pick(8); n > 0; n -= 1) text += this.#any.word();
      said += text;
      if (this.#any.pick(2) === 1) {
        message.text(text);
      } else {
        for (let at = 0; at < text.length;) {
          const length = text.length > 300 ? 299 : 1 + this.#any.pick(12);
          message.delta(text.slice(at, at + length));
          at += length;
        }
        message.textDone();
      }
      yield;
      if (this.#any.pick(6) === 1) message.block(this.#any.image());
    }
    message.done({ ...end, content: [{ type: "text", text: "said" }] });
    return said;
  }

  *#call(task: DrivenTask, call: DrivenCall): Steps {
    const { writer } = task;
    if (!call.whole) {
      this.#answer(task, call, "incomplete");
      return;
    }
    const asked = this.#any.pick(2) === 1 ? yield* this.#approval(task, call) : "approve";
    if (task.aborted) return;
    if (asked !== "approve") {
      this.#answer(task, call, "denied");
    } else if (task.depth < maxDepth && this.#any.pick(2) === 1) {
      yield* this.#subAgent(task, call);
    } else {
      writer.update(call.itemId, { status: "executing" });
      const outcome = yield* this.#execution(task, call);
      if (task.aborted) return;
      const released = this.#any.pick(4) !== 1 || (yield* this.#resultApproval(task, call));
      if (!task.aborted) this.#answer(task, call, released ? outcome : "denied");
    }
  }

  *#approval(task: DrivenTask, call: DrivenCall): Generator<undefined, Decision | "expire"> {
    const { writer } = task;
    const approval_id = this.#ids.next("ap");
    writer.approvalRequested({
      approval_id,
      kind: "call",
      call_id: call.callId,
      args_hash: argumentsHash(call.arguments),
      choices: ["approve", "deny", "abort"],
      scopes: ["once", "session"],
      any_arguments: true,
      tool: "tool",
    });
    writer.update(call.itemId, { status: "awaiting_approval" });
    if (this.#any.pick(2) === 1) writer.inputRequired("approval", [approval_id]);
    yield;
    if (task.aborted) return "abort";
    const decision = this.#any.of<Decision | "expire">([
      "approve",
      "approve",
      "deny",
      "expire",
      "abort",
    ]);
    if (decision === "expire") {
      writer.approvalExpired(approval_id);
    } else {
      const scope = this.#any.pick(2) === 1 ? "session" : "once";
      const edited = decision === "approve" && this.#any.pick(2) === 1;
      if (edited) call.arguments = '{"city":"Rome"}';
      writer.approvalResolved(approval_id, {
        decision,
        by: "user",
        scope,
        ...(edited ? { arguments: call.arguments } : {}),
        ...(decision === "deny" ? { reason: "not now" } : {}),
      });
    }
    if (decision === "abort") task.aborted = true;
    else writer.working();
    return decision;
  }

  *#resultApproval(task: DrivenTask, call: DrivenCall): Generator<undefined, boolean> {
    const { writer } = task;
    const approval_id = this.#ids.next("ap");
    const block_list: Block[] = [{ type: "text", text: "held" }];
    const choices: Decision[] = ["approve", "redact", "deny"];
    writer.approvalRequested({
      approval_id,
      kind: "result",
      call_id: call.callId,
      choices,
      block_list,
    });
    writer.inputRequired("approval", [approval_id]);
    yield;
    if (task.aborted) return false;
    const decision = this.#any.of(choices);
    writer.approvalResolved(approval_id, { decision, by: "user", scope: "once" });
    writer.working();
    return decision === "approve";
  }

  *#execution(task: DrivenTask, call: DrivenCall): Generator<undefined, Outcome> {
    const { writer } = task;
    const effect = this.#any.of(effects);
    const { callId: call_id } = call;
    const attempts = effect === "once" ? 1 : 1 + this.#any.pick(2);
    let execution_id = "";
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      execution_id = this.#ids.next("ex");
      writer.executionStarted({
        call_id,
        execution_id,
        attempt,
        args_hash: argumentsHash(call.arguments),
        effect,
        idempotency_key: `key_${call_id}`,
      });
      yield;
      if (task.aborted) return "canceled";
      if (this.#any.pick(3) === 1) writer.executionProgress(call_id, execution_id, "half", 0.5);
      if (attempt < attempts && this.#any.pick(2) === 1)
        writer.executionDone(call_id, execution_id, "failed", 5, "try again");
    }
    const outcome = this.#any.of(outcomes);
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
      if (task.aborted) return;
    }
    const cited = child.pool.cited(child.message);
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

  #answer(task: DrivenTask, call: DrivenCall, outcome: Outcome): void {
    const { writer, pool } = task;
    const result = writer.toolResult(call.callId);
    const { content, blocks, references } = pool.add(this.#any.output(), result.itemId);
    for (const block of blocks) {
      if (block.type === "image" && this.#any.pick(3) === 1) result.partialImage(block);
      result.block(block);
    }
    for (const reference of references) writer.referenceAdded(reference);
    const status =
      outcome === "completed" ? "completed" : outcome === "denied" ? "denied" : "failed";
    result.done({ status, outcome, content });
    writer.update(call.itemId, { status, outcome });
  }

  /** Any of them may take the next step. */
  *#interleaved(all: Steps[]): Steps {
    const going = [...all];
    while (going.length > 0) {
      const at = this.#any.pick(going.length);
      if (going[at]?.next().done === true) going.splice(at, 1);
      yield;
    }
  }

  #cancel({ writer }: DrivenTask): void {
    cancelTask(this.#tree, writer, this.#any.pick(2) === 1 ? "enough" : undefined);
  }

  #usage(task: DrivenTask) {
    task.tokens += this.#any.pick(100);
    const { tokens } = task;
    return { input_tokens: tokens, output_tokens: tokens, total_tokens: 2 * tokens };
  }
}
