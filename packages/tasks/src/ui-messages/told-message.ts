import type { UiChunk, UiFinishReason, UiMetadata } from "./chunks.ts";
import { StepRecord } from "./step.ts";

/** The one message that a task becomes, as far as it has been told, step by step. */
export class ToldMessage {
  readonly #step = new StepRecord();
  #out: UiChunk[] = [];
  #state: "silent" | "speaking" | "ended" = "silent";
  /** A step begins with its first part: until then a reader of this stream would lose it when it is cut. */
  #roundStep: "none" | "due" | "open" = "none";

  get ended(): boolean {
    return this.#state === "ended";
  }

  /** Where from now on it is told. */
  tellTo(out: UiChunk[]): void {
    this.#out = out;
  }

  /** `mustRepeat`: what has been cut off in the step under way cannot be gone on with. */
  begin(taskId: string, mustRepeat: boolean): void {
    if (this.#state !== "silent") return;
    this.#state = "speaking";
    this.say({ type: "start", messageId: taskId, messageMetadata: { task_id: taskId } });
    if (mustRepeat) this.#tellStepAgain();
  }

  startStep(): void {
    if (this.#roundStep === "open") this.say({ type: "finish-step" });
    this.#roundStep = "due";
    this.#step.next();
  }

  /** Becomes a part of the message, or changes one. */
  put(chunk: UiChunk, item?: string): void {
    if (this.#roundStep === "due") {
      this.#roundStep = "open";
      this.say({ type: "start-step" });
    }
    this.#step.keep(chunk, item);
    this.say(chunk);
  }

  say(chunk: UiChunk): void {
    if (this.#state === "speaking") this.#out.push(chunk);
  }

  retract(item: string, reason: string): void {
    switch (this.#step.remove(item)) {
      case "current":
        this.#tellStepAgain();
        return;
      case "earlier":
        this.put({ type: "data-retracted", id: item, data: { item_id: item, reason } });
        return;
      case "nowhere":
    }
  }

  finish(finishReason: UiFinishReason, messageMetadata: UiMetadata): void {
    if (this.#roundStep === "open" && finishReason !== "interrupted")
      this.say({ type: "finish-step" });
    this.say({ type: "finish", finishReason, messageMetadata });
    this.#state = "ended";
  }

  #tellStepAgain(): void {
    if (this.#state !== "speaking") return;
    this.#out.push({ type: "reset-step" }, ...this.#step.chunks);
  }
}
