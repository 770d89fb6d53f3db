import type { LessonFilter, StoredLesson } from "../lesson-store.ts";
import type { SqliteConnection } from "./connection.ts";

/** Returns the number of new lessons. */
export function insertLessons(db: SqliteConnection, lessons: readonly StoredLesson[]): number {
  return lessons.reduce(
    (sum, { upstream, model, digest, learnedAt, json }) =>
      sum +
      db.run(
        `INSERT INTO lessons (upstream, model, digest, learned_at, json) VALUES (?, ?, ?, ?, ?)
          ON CONFLICT (upstream, model, digest) DO NOTHING`,
        upstream,
        model,
        digest,
        learnedAt,
        json,
      ).changes,
    0,
  );
}

/** Returns the number of deleted lessons. */
export function deleteLessons(
  db: SqliteConnection,
  { upstream, model, learnedBefore }: LessonFilter,
): number {
  return db.run(
    `DELETE FROM lessons WHERE (?1 IS NULL OR upstream = ?1) AND (?2 IS NULL OR model = ?2)
      AND (?3 IS NULL OR learned_at < ?3)`,
    upstream ?? null,
    model ?? null,
    learnedBefore ?? null,
  ).changes;
}

export function listLessons(db: SqliteConnection): StoredLesson[] {
  return db
    .all<{ upstream: string; model: string; digest: string; learned_at: number; json: string }>(
      "SELECT upstream, model, digest, learned_at, json FROM lessons ORDER BY number",
    )
    .map(({ learned_at, ...lesson }) => ({ ...lesson, learnedAt: learned_at }));
}

export function incrementLessonsVersion(db: SqliteConnection): void {
  db.run(
    `INSERT INTO meta (name, value) VALUES ('lessons_version', '1')
      ON CONFLICT (name) DO UPDATE SET value = CAST(value AS INTEGER) + 1`,
  );
}

export function getLessonsVersion(db: SqliteConnection): number {
  const row = db.get<{ value: string }>("SELECT value FROM meta WHERE name = 'lessons_version'");
  return Number(row?.value ?? 0);
}
