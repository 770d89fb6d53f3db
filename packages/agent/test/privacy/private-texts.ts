import { Vault, type PlaceholderStore } from "@deltawire/agent";
import type { PrivacyField, Placeholder } from "@deltawire/tasks/chats";
import fc from "fast-check";

export const tag = "x7f3";
export const everyKind: readonly PrivacyField[] = [
  { kind: "email" },
  { kind: "phone" },
  { kind: "card" },
  { kind: "key" },
  { kind: "password" },
  { kind: "id" },
  { kind: "name", value: "Ada Lovelace" },
  { kind: "name", value: "张三" },
  { kind: "text", value: 'the "blue\\house" plan' },
  { kind: "text", value: "Zeus 100%\tdone" },
  { kind: "pattern", pattern: "EMP-\\d{4,8}", label: "employee" },
];

/** Values of all kinds, each of which is found in any context. */
export const values = [
  "ada@example.com",
  "o.k+1@mail.example.co.uk",
  "13812345678",
  "+86 139 8765 4321",
  "+1 (415) 555-0123",
  "4111 1111 1111 1111",
  "5500005555555559",
  "sk-proj-abcdEFGH12345678abcd",
  "AKIAIOSFODNN7EXAMPLE",
  "110101199003074477",
  "Ada Lovelace",
  "张三",
  'the "blue\\house" plan',
  "Zeus 100%\tdone",
  "EMP-123456",
] as const;

export function newVault(
  fields: readonly PrivacyField[] = everyKind,
  known: readonly Placeholder[] = [],
): Vault {
  return new Vault({ fields, known, tag });
}

/** Placeholders of one process. `onAdd` is called with new ones. */
export function newPlaceholderStore(
  onAdd: (added: readonly Placeholder[]) => Promise<void> = async () => undefined,
): PlaceholderStore {
  return {
    isShared: false,
    add: async (added) => {
      await onAdd(added);
      return "stored";
    },
    list: async () => [],
  };
}

/** Placeholders of a chat that several processes share, like those in a store. */
export class MemoryPlaceholders implements PlaceholderStore {
  readonly isShared = true;
  readonly stored: Placeholder[] = [];
  isFull = false;

  async add(added: readonly Placeholder[]): Promise<"stored" | "conflict"> {
    await Promise.resolve();
    if (this.isFull) throw new Error("the disk is full");
    const isTaken = (entry: Placeholder): boolean =>
      this.stored.some(
        ({ placeholder, value }) => (placeholder === entry.placeholder) !== (value === entry.value),
      );
    if (added.some(isTaken)) return "conflict";
    const isKnown = (entry: Placeholder): boolean =>
      this.stored.some(({ placeholder }) => placeholder === entry.placeholder);
    this.stored.push(...added.filter((entry) => !isKnown(entry)));
    return "stored";
  }

  async list(skip: number): Promise<readonly Placeholder[]> {
    await Promise.resolve();
    return this.stored.slice(skip);
  }

  /** Masks a text of the log as a process that is started now would. */
  maskInNewProcess(text: string): string {
    return newVault(everyKind, this.stored).maskJson(text);
  }
}

const encodings: readonly ((value: string) => string)[] = [
  (value) => value,
  (value) => JSON.stringify(value).slice(1, -1),
  (value) => JSON.stringify(JSON.stringify(value)).slice(3, -3),
  (value) => encodeURIComponent(value),
  (value) =>
    Array.from(
      { length: value.length },
      (_, index) => `\\u${value.charCodeAt(index).toString(16).padStart(4, "0")}`,
    ).join(""),
];

/** A value in one of its encodings. */
const writtenValue = fc
  .tuple(fc.constantFrom(...values), fc.constantFrom(...encodings))
  .map(([value, encode]) => encode(value));

/** Text with values and characters that are difficult to handle around them. */
export const privateText = fc
  .array(
    fc.oneof(
      { weight: 2, arbitrary: writtenValue },
      { weight: 2, arbitrary: fc.string({ unit: "grapheme", maxLength: 12 }) },
      {
        weight: 2,
        arbitrary: fc.constantFrom(
          " ",
          "\n",
          '"',
          "\\",
          "{{",
          "}}",
          "{{EMAIL_1}}",
          "{",
          "%",
          "%7B",
          "_",
          "a",
          "7",
          "password: s3cret-word",
          "token=a1b2c3d4e5f6a7b8c9d0",
        ),
      },
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(""));

/** Returns a value in all encodings. */
export function listEncodings(value: string): string[] {
  return encodings.map((encode) => encode(value));
}

export function splitAt(text: string, cuts: readonly number[]): string[] {
  const places = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].toSorted((a, b) => a - b);
  return [0, ...places].map((from, index) => text.slice(from, places[index] ?? text.length));
}
