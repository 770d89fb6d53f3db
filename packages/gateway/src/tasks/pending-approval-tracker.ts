import type { TaskEvent } from "@deltawire/tasks";

/** Tracks whether a root task is waiting for approvals. */
export class PendingApprovalTracker {
  #rootTaskId = "";
  #needsInput = false;
  readonly #pendingIds = new Set<string>();
  /** Tasks that received a decision and have not continued yet. */
  readonly #answeredTasks = new Set<string>();

  push(event: TaskEvent): void {
    const { task_id: taskId } = event;
    if (this.#rootTaskId === "") this.#rootTaskId = taskId;
    switch (event.type) {
      case "task.approval.requested":
        this.#pendingIds.add(event.approval.approval_id);
        return;
      case "task.approval.resolved":
      case "task.approval.expired":
        this.#pendingIds.delete(event.approval_id);
        this.#answeredTasks.add(taskId);
        return;
      case "task.input_required":
        if (taskId === this.#rootTaskId) this.#needsInput = true;
        return;
      case "task.working":
        if (taskId === this.#rootTaskId) this.#needsInput = false;
        break;
      default:
    }
    this.#answeredTasks.delete(taskId);
  }

  /** True if the root task cannot continue without a decision. */
  get isWaiting(): boolean {
    return this.#needsInput && this.#pendingIds.size > 0 && this.#answeredTasks.size === 0;
  }

  /** Ids of the pending approvals. */
  get approvalIds(): string[] {
    return [...this.#pendingIds];
  }
}
