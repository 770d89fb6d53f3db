/** A change to the requests for one model of an upstream, learned from a rejected request. */
export interface StoredLesson {
  upstream: string;
  model: string;
  /** Identifies the change: lessons of one model with the same digest are identical. */
  digest: string;
  /** In milliseconds since the epoch. */
  learnedAt: number;
  json: string;
}

/** Selects the lessons that match all given fields. */
export interface LessonFilter {
  upstream?: string;
  model?: string;
  /** In milliseconds since the epoch. */
  learnedBefore?: number;
}

/** The lessons of all processes that use a store. */
export interface LessonStore {
  /** Stores lessons, except those that are already stored. */
  addLessons(lessons: readonly StoredLesson[]): Promise<void>;
  removeLessons(filter: LessonFilter): Promise<void>;
  /** Returns all lessons, in the order in which they were stored. */
  listLessons(): Promise<StoredLesson[]>;
  /** Returns a number that increases with each change of the lessons. */
  getLessonsVersion(): Promise<number>;
}
