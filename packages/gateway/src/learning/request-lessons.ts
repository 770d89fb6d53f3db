import type { Lesson } from "./lesson.ts";

/** The lessons from the refusals of one request. All of them apply to its next attempt. */
export class RequestLessons {
  readonly #lessons: Lesson[] = [];
  /** The lessons that the next good reply proves. */
  readonly #unproven: Lesson[] = [];

  get all(): readonly Lesson[] {
    return this.#lessons;
  }

  /** Adds the lesson of the latest refusal. */
  add(lesson: Lesson): void {
    const last = this.#lessons.at(-1);
    // The same complaint again: what was changed because of it did not help.
    if (last !== undefined && comparable(last) === comparable(lesson)) this.#drop(last);
    this.#lessons.push(lesson);
    if (lesson.once !== true) this.#unproven.push(lesson);
  }

  /** The lessons that a good reply has proven, each once. */
  takeProven(): Lesson[] {
    return this.#unproven.splice(0);
  }

  #drop(lesson: Lesson): void {
    const at = this.#unproven.indexOf(lesson);
    if (at !== -1) this.#unproven.splice(at, 1);
  }
}

/** The provider's message without ids and numbers, which differ from request to request. */
function comparable({ said }: Lesson): string {
  return said.replaceAll(/[\da-f-]{8,}|\d+/gi, "#");
}
