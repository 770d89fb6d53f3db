import type { Lesson } from "./lesson.ts";

/** The lessons from the rejections of one request. All of them apply to its next attempt. */
export class RequestLessons {
  readonly #lessons: Lesson[] = [];
  /** The lessons that the next successful reply confirms. */
  readonly #unconfirmed: Lesson[] = [];

  /** In the order in which they were added. */
  get list(): readonly Lesson[] {
    return this.#lessons;
  }

  /** Adds the lesson of the latest rejection. */
  add(lesson: Lesson): void {
    const previous = this.#lessons.at(-1);
    // The same error again: the previous change did not help, so it is never confirmed.
    if (previous !== undefined && normalizeMessage(previous) === normalizeMessage(lesson))
      this.#removeUnconfirmed(previous);
    // The server has only the API that the earlier lesson left.
    if (lesson.speaks !== undefined)
      for (const earlier of this.#lessons)
        if (earlier.speaks !== undefined) this.#removeUnconfirmed(earlier);
    this.#lessons.push(lesson);
    if (lesson.once !== true) this.#unconfirmed.push(lesson);
  }

  /** Returns the lessons that a successful reply has confirmed, each once. */
  takeConfirmed(): Lesson[] {
    return this.#unconfirmed.splice(0);
  }

  #removeUnconfirmed(lesson: Lesson): void {
    const index = this.#unconfirmed.indexOf(lesson);
    if (index !== -1) this.#unconfirmed.splice(index, 1);
  }
}

/** Replaces ids and numbers in the provider's message, which differ from request to request. */
function normalizeMessage({ providerMessage }: Lesson): string {
  return providerMessage.replaceAll(/[\da-f-]{8,}|\d+/gi, "#");
}
