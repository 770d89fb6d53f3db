import type { LessonFilter, StoredLesson } from "../lesson-store.ts";
import { decodeText, type PostgresConnection } from "./connection.ts";

/** Returns the number of new lessons. */
export async function insertLessons(
  db: PostgresConnection,
  lessons: readonly StoredLesson[],
): Promise<number> {
  const counts = await Promise.all(
    lessons.map(({ upstream, model, digest, learnedAt, json }) =>
      db.run(
        `INSERT INTO lessons (upstream, model, digest, learned_at, json) VALUES ($1, $2, $3, $4, $5)
          ON CONFLICT (upstream, model, digest) DO NOTHING`,
        upstream,
        model,
        digest,
        learnedAt,
        json,
      ),
    ),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Returns the number of deleted lessons. */
export async function deleteLessons(
  db: PostgresConnection,
  { upstream, model, learnedBefore }: LessonFilter,
): Promise<number> {
  return db.run(
    `DELETE FROM lessons WHERE ($1::text IS NULL OR upstream = $1) AND ($2::text IS NULL OR model = $2)
      AND ($3::bigint IS NULL OR learned_at < $3)`,
    upstream ?? null,
    model ?? null,
    learnedBefore ?? null,
  );
}

export async function listLessons(db: PostgresConnection): Promise<StoredLesson[]> {
  const rows = await db.all<{
    upstream: string;
    model: string;
    digest: string;
    learned_at: number;
    json: string;
  }>("SELECT upstream, model, digest, learned_at, json FROM lessons ORDER BY number");
  return rows.map(({ upstream, model, digest, learned_at, json }) => ({
    upstream: decodeText(upstream),
    model: decodeText(model),
    digest,
    learnedAt: learned_at,
    json,
  }));
}

/** The row stays locked until the transaction ends, so that versions become visible in order. */
export async function incrementLessonsVersion(db: PostgresConnection): Promise<void> {
  await db.run(
    `INSERT INTO meta (name, value) VALUES ('lessons_version', '1')
      ON CONFLICT (name) DO UPDATE SET value = (meta.value::bigint + 1)::text`,
  );
}

export async function getLessonsVersion(db: PostgresConnection): Promise<number> {
  const row = await db.get<{ value: string }>(
    "SELECT value FROM meta WHERE name = 'lessons_version'",
  );
  return Number(row?.value ?? 0);
}
