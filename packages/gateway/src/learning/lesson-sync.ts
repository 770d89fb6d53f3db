import { hash } from "node:crypto";
import type { LessonStore, StoredLesson } from "@deltawire/store";
import type { LearnedLesson, LessonRegistry, LessonRegistryChange } from "./lesson-registry.ts";

export interface LessonSyncOptions {
  registry: LessonRegistry;
  /**
   * Returns a fingerprint of everything that lessons about an upstream depend on, such as its URL. Lessons learned with another
   * fingerprint do not apply. Undefined for an unknown upstream.
   */
  getFingerprint: (upstream: string) => string | undefined;
  /** Called with the first of a series of failures. */
  onFailure: (message: string, cause: unknown) => void;
  now?: () => number;
  /** Interval at which lessons of other processes are loaded, in milliseconds; default 10 seconds. */
  pollMs?: number;
}

/** The JSON of a stored lesson. */
type StoredContent = Omit<LearnedLesson, "upstream" | "model" | "at"> & { fingerprint: string };

const defaultPollMs = 10_000;
/** Changes within this period are stored in one batch. */
const batchMs = 100;
/** A lesson that is still needed is learned again, which costs one rejected request. */
const maxAgeMs = 30 * 24 * 60 * 60 * 1000;
/** Further changes are not stored while the store cannot be written. */
const maxPendingChanges = 5000;

/**
 * Stores the lessons of a registry in the background, and loads those of earlier processes and of other processes that use the
 * same store. While the store fails, lessons apply only in this process; they are stored later.
 */
export class LessonSync {
  readonly #options: LessonSyncOptions;
  readonly #now: () => number;
  readonly #pending: LessonRegistryChange[] = [];
  #store: LessonStore | undefined;
  #loadedVersion: number | undefined;
  /** When the oldest lesson in the store was learned. */
  #oldest = Infinity;
  #latestRun = Promise.resolve();
  #batchTimer: NodeJS.Timeout | undefined;
  #pollTimer: NodeJS.Timeout | undefined;
  #hasFailed = false;

  constructor(options: LessonSyncOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    options.registry.onChange = (change) => this.#addPending(change);
  }

  /** Loads the lessons of the store, and from then on keeps the registry and the store in sync. Never rejects. */
  async attach(store: LessonStore): Promise<void> {
    this.#store = store;
    this.#loadedVersion = undefined;
    await this.sync();
    this.#pollTimer = setInterval(() => void this.sync(), this.#options.pollMs ?? defaultPollMs);
    this.#pollTimer.unref();
  }

  /** Stores the remaining changes and stops using the store. Never rejects. */
  async detach(): Promise<void> {
    clearInterval(this.#pollTimer);
    clearTimeout(this.#batchTimer);
    this.#batchTimer = undefined;
    await (this.#pending.length > 0 ? this.sync() : this.#latestRun);
    this.#store = undefined;
  }

  /** Stores all changes and loads those of other processes immediately. Never rejects. */
  sync(): Promise<void> {
    this.#latestRun = this.#latestRun.then(() => this.#run());
    return this.#latestRun;
  }

  #addPending(change: LessonRegistryChange): void {
    if (change.type === "forgotten" && change.upstream === undefined && change.model === undefined)
      this.#pending.length = 0;
    if (this.#pending.length >= maxPendingChanges) return;
    this.#pending.push(change);
    if (this.#store === undefined) return;
    this.#batchTimer ??= setTimeout(() => {
      this.#batchTimer = undefined;
      void this.sync();
    }, batchMs).unref();
  }

  async #run(): Promise<void> {
    const store = this.#store;
    if (store === undefined) return;
    try {
      await this.#storePending(store);
      const expiredBefore = this.#now() - maxAgeMs;
      if (this.#oldest < expiredBefore) await store.removeLessons({ learnedBefore: expiredBefore });
      // Read before the lessons, which may be newer then: the next run loads them again.
      const version = await store.getLessonsVersion();
      if (version !== this.#loadedVersion) {
        this.#load(await store.listLessons(), expiredBefore);
        this.#loadedVersion = version;
      }
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed) this.#options.onFailure("could not store or load lessons", error);
      this.#hasFailed = true;
    }
  }

  async #storePending(store: LessonStore): Promise<void> {
    while (this.#pending.length > 0) {
      const firstOther = this.#pending.findIndex(({ type }) => type === "forgotten");
      const additions = firstOther === -1 ? this.#pending.length : firstOther;
      const batch = this.#pending.splice(0, Math.max(1, additions));
      try {
        const [first] = batch;
        if (first?.type === "forgotten") {
          const { type: _type, ...filter } = first;
          await store.removeLessons(filter);
        } else
          await store.addLessons(
            batch.flatMap((change) => (change.type === "added" ? [this.#toStored(change)] : [])),
          );
      } catch (error) {
        this.#pending.unshift(...batch);
        throw error;
      }
    }
  }

  #load(stored: readonly StoredLesson[], expiredBefore: number): void {
    this.#oldest = stored.reduce((oldest, { learnedAt }) => Math.min(oldest, learnedAt), Infinity);
    let lessons = stored.flatMap((lesson) =>
      lesson.learnedAt < expiredBefore ? [] : (this.#parse(lesson) ?? []),
    );
    // Changes that were made after the others had been stored.
    for (const change of this.#pending)
      lessons =
        change.type === "added"
          ? [...lessons, change.lesson]
          : lessons.filter(
              ({ upstream, model }) =>
                (change.upstream ?? upstream) !== upstream || (change.model ?? model) !== model,
            );
    this.#options.registry.replace(lessons);
  }

  #toStored({ lesson }: Extract<LessonRegistryChange, { type: "added" }>): StoredLesson {
    const { upstream, model, at: learnedAt, ...content } = lesson;
    const { code, flags, responses, messages, output_token_limit: limit, media } = content;
    const fingerprint = this.#options.getFingerprint(upstream) ?? "";
    const change = JSON.stringify([fingerprint, code, flags, responses, messages, limit, media]);
    const json = JSON.stringify({ ...content, fingerprint } satisfies StoredContent);
    return { upstream, model, digest: hash("sha256", change), learnedAt, json };
  }

  /** Returns undefined if the lesson does not apply here. */
  #parse({ upstream, model, learnedAt, json }: StoredLesson): LearnedLesson | undefined {
    const { fingerprint, ...content } = JSON.parse(json) as StoredContent;
    return fingerprint === this.#options.getFingerprint(upstream)
      ? { ...content, upstream, model, at: learnedAt }
      : undefined;
  }
}
