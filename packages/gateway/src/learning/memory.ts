import { withFlags, type Profile } from "@deltawire/wire";
import type { Lesson, LessonCode, MediaLesson, ResponsesLesson } from "./lesson.ts";

/** A lesson as it is shown. */
export interface KnownLesson {
  upstream: string;
  model: string;
  code: LessonCode;
  what: string;
  said: string;
  flags: Partial<Profile>;
  responses?: ResponsesLesson;
  media?: MediaLesson;
  /** When it was learned. */
  at: number;
}

/** Names of models come from clients: past this number those of which nothing was learned for longest are forgotten. */
const mostPlaces = 1_000;
/** An upstream that refuses more than this refuses at random. */
const mostLessons = 24;

interface Place {
  readonly upstream: string;
  readonly model: string;
  readonly lessons: KnownLesson[];
  responses: ResponsesLesson;
  base?: Profile;
  profile?: Profile;
}

/**
 * What was learned of each upstream and model, for the life of the process.
 *
 * A refused request is asked again as long as `profileFor` and `responsesFor` answer with something else than what was
 * tried: a lesson that another request has learned meanwhile counts, and one that was learned before and did not help
 * changes nothing, so that two complaints which contradict each other come to an end too.
 */
export class Lessons {
  readonly #places = new Map<string, Place>();

  /** The profile with all that was learned; the same object until something is. */
  profileFor(upstream: string, model: string, base: Profile): Profile {
    const place = this.#places.get(keyOf(upstream, model));
    if (place === undefined || place.lessons.length === 0) return base;
    if (place.profile === undefined || place.base !== base) {
      place.base = base;
      place.profile = place.lessons.reduce((profile, { flags }) => withFlags(profile, flags), base);
    }
    return place.profile;
  }

  /** The same for an upstream that speaks Responses. */
  responsesFor(upstream: string, model: string): ResponsesLesson {
    return this.#places.get(keyOf(upstream, model))?.responses ?? nothing;
  }

  /** What was learned of one model, in the order in which it was. */
  of(upstream: string, model: string): readonly KnownLesson[] {
    return this.#places.get(keyOf(upstream, model))?.lessons ?? [];
  }

  /** Whether it is new. What serves one request only is not kept. */
  learn(upstream: string, model: string, lesson: Lesson, at: number): boolean {
    if (lesson.once === true) return false;
    const key = keyOf(upstream, model);
    const place = this.#places.get(key) ?? { upstream, model, lessons: [], responses: nothing };
    const { code, what, said, flags, responses, media } = lesson;
    const known = place.lessons.some((one) => one.code === code && sameChange(one, lesson));
    if (known || place.lessons.length >= mostLessons) return false;
    place.lessons.push({
      upstream,
      model,
      code,
      what,
      said,
      flags,
      ...(responses === undefined ? {} : { responses }),
      ...(media === undefined ? {} : { media }),
      at,
    });
    if (responses !== undefined) place.responses = withLesson(place.responses, responses);
    delete place.profile;
    this.#places.delete(key);
    this.#places.set(key, place);
    for (const oldest of this.#places.keys()) {
      if (this.#places.size <= mostPlaces) break;
      this.#places.delete(oldest);
    }
    return true;
  }

  list(): KnownLesson[] {
    return [...this.#places.values()].flatMap(({ lessons }) => lessons);
  }

  /** Forgets what was learned of a model, of an upstream, or everything; answers how many lessons that were. */
  forget(upstream?: string, model?: string): number {
    let count = 0;
    for (const [key, place] of this.#places) {
      if (upstream !== undefined && place.upstream !== upstream) continue;
      if (model !== undefined && place.model !== model) continue;
      count += place.lessons.length;
      this.#places.delete(key);
    }
    return count;
  }
}

const nothing: ResponsesLesson = Object.freeze({});

/** A Responses lesson on top of others: lists are added to, except that the words for the effort are replaced. */
export function withLesson(before: ResponsesLesson, lesson: ResponsesLesson): ResponsesLesson {
  const dropped = [...(before.droppedParameters ?? []), ...(lesson.droppedParameters ?? [])];
  const extra = { ...before.extraBody, ...lesson.extraBody };
  return {
    ...before,
    ...lesson,
    ...(dropped.length > 0 ? { droppedParameters: [...new Set(dropped)] } : {}),
    ...(Object.keys(extra).length > 0 ? { extraBody: extra } : {}),
  };
}

function keyOf(upstream: string, model: string): string {
  return `${upstream}\n${model}`;
}

function sameChange(one: KnownLesson, other: Lesson): boolean {
  const changes = [one, other].map(({ flags, responses, media }) =>
    JSON.stringify([flags, responses, media]),
  );
  return changes[0] === changes[1];
}
