import {
  withProfileFlags,
  type JsonObject,
  type MessagesFlags,
  type ResponsesFlags,
  type UpstreamProfile,
} from "@deltawire/wire";
import type { ApiName } from "../config/config.ts";
import type { Lesson, LessonCode, MediaLesson } from "./lesson.ts";

/** A lesson in the form that the API returns. */
export interface LearnedLesson {
  upstream: string;
  model: string;
  code: LessonCode;
  /** The description of the lesson. */
  description: string;
  /** The error message of the provider. */
  provider_message: string;
  flags: Partial<UpstreamProfile>;
  responses?: ResponsesFlags;
  messages?: MessagesFlags;
  /** The model's limit of output tokens. */
  output_token_limit?: number;
  speaks?: ApiName;
  media?: MediaLesson;
  /** When it was learned, in milliseconds since the epoch. */
  at: number;
}

/** Clients choose the names of models. Above this number, the models whose last lesson is the oldest are dropped. */
const maxModels = 1_000;
/** An upstream that causes more lessons rejects requests at random. */
const maxLessonsPerModel = 24;

/** A change that this process has made, not one that was loaded. */
export type LessonRegistryChange =
  | { type: "added"; lesson: LearnedLesson }
  | { type: "forgotten"; upstream?: string; model?: string };

interface ModelLessons {
  readonly upstream: string;
  readonly model: string;
  readonly lessons: LearnedLesson[];
  responses: ResponsesFlags;
  messages: MessagesFlags;
  base?: UpstreamProfile;
  profile?: UpstreamProfile;
}

/**
 * The lessons of each upstream and model, in memory; `LessonSync` stores them. Each attempt of a request reads them again, so
 * lessons that other requests have learned meanwhile apply.
 */
export class LessonRegistry {
  /** Called with each change, except `replace`. */
  onChange: ((change: LessonRegistryChange) => void) | undefined;
  readonly #models = new Map<string, ModelLessons>();

  /** Returns the profile with all lessons applied; the same object until a lesson is added. */
  getProfile(upstream: string, model: string, base: UpstreamProfile): UpstreamProfile {
    const modelLessons = this.#models.get(toModelKey(upstream, model));
    if (modelLessons === undefined || modelLessons.lessons.length === 0) return base;
    if (modelLessons.profile === undefined || modelLessons.base !== base) {
      modelLessons.base = base;
      modelLessons.profile = modelLessons.lessons.reduce(
        (profile, { flags }) => withProfileFlags(profile, flags),
        base,
      );
    }
    return modelLessons.profile;
  }

  /** Returns the flags learned from all lessons, for an upstream that speaks Responses. */
  getResponsesFlags(upstream: string, model: string): ResponsesFlags {
    return this.#models.get(toModelKey(upstream, model))?.responses ?? noResponsesFlags;
  }

  /** Returns the flags for an upstream that speaks Messages, with all lessons applied. */
  getMessagesFlags(upstream: string, model: string, base: MessagesFlags): MessagesFlags {
    const learned = this.#models.get(toModelKey(upstream, model))?.messages;
    return learned === undefined ? base : mergeFlags(base, learned);
  }

  /** Returns the lowest learned limit of output tokens; undefined if there is none. */
  getOutputTokenLimit(upstream: string, model: string): number | undefined {
    const limits = this.getLessons(upstream, model).flatMap(
      ({ output_token_limit: limit }) => limit ?? [],
    );
    return limits.length === 0 ? undefined : Math.min(...limits);
  }

  /** Returns the API that the last lesson about it requires; undefined if there is none. */
  getSpeaks(upstream: string, model: string): ApiName | undefined {
    const lessons = this.#models.get(toModelKey(upstream, model))?.lessons ?? [];
    return lessons.findLast(({ speaks }) => speaks !== undefined)?.speaks;
  }

  /** Returns the models of an upstream that use another API than the configured one, with that API. */
  listLearnedApis(upstream: string, configured: ApiName): { model: string; speaks: ApiName }[] {
    return [...this.#models.values()].flatMap(({ upstream: name, model }) => {
      const speaks = name === upstream ? this.getSpeaks(upstream, model) : undefined;
      return speaks === undefined || speaks === configured ? [] : [{ model, speaks }];
    });
  }

  /** Returns the lessons of one model, the oldest first. */
  getLessons(upstream: string, model: string): readonly LearnedLesson[] {
    return this.#models.get(toModelKey(upstream, model))?.lessons ?? [];
  }

  /** Stores a lesson and returns true if it is new. Lessons for a single request (`once`) are not stored. */
  add(upstream: string, model: string, lesson: Lesson, learnedAt: number): boolean {
    if (lesson.once === true) return false;
    const { code, description, providerMessage, flags, responses, messages, speaks, media } =
      lesson;
    const { outputTokenLimit } = lesson;
    const learned: LearnedLesson = {
      upstream,
      model,
      code,
      description,
      provider_message: providerMessage,
      flags,
      ...(responses === undefined ? {} : { responses }),
      ...(messages === undefined ? {} : { messages }),
      ...(outputTokenLimit === undefined ? {} : { output_token_limit: outputTokenLimit }),
      ...(speaks === undefined ? {} : { speaks }),
      ...(media === undefined ? {} : { media }),
      at: learnedAt,
    };
    if (!this.#addLearned(learned)) return false;
    this.onChange?.({ type: "added", lesson: learned });
    for (const [key, oldest] of this.#models) {
      if (this.#models.size <= maxModels) break;
      this.#models.delete(key);
      this.onChange?.({ type: "forgotten", upstream: oldest.upstream, model: oldest.model });
    }
    return true;
  }

  /** Replaces all lessons with stored ones, which are in the order in which they were learned. */
  replace(lessons: readonly LearnedLesson[]): void {
    this.#models.clear();
    for (const lesson of lessons) this.#addLearned(lesson);
    for (const key of this.#models.keys()) {
      if (this.#models.size <= maxModels) break;
      this.#models.delete(key);
    }
  }

  list(): LearnedLesson[] {
    return [...this.#models.values()].flatMap(({ lessons }) => lessons);
  }

  /** Deletes the lessons of a model, of an upstream, or all. Returns their number. */
  forget(upstream?: string, model?: string): number {
    let count = 0;
    for (const [key, modelLessons] of this.#models) {
      if (upstream !== undefined && modelLessons.upstream !== upstream) continue;
      if (model !== undefined && modelLessons.model !== model) continue;
      count += modelLessons.lessons.length;
      this.#models.delete(key);
    }
    // Also if nothing was found: the store may have lessons that are not loaded yet.
    this.onChange?.({
      type: "forgotten",
      ...(upstream === undefined ? {} : { upstream }),
      ...(model === undefined ? {} : { model }),
    });
    return count;
  }

  #addLearned(lesson: LearnedLesson): boolean {
    const { upstream, model, responses, messages } = lesson;
    const key = toModelKey(upstream, model);
    const modelLessons = this.#models.get(key) ?? {
      upstream,
      model,
      lessons: [],
      responses: noResponsesFlags,
      messages: noMessagesFlags,
    };
    const isKnown = modelLessons.lessons.some(
      (known) => known.code === lesson.code && isSameChange(known, lesson),
    );
    if (isKnown || modelLessons.lessons.length >= maxLessonsPerModel) return false;
    modelLessons.lessons.push(lesson);
    if (responses !== undefined)
      modelLessons.responses = mergeFlags(modelLessons.responses, responses);
    if (messages !== undefined) modelLessons.messages = mergeFlags(modelLessons.messages, messages);
    delete modelLessons.profile;
    this.#models.delete(key);
    this.#models.set(key, modelLessons);
    return true;
  }
}

const noResponsesFlags: ResponsesFlags = Object.freeze({});
const noMessagesFlags: MessagesFlags = Object.freeze({});

interface MergeableFlags {
  readonly droppedParameters?: readonly string[];
  readonly extraBody?: Readonly<JsonObject>;
}

/** Adds learned flags to earlier ones. Dropped parameters and additional fields are combined; other flags are replaced. */
export function mergeFlags<Flags extends MergeableFlags>(earlier: Flags, learned: Flags): Flags {
  const dropped = [...(earlier.droppedParameters ?? []), ...(learned.droppedParameters ?? [])];
  const extra = { ...earlier.extraBody, ...learned.extraBody };
  return {
    ...earlier,
    ...learned,
    ...(dropped.length > 0 ? { droppedParameters: [...new Set(dropped)] } : {}),
    ...(Object.keys(extra).length > 0 ? { extraBody: extra } : {}),
  };
}

function toModelKey(upstream: string, model: string): string {
  return `${upstream}\n${model}`;
}

function isSameChange(one: LearnedLesson, other: LearnedLesson): boolean {
  const changes = [one, other].map(
    ({ flags, responses, messages, output_token_limit: limit, speaks, media }) =>
      JSON.stringify([flags, responses, messages, limit, speaks, media]),
  );
  return changes[0] === changes[1];
}
