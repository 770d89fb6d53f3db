import type { TaskApproval, TaskWriter } from "@deltawire/tasks";

/**
 * Switches a task between working and waiting for a user. It waits when all of its parts wait for approvals. The writer updates
 * its parent tasks accordingly.
 */
export class Activity {
  readonly #task: TaskWriter;
  readonly #findApproval: (approvalId: string) => TaskApproval | undefined;
  readonly #signal: AbortSignal;
  /** Ids of the approvals that each part waits for, by call id or task id. Empty for a part that is working. */
  readonly #parts = new Map<string, readonly string[]>();

  constructor(
    task: TaskWriter,
    findApproval: (approvalId: string) => TaskApproval | undefined,
    signal: AbortSignal,
  ) {
    this.#task = task;
    this.#findApproval = findApproval;
    this.#signal = signal;
  }

  /** Marks a part of the task as working, or as waiting for these approvals. */
  set(key: string, approvalIds: readonly string[]): void {
    this.#parts.set(key, approvalIds);
    this.#update();
  }

  delete(key: string): void {
    this.#parts.delete(key);
    if (this.#parts.size > 0) this.#update();
  }

  #update(): void {
    // A task that is being stopped does not wait.
    if (this.#signal.aborted) return;
    // A part whose approvals are decided is about to continue.
    const pendingByPart = [...this.#parts.values()].map((ids) =>
      ids.filter((id) => this.#isPending(id)),
    );
    const pendingIds = pendingByPart.flat();
    if (pendingByPart.every((ids) => ids.length > 0))
      this.#task.inputRequired(this.#getReason(pendingIds), pendingIds);
    else if (this.#task.state.status === "input_required") this.#task.working();
  }

  #isPending(approvalId: string): boolean {
    return this.#findApproval(approvalId)?.status === "pending";
  }

  #getReason([firstId = ""]: readonly string[]): "approval" | "question" | "limit" | "reconcile" {
    const kind = this.#findApproval(firstId)?.kind;
    return kind === undefined || kind === "call" || kind === "result" ? "approval" : kind;
  }
}
