import {
  changedArguments,
  hasEnded,
  statusAfter,
  wholeCharacters,
  type TaskEvent,
  type Usage,
} from "@deltawire/tasks";
import type { CallRecord, ChainRecord, ChainWarning } from "@deltawire/tasks/chats";

/** What is shown of a result's text. */
const longestResult = 4000;

/** What is said of a call that has come to nothing yet. */
const atWork = "in_progress";

/**
 * What the tools of an answer did and what was mended on the way, of the task itself and of those below it, made from the
 * events of its log.
 */
export class ChainRecorder {
  #root: string | undefined;
  readonly #tasks = new Map<string, TaskNotes>();
  readonly #calls = new Map<string, CallNotes>();
  /** By approval. */
  readonly #asked = new Map<string, { call: CallNotes | undefined; isOfResult: boolean }>();
  /** By code and words. */
  readonly #warnings = new Map<string, ChainWarning>();
  #rounds = 0;
  #modelMs = 0;
  #toolMs = 0;

  push(event: TaskEvent): void {
    if (event.type === "task.created") {
      this.#root ??= event.task_id;
      this.#tasks.set(event.task_id, { round: 0, waitedMs: 0, said: "" });
    }
    const task = this.#tasks.get(event.task_id);
    if (task === undefined) return;
    const at = event.ts === undefined ? undefined : Date.parse(event.ts);
    this.#noteStatus(task, event, at);
    switch (event.type) {
      case "task.round.started":
        if (event.round > task.round) this.#rounds += 1;
        task.round = event.round;
        this.#speaks(task, at);
        break;
      case "task.round.done":
        this.#speaks(task, at, "no more");
        break;
      case "task.output_item.done":
        this.#noteItem(task, event);
        break;
      case "task.output_item.retracted":
        for (const [id, { itemId }] of this.#calls)
          if (itemId === event.item_id) this.#calls.delete(id);
        break;
      case "task.output_item.updated": {
        const { outcome } = event.patch;
        for (const call of this.#calls.values())
          if (call.itemId === event.item_id && outcome !== undefined) call.outcome = outcome;
        break;
      }
      case "task.tool_execution.started": {
        const call = this.#calls.get(event.call_id);
        if (call !== undefined) call.startedAt ??= event.ts;
        break;
      }
      case "task.tool_execution.done":
        this.#ran(event);
        break;
      case "task.approval.requested": {
        const { approval_id, call_id = "", kind } = event.approval;
        this.#asked.set(approval_id, {
          call: this.#calls.get(call_id),
          isOfResult: kind === "result",
        });
        break;
      }
      case "task.approval.resolved":
        this.#decided(event.approval_id, event.decision, changedArguments(event));
        break;
      case "task.approval.expired":
        this.#decided(event.approval_id, "expired");
        break;
      case "task.usage.updated":
        task.usage = event.tree_usage ?? event.usage;
        break;
      case "task.failed":
        task.error = { code: event.error.code, message: event.error.message };
        break;
      case "task.expired":
        task.error = { code: "timeout", message: event.reason };
        break;
      case "task.warning":
        this.#warned(event.code, event.message);
        break;
      default:
    }
  }

  record(): ChainRecord {
    const calls = [...this.#calls.values()].map((call) => this.#recordOf(call));
    const outcomes: Record<string, number> = {};
    for (const { outcome } of calls)
      if (outcome !== atWork) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    return {
      calls,
      stats: {
        rounds: this.#rounds,
        calls: calls.length,
        outcomes,
        model_ms: this.#modelMs,
        tool_ms: this.#toolMs,
        waited_ms: this.#tasks.get(this.#root ?? "")?.waitedMs ?? 0,
      },
      ...(this.#warnings.size === 0 ? {} : { warnings: [...this.#warnings.values()] }),
    };
  }

  /** Whoever is above a task that waits for a person waits too: the time of the root's is that of all. */
  #noteStatus(task: TaskNotes, event: TaskEvent, at: number | undefined): void {
    const status = statusAfter(event.type);
    if (status === undefined) return;
    task.waitedMs += since(task.waitsFrom, at);
    task.waitsFrom = undefined;
    if (status === "input_required") task.waitsFrom = at;
    // The time in which no process was there was nobody's.
    if (event.type === "task.working" && event.recovered === true) task.speaksFrom = undefined;
    if (hasEnded(status)) this.#speaks(task, at, "no more");
  }

  #speaks(task: TaskNotes, at: number | undefined, goesOn?: "no more"): void {
    this.#modelMs += since(task.speaksFrom, at);
    task.speaksFrom = goesOn === undefined ? at : undefined;
  }

  #noteItem(task: TaskNotes, event: Extract<TaskEvent, { type: "task.output_item.done" }>): void {
    const { item, task_id } = event;
    if (item.type === "message") task.said = textOf(item.block_list ?? []);
    if (item.type === "tool_call")
      this.#calls.set(item.call_id, {
        itemId: item.id,
        taskId: task_id,
        callId: item.call_id,
        round: task.round,
        name: item.name,
        arguments: item.arguments,
        changedArguments: undefined,
        outcome: atWork,
        result: undefined,
        startedAt: undefined,
        durationMs: undefined,
        error: undefined,
        decisions: [],
        isRefused: false,
      });
    if (item.type !== "tool_result") return;
    const call = this.#calls.get(item.call_id);
    if (call === undefined) return;
    call.outcome = item.outcome ?? "completed";
    // The result of a sub-agent is its last word.
    call.result = textOf(item.block_list ?? []) || this.#tasks.get(item.call_id)?.said;
  }

  #ran(run: Extract<TaskEvent, { type: "task.tool_execution.done" }>): void {
    const { call_id, outcome, duration_ms: tookMs, error } = run;
    const call = this.#calls.get(call_id);
    if (call === undefined) return;
    call.error = error === undefined ? undefined : { code: outcome, message: error };
    const child = this.#tasks.get(call_id);
    call.durationMs = (call.durationMs ?? 0) + Math.max(0, tookMs - (child?.waitedMs ?? 0));
    // The time of a sub-agent is that of its model and its tools.
    if (child === undefined) this.#toolMs += tookMs;
  }

  #decided(approvalId: string, decision: string, changed?: string): void {
    const { call, isOfResult } = this.#asked.get(approvalId) ?? {};
    if (call === undefined) return;
    call.decisions.push(decision);
    if (changed !== undefined) call.changedArguments = changed;
    if (isOfResult === true && decision !== "approve") call.isRefused = true;
  }

  #warned(code: string, message: string): void {
    const key = JSON.stringify([code, message]);
    const { count = 0 } = this.#warnings.get(key) ?? {};
    this.#warnings.set(key, { code, message, count: count + 1 });
  }

  #recordOf(call: CallNotes): CallRecord {
    const { changedArguments: changed, result, startedAt, durationMs, decisions } = call;
    const child = this.#tasks.get(call.callId);
    const usage = child?.usage;
    const isShown = !call.isRefused && call.outcome !== "denied";
    // What a sub-agent did is shown whatever becomes of its last word.
    const error = child === undefined ? (isShown ? call.error : undefined) : child.error;
    return {
      call_id: call.callId,
      ...(call.taskId === this.#root ? {} : { task_id: call.taskId }),
      round: call.round,
      name: call.name,
      arguments: call.arguments,
      ...(changed === undefined ? {} : { changed_arguments: changed }),
      outcome: call.outcome,
      ...(isShown && result !== undefined ? { result: shortened(result) } : {}),
      ...(startedAt === undefined ? {} : { started_at: startedAt }),
      ...(durationMs === undefined ? {} : { duration_ms: durationMs }),
      ...(decisions.length === 0 ? {} : { decisions: [...decisions] }),
      ...(error === undefined ? {} : { error }),
      ...(usage === undefined ? {} : { usage }),
    };
  }
}

type CallError = NonNullable<CallRecord["error"]>;

interface TaskNotes {
  round: number;
  /** Since when its model speaks, and since when it waits for a person; in milliseconds. */
  speaksFrom?: number | undefined;
  waitsFrom?: number | undefined;
  waitedMs: number;
  /** Its last message. */
  said: string;
  error?: CallError;
  /** With that of the tasks below it. */
  usage?: Usage;
}

interface CallNotes {
  readonly itemId: string;
  readonly taskId: string;
  readonly callId: string;
  readonly round: number;
  readonly name: string;
  readonly arguments: string;
  changedArguments: string | undefined;
  outcome: string;
  result: string | undefined;
  startedAt: string | undefined;
  durationMs: number | undefined;
  /** Of its last run. */
  error: CallError | undefined;
  readonly decisions: string[];
  /** A person has refused its result. */
  isRefused: boolean;
}

function since(from: number | undefined, to: number | undefined): number {
  return from === undefined || to === undefined ? 0 : Math.max(0, to - from);
}

function textOf(blocks: readonly { type: string }[]): string {
  const texts = blocks.map((block) => {
    if (block.type === "text") return (block as { text?: string }).text ?? "";
    return block.type === "data" ? JSON.stringify((block as { data?: unknown }).data) : "";
  });
  return texts.filter((text) => text !== "").join("\n");
}

function shortened(text: string): string {
  if (text.length <= longestResult) return text;
  return `${wholeCharacters(text.slice(0, longestResult - 1))}…`;
}
