import { parseJson } from "@deltawire/wire";

/** Fields of replies whose values are good for later requests. */
const names = [
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
const mostOfEach = 40;
const longestRead = 200_000;

/** Ids that exist, by the name of the field that has them. */
export class KnownValues {
  readonly #values = new Map<string, (string | number)[]>();

  /** Remembers what a reply names. */
  read(text: string): void {
    for (const [, hash = ""] of text.matchAll(/\/api\/blobs\/(\w{16,})/g)) this.add("hash", hash);
    if (text.length < longestRead) this.#walk(parseJson(text), 6);
  }

  add(name: string, value: unknown): void {
    if (typeof value !== "string" && typeof value !== "number") return;
    const known = this.#values.get(name) ?? [];
    if (known.includes(value)) return;
    known.push(value);
    if (known.length > mostOfEach) known.shift();
    this.#values.set(name, known);
  }

  pick(name: string, chance: number): string | number | undefined {
    const known = this.#values.get(name) ?? [];
    return known[Math.floor(chance * known.length)];
  }

  #walk(value: unknown, levels: number): void {
    if (typeof value !== "object" || value === null || levels === 0) return;
    for (const [name, each] of Object.entries(value)) {
      if ((names as readonly string[]).includes(name)) this.add(name, each);
      else this.#walk(each, levels - 1);
    }
  }
}
