import { UiMessageStream, type TaskEvent, type UiChunk } from "@deltawire/tasks";
import { sseDone, sseKeepAlive } from "@deltawire/wire";
import { PendingApprovalTracker } from "../pending-approval-tracker.ts";
import type { TaskTranslator } from "../streams/translated-task-writer.ts";

/** Translates a task to the `ai` SDK's UI message stream. The stream ends at an approval, because clients can decide only then. */
export class UiMessageTranslator implements TaskTranslator {
  readonly #stream: UiMessageStream;
  readonly #approvals = new PendingApprovalTracker();

  /** `after`: number of the last event that the client's message already contains. */
  constructor(after?: number) {
    this.#stream = new UiMessageStream(after === undefined ? {} : { after });
  }

  get isDone(): boolean {
    return this.#stream.hasEnded;
  }

  translate(events: readonly TaskEvent[]): string {
    const chunks: UiChunk[] = [];
    for (const event of events) {
      this.#approvals.push(event);
      this.#stream.push(event, chunks);
    }
    return this.#encode(chunks);
  }

  onCaughtUp(): string {
    const chunks: UiChunk[] = [];
    if (this.#approvals.isWaiting) this.#stream.end(chunks);
    return this.#encode(chunks);
  }

  formatKeepAlive(): string {
    return sseKeepAlive;
  }

  #encode(chunks: readonly UiChunk[]): string {
    let text = "";
    for (const chunk of chunks) text += `data: ${JSON.stringify(chunk)}\n\n`;
    return this.isDone ? text + sseDone : text;
  }
}
