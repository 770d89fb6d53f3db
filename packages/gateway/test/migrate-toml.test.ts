import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { parse } from "smol-toml";
import { describe, expect, test } from "vitest";
import { TomlEdits } from "../src/migrate/toml-edits.ts";
import { tomlPositions, type KeyPath } from "../src/config/toml-positions.ts";
import { tomlInlineTable, tomlKey, tomlString } from "../src/migrate/toml-text.ts";
import { tomlDocument } from "./toml-documents.ts";

function edited(toml: string, edit: (edits: TomlEdits) => void): string {
  const edits = new TomlEdits(toml, "config.toml");
  edit(edits);
  return edits.finish();
}

describe("the places of a document", () => {
  test("are those of its values, however it is written", () => {
    fc.assert(
      fc.property(tomlDocument, ({ toml, lines }) => {
        const document = parse(toml);
        const { entries, headers, items } = tomlPositions(toml);
        for (const { path } of lines) {
          const value = path.reduce<unknown>((at, part) => Object(at)[part], document);
          const isHere = (place: { path: KeyPath }) => isDeepStrictEqual(place.path, path);
          const entry = entries.find(isHere);
          expect(entry !== undefined || [...headers, ...items].some(isHere)).toBe(true);
          if (entry === undefined) continue;
          const written = toml.slice(entry.value.start, entry.value.end);
          expect(parse(`value = ${written}`)["value"]).toEqual(value);
        }
      }),
    );
  });

  test("are found for every key, also of tables inside tables, and of every comment", () => {
    const toml = "a.'b c' = { d = [1, { e = 2 }], f.g = '#' } # one\r\n[x . y] # two\n# three";
    const { entries, headers, comments } = tomlPositions(toml);
    expect(entries.map(({ path }) => path)).toEqual([
      ["a", "b c"],
      ["a", "b c", "d"],
      ["a", "b c", "d", 1, "e"],
      ["a", "b c", "f", "g"],
    ]);
    expect(headers.map(({ path }) => path)).toEqual([["x", "y"]]);
    const said = comments.map(({ start, end }) => toml.slice(start, end));
    expect(said).toEqual(["# one", "# two", "# three"]);
  });
});

describe("an edit", () => {
  test("of nothing changes nothing", () => {
    fc.assert(
      fc.property(tomlDocument, ({ toml }) => {
        expect(edited(toml, () => {})).toBe(toml);
      }),
    );
  });

  test("keeps the quotes and what stands beside a value", () => {
    const toml = "a   =  'x'\t# why\nb=\"y\"";
    expect(edited(toml, (edits) => edits.set(["a"], "it"))).toBe("a   =  'it'\t# why\nb=\"y\"");
    expect(edited(toml, (edits) => edits.set(["a"], "it's"))).toContain('"it\'s"');
    expect(edited(toml, (edits) => edits.set(["b"], 'a "b"\\'))).toContain('b="a \\"b\\"\\\\"');
  });

  test("adds a line in the manner of the one above it, also behind the last one", () => {
    const toml = "[t]\r\n  k.a=1\r\n  k.b=''\r\n";
    expect(edited(toml, (edits) => edits.add(["t", "k", "a"], "c", "x"))).toBe(
      "[t]\r\n  k.a=1\r\n  k.c=\"x\"\r\n  k.b=''\r\n",
    );
    expect(edited("a = 1", (edits) => edits.add(["a"], "b c", "x"))).toBe('a = 1\n"b c" = "x"');
  });

  test("removes a table with its header, its dotted keys and its blank line, and leaves comments", () => {
    const toml = `[p]
name = "n" # the name
h.one = "1" # first
# kept
[p.h.more] # of them

two = [ # second
  2,
]

[q]
k = 1
`;
    expect(edited(toml, (edits) => edits.remove(["p", "h"]))).toBe(`[p]
name = "n" # the name
# first
# kept
# of them

# second

[q]
k = 1
`);
    expect(edited("[a]\nk = 1\n\n[a.b]\nk = 2\n\n[c]\n", (edits) => edits.remove(["a", "b"]))).toBe(
      "[a]\nk = 1\n\n[c]\n",
    );
  });

  test.each([
    ["{ a = 1, b = 2, c = 3 }", "a", "{ b = 2, c = 3 }"],
    ["{ a = 1, b = 2, c = 3 }", "b", "{ a = 1, c = 3 }"],
    ["{ a = 1, b = 2, c = 3 }", "c", "{ a = 1, b = 2 }"],
    ["{a=1}", "a", "{}"],
    ["{ a = 1,\n  b = { x = 1 },\n}", "b", "{ a = 1,\n}"],
  ])("in an inline table %s without %s is %s", (before, name, after) => {
    expect(edited(`t = ${before}`, (edits) => edits.remove(["t", name]))).toBe(`t = ${after}`);
  });

  test("in an inline table adds behind one key while the rest goes", () => {
    const text = edited('t = { a = "1", b = 2, c = 3 } # why\n', (edits) => {
      edits.add(["t", "a"], "d", "4");
      edits.remove(["t", "b"]);
      edits.remove(["t", "c"]);
    });
    expect(text).toBe('t = { a = "1", d = "4" } # why\n');
  });

  test("that would lose a comment inside an inline table is refused with its line", () => {
    const toml = "\nt = { a = 1,\n  b = 2, # why\n  c = 3 }";
    expect(() => edited(toml, (edits) => edits.remove(["t", "b"]))).toThrow(
      "config.toml:3: t.b: a comment beside it would be lost",
    );
  });

  test("renames a table wherever it is named, also in what is added to it", () => {
    const toml = "p.'old'.a = 1\np.old.b = 2\n[p.old.c]\nd = 3\n[q]\nold = 4\n";
    const text = edited(toml, (edits) => {
      edits.rename(["p", "old"], "new");
      edits.add(["p", "old", "b"], "e", "5");
    });
    expect(text).toBe('p.new.a = 1\np.new.b = 2\np.new.e = "5"\n[p.new.c]\nd = 3\n[q]\nold = 4\n');
  });
});

test("a text written as TOML says the same when it is read", () => {
  const signs = [
    "a",
    "é",
    "😀",
    '"',
    "'",
    "\\",
    ".",
    "#",
    "=",
    " ",
    "\t",
    "\r",
    "\n",
    "\0",
    "\u007F",
  ];
  const text = fc.string({ unit: fc.constantFrom(...signs) });
  fc.assert(
    fc.property(text, text, fc.constantFrom('"', "'", "'''"), (name, value, quotes) => {
      expect(parse(`k = ${tomlString(value, quotes)}`)).toEqual({ k: value });
      expect(parse(`${tomlKey(name)} = 1`)).toEqual(Object.fromEntries([[name, 1]]));
      expect(parse(`k = ${tomlInlineTable([[name, value]])}`)["k"]).toEqual(
        Object.fromEntries([[name, value]]),
      );
    }),
  );
});
