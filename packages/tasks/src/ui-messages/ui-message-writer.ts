import type { UiChunk, UiFinishReason, UiMetadata } from "./chunks.ts";
import { StepBuffer } from "./step-buffer.ts";

/** Writes the chunks of one UI message, step by step. */
export class UiMessageWriter {
  readonly #step = new StepBuffer();
  #out: UiChunk[] = [];
  #state: "idle" | "open" | "ended" = "idle";
  /** A step is started with its first part: clients that disconnect would lose an empty step. */
  #stepState: "none" | "pending" | "open" = "none";

  get hasEnded(): boolean {
    return this.#state === "ended";
  }

  /** Sets where chunks are written from now on. */
  setOutput(out: UiChunk[]): void {
    this.#out = out;
  }

  /** Starts the message. `mustRepeat`: sends the current step again, because the client cannot continue its open text. */
  begin(taskId: string, mustRepeat: boolean): void {
    if (this.#state !== "idle") return;
    this.#state = "open";
    this.emit({ type: "start", messageId: taskId, messageMetadata: { task_id: taskId } });
    if (mustRepeat) this.#repeatStep();
  }

  startStep(): void {
    if (this.#stepState === "open") this.emit({ type: "finish-step" });
    this.#stepState = "pending";
    this.#step.startNext();
  }

  /** Writes a chunk that adds or changes a part of the message. */
  write(chunk: UiChunk, itemId?: string): void {
    if (this.#stepState === "pending") {
      this.#stepState = "open";
      this.emit({ type: "start-step" });
    }
    this.#step.record(chunk, itemId);
    this.emit(chunk);
  }

  /** Sends a chunk without recording it in the current step. */
  emit(chunk: UiChunk): void {
    if (this.#state === "open") this.#out.push(chunk);
  }

  retract(itemId: string, reason: string): void {
    switch (this.#step.remove(itemId)) {
      case "current":
        this.#repeatStep();
        return;
      case "earlier":
        this.write({ type: "data-retracted", id: itemId, data: { item_id: itemId, reason } });
        return;
      case "unknown":
    }
  }

  finish(finishReason: UiFinishReason, messageMetadata: UiMetadata): void {
    if (this.#stepState === "open" && finishReason !== "interrupted")
      this.emit({ type: "finish-step" });
    this.emit({ type: "finish", finishReason, messageMetadata });
    this.#state = "ended";
  }

  #repeatStep(): void {
    if (this.#state !== "open") return;
    this.#out.push({ type: "reset-step" }, ...this.#step.chunks);
  }
}
