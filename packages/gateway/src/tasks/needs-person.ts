import type { TaskEvent } from "@deltawire/tasks";

/** Whether a root task waits for people, as of the events so far. */
export class NeedsPerson {
  #root = "";
  #waits = false;
  readonly #pending = new Set<string>();
  /** Tasks that were given an answer and have not done anything with it yet. */
  readonly #answered = new Set<string>();

  push(event: TaskEvent): void {
    const { task_id: taskId } = event;
    if (this.#root === "") this.#root = taskId;
    switch (event.type) {
      case "task.approval.requested":
        this.#pending.add(event.approval.approval_id);
        return;
      case "task.approval.resolved":
      case "task.approval.expired":
        this.#pending.delete(event.approval_id);
        this.#answered.add(taskId);
        return;
      case "task.input_required":
        if (taskId === this.#root) this.#waits = true;
        return;
      case "task.working":
        if (taskId === this.#root) this.#waits = false;
        break;
      default:
    }
    this.#answered.delete(taskId);
  }

  get isSo(): boolean {
    return this.#waits && this.#pending.size > 0 && this.#answered.size === 0;
  }

  /** What is to be decided. */
  get approvalIds(): string[] {
    return [...this.#pending];
  }
}
