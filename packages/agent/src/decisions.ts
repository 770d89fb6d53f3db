/** Those who wait for a person, by the approval that they wait for. What was decided is in the task's state. */
export class Decisions {
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Resolves when the approval has been resolved or has expired. */
  wait(approvalId: string): Promise<void> {
    return new Promise((resolve) => {
      const others = this.#waiting.get(approvalId) ?? new Set();
      this.#waiting.set(approvalId, others.add(resolve));
    });
  }

  told(approvalId: string): void {
    const waiting = this.#waiting.get(approvalId) ?? [];
    this.#waiting.delete(approvalId);
    for (const resolve of waiting) resolve();
  }
}
