import type { TaskApproval, TaskWriter } from "@deltawire/tasks";

/**
 * Whether a task can still go on by itself: it needs a person when all that it does waits for one. The writer makes the
 * tasks above it wait and go on with it.
 */
export class Activity {
  readonly #task: TaskWriter;
  readonly #approvalOf: (approvalId: string) => TaskApproval | undefined;
  readonly #signal: AbortSignal;
  /** By what waits: a call, or the task itself. Those that are at work have no approvals. */
  readonly #parts = new Map<string, readonly string[]>();

  constructor(
    task: TaskWriter,
    approvalOf: (approvalId: string) => TaskApproval | undefined,
    signal: AbortSignal,
  ) {
    this.#task = task;
    this.#approvalOf = approvalOf;
    this.#signal = signal;
  }

  /** A part of the task is at work, or waits for these approvals. */
  set(key: string, approvalIds: readonly string[]): void {
    this.#parts.set(key, approvalIds);
    this.#look();
  }

  delete(key: string): void {
    this.#parts.delete(key);
    if (this.#parts.size > 0) this.#look();
  }

  #look(): void {
    // A task that is being stopped waits for nobody.
    if (this.#signal.aborted) return;
    // What has been decided is about to go on.
    const waiting = [...this.#parts.values()].map((ids) => ids.filter((id) => this.#isPending(id)));
    const ids = waiting.flat();
    if (waiting.every((approvals) => approvals.length > 0))
      this.#task.inputRequired(this.#reason(ids), ids);
    else if (this.#task.state.status === "input_required") this.#task.working();
  }

  #isPending(approvalId: string): boolean {
    return this.#approvalOf(approvalId)?.status === "pending";
  }

  #reason([first = ""]: readonly string[]): "approval" | "question" | "limit" | "reconcile" {
    const kind = this.#approvalOf(first)?.kind;
    return kind === undefined || kind === "call" || kind === "result" ? "approval" : kind;
  }
}
