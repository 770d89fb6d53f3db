import { parseJson } from "@deltawire/wire";

/** Fields of replies whose values are used in later requests. */
const recordedFields = [
  "chat_id",
  "node_id",
  "version_id",
  "task_id",
  "approval_id",
  "removal_id",
  "session_id",
  "revision",
  "stamp",
  "next_before",
  "hash",
] as const;
const maxValuesPerField = 40;
const maxReplyLength = 200_000;

/** Existing ids, by the name of their field. */
export class KnownValues {
  readonly #values = new Map<string, (string | number)[]>();

  /** Records the ids in a reply. */
  record(text: string): void {
    for (const [, hash = ""] of text.matchAll(/\/api\/blobs\/(\w{16,})/g)) this.add("hash", hash);
    if (text.length < maxReplyLength) this.#walk(parseJson(text), 6);
  }

  add(name: string, value: unknown): void {
    if (typeof value !== "string" && typeof value !== "number") return;
    const values = this.#values.get(name) ?? [];
    if (values.includes(value)) return;
    values.push(value);
    if (values.length > maxValuesPerField) values.shift();
    this.#values.set(name, values);
  }

  pick(name: string, chance: number): string | number | undefined {
    const values = this.#values.get(name) ?? [];
    return values[Math.floor(chance * values.length)];
  }

  #walk(value: unknown, levels: number): void {
    if (typeof value !== "object" || value === null || levels === 0) return;
    for (const [name, fieldValue] of Object.entries(value)) {
      if ((recordedFields as readonly string[]).includes(name)) this.add(name, fieldValue);
      else this.#walk(fieldValue, levels - 1);
    }
  }
}
