import fc from "fast-check";
import type { KeyPath } from "../src/config/toml-positions.ts";

export interface TomlDocument {
  readonly toml: string;
  /** The line of each key. */
  readonly lines: readonly { path: KeyPath; line: number }[];
}

type Value =
  | { kind: "scalar"; text: string }
  | { kind: "list"; items: Value[]; isLong: boolean }
  | { kind: "inline"; entries: [string, Value][] };

interface Table {
  entries: { keys: string[]; value: Value; comment: string }[];
  tables: { name: string; style: "header" | "list"; tables: Table[] }[];
}

const key = fc.constantFrom(
  "a",
  "b-c",
  "1",
  "port",
  "a.b",
  "x y",
  "",
  "[t]",
  "#",
  "é",
  'say "hi"',
  "k=v",
  "tab\t",
);

const scalar = fc
  .constantFrom(
    "1",
    "-0.5e3",
    "true",
    "inf",
    "1979-05-27",
    "1979-05-27 07:32:00",
    '""',
    "''",
    '"# [x] = \\" \\\\"',
    "'C:\\dir\\'",
    '"""\n[server]\nport = 1\n"""',
    '"""a ""quoted"" \\""" word"""""',
    "'''\n# no comment\n[[x]]\nk = '1'\n''''",
  )
  .map((text): Value => ({ kind: "scalar", text }));

const { value } = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    { weight: 4, arbitrary: scalar },
    fc.record({
      kind: fc.constant("list" as const),
      items: fc.array(tie("value"), { maxLength: 3 }),
      isLong: fc.boolean(),
    }),
    fc.record({
      kind: fc.constant("inline" as const),
      entries: fc.uniqueArray(fc.tuple(key, tie("value")), {
        maxLength: 3,
        selector: ([name]) => name,
      }),
    }),
  ),
}));

const { table } = fc.letrec<{ table: Table }>((tie) => ({
  table: fc.record({
    entries: fc.uniqueArray(
      fc.record({
        keys: fc.array(key, { minLength: 1, maxLength: 3 }),
        value,
        comment: fc.constantFrom("", " # [x]", " # \"'", "\n\n# k = 1"),
      }),
      { maxLength: 4, selector: ({ keys }) => keys[0] },
    ),
    tables: fc.array(
      fc.record({
        name: key,
        style: fc.constantFrom("header" as const, "list" as const),
        tables: fc.oneof(
          { maxDepth: 3 },
          fc.constant<Table[]>([]),
          fc.array(tie("table"), { minLength: 1, maxLength: 2 }),
        ),
      }),
      { maxLength: 3 },
    ),
  }),
}));

/** Valid TOML documents, with the lines of their keys. */
export const tomlDocumentArbitrary: fc.Arbitrary<TomlDocument> = fc
  .tuple(table, fc.constantFrom("\n", "\r\n"), fc.infiniteStream(fc.boolean()))
  .map(([root, lineEnding, coins]) => new Writer(coins).write(root, lineEnding));

class Writer {
  readonly #coins: Iterator<boolean>;
  readonly #lines: { path: KeyPath; line: number }[] = [];
  #toml = "";

  constructor(coins: Iterator<boolean>) {
    this.#coins = coins;
  }

  write(root: Table, lineEnding: string): TomlDocument {
    this.#table(root, [], []);
    return { toml: this.#toml.replaceAll("\n", lineEnding), lines: this.#lines };
  }

  #table({ entries, tables }: Table, path: KeyPath, header: readonly string[]): void {
    for (const { keys, value, comment } of entries) {
      this.#record([...path, ...keys]);
      this.#toml += `${keys.map((name) => this.#key(name)).join(this.#coin() ? "." : " . ")} = `;
      this.#value(value, [...path, ...keys]);
      this.#toml += `${comment}\n`;
    }
    const used = new Set(entries.map(({ keys }) => keys[0]));
    for (const { name, style, tables: inside } of tables) {
      if (used.has(name)) continue;
      used.add(name);
      const names = [...header, name];
      const written = names.map((part) => this.#key(part)).join(".");
      const own = style === "header" ? inside.slice(0, 1) : inside;
      own.forEach((one, index) => {
        const place = style === "header" ? [...path, name] : [...path, name, index];
        this.#record(place);
        this.#toml += style === "header" ? `[${written}] # ]\n` : `[[ ${written} ]]\n`;
        this.#table(one, place, names);
      });
    }
  }

  #value(value: Value, path: KeyPath): void {
    switch (value.kind) {
      case "scalar":
        this.#toml += value.text;
        return;
      case "list":
        this.#toml += "[";
        value.items.forEach((item, index) => {
          if (value.isLong) this.#toml += " # ], [\n  ";
          this.#record([...path, index]);
          this.#value(item, [...path, index]);
          this.#toml += index < value.items.length - 1 ? ", " : "";
        });
        this.#toml += value.isLong ? "\n]" : "]";
        return;
      case "inline":
        this.#toml += "{ ";
        value.entries.forEach(([name, item], index) => {
          this.#record([...path, name]);
          this.#toml += `${this.#key(name)} = `;
          this.#value(item, [...path, name]);
          this.#toml += index < value.entries.length - 1 ? ", " : "";
        });
        this.#toml += " }";
    }
  }

  #key(name: string): string {
    if (/^[\w-]+$/.test(name) && this.#coin()) return name;
    return /['\t]/.test(name) || this.#coin() ? JSON.stringify(name) : `'${name}'`;
  }

  #record(path: KeyPath): void {
    this.#lines.push({ path, line: this.#toml.split("\n").length });
  }

  #coin(): boolean {
    return this.#coins.next().value === true;
  }
}
