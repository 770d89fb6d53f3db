import { UiMessageStream, type TaskEvent, type UiChunk } from "@deltawire/tasks";
import { sseDone, sseKeepAlive } from "@deltawire/wire";
import { NeedsPerson } from "../needs-person.ts";
import type { TaskTranslator } from "../follow/translated-task.ts";

/** A task as the `ai` SDK's UI message stream. It ends where a person is needed, for only then the client answers. */
export class UiTranslator implements TaskTranslator {
  readonly #stream: UiMessageStream;
  readonly #needsPerson = new NeedsPerson();

  /** `after`: the last event that is in the client's message already. */
  constructor(after?: number) {
    this.#stream = new UiMessageStream(after === undefined ? {} : { after });
  }

  get isOver(): boolean {
    return this.#stream.ended;
  }

  translate(events: readonly TaskEvent[]): string {
    const chunks: UiChunk[] = [];
    for (const event of events) {
      this.#needsPerson.push(event);
      this.#stream.push(event, chunks);
    }
    return this.#encoded(chunks);
  }

  pause(): string {
    const chunks: UiChunk[] = [];
    if (this.#needsPerson.isSo) this.#stream.end(chunks);
    return this.#encoded(chunks);
  }

  sign(): string {
    return sseKeepAlive;
  }

  #encoded(chunks: readonly UiChunk[]): string {
    let text = "";
    for (const chunk of chunks) text += `data: ${JSON.stringify(chunk)}\n\n`;
    return this.isOver ? text + sseDone : text;
  }
}
