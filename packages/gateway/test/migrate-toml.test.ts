import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { parse } from "smol-toml";
import { describe, expect, test } from "vitest";
import { TomlEditor } from "../src/migrate/toml-editor.ts";
import { scanTomlPositions, type KeyPath } from "../src/config/toml-positions.ts";
import {
  formatTomlInlineTable,
  formatTomlKey,
  formatTomlString,
} from "../src/migrate/format-toml.ts";
import { tomlDocumentArbitrary } from "./toml-documents.ts";

function edited(toml: string, edit: (edits: TomlEditor) => void): string {
  const edits = new TomlEditor(toml, "config.toml");
  edit(edits);
  return edits.finish();
}

describe("the positions in a document", () => {
  test("are those of its values, in any notation", () => {
    fc.assert(
      fc.property(tomlDocumentArbitrary, ({ toml, lines }) => {
        const document = parse(toml);
        const { entries, headers, items } = scanTomlPositions(toml);
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

  test("include every key, including those of nested tables, and every comment", () => {
    const toml = "a.'b c' = { d = [1, { e = 2 }], f.g = '#' } # one\r\n[x . y] # two\n# three";
    const { entries, headers, comments } = scanTomlPositions(toml);
    expect(entries.map(({ path }) => path)).toEqual([
      ["a", "b c"],
      ["a", "b c", "d"],
      ["a", "b c", "d", 1, "e"],
      ["a", "b c", "f", "g"],
    ]);
    expect(headers.map(({ path }) => path)).toEqual([["x", "y"]]);
    const commentTexts = comments.map(({ start, end }) => toml.slice(start, end));
    expect(commentTexts).toEqual(["# one", "# two", "# three"]);
  });
});

describe("an edit", () => {
  test("without changes returns the same text", () => {
    fc.assert(
      fc.property(tomlDocumentArbitrary, ({ toml }) => {
        expect(edited(toml, () => {})).toBe(toml);
      }),
    );
  });

  test("keeps the quotes and the rest of the line", () => {
    const toml = "a   =  'x'\t# why\nb=\"y\"";
    expect(edited(toml, (edits) => edits.set(["a"], "it"))).toBe("a   =  'it'\t# why\nb=\"y\"");
    expect(edited(toml, (edits) => edits.set(["a"], "it's"))).toContain('"it\'s"');
    expect(edited(toml, (edits) => edits.set(["b"], 'a "b"\\'))).toContain('b="a \\"b\\"\\\\"');
  });

  test("adds a line in the style of the line above it, even at the end", () => {
    const toml = "[t]\r\n  k.a=1\r\n  k.b=''\r\n";
    expect(edited(toml, (edits) => edits.add(["t", "k", "a"], "c", "x"))).toBe(
      "[t]\r\n  k.a=1\r\n  k.c=\"x\"\r\n  k.b=''\r\n",
    );
    expect(edited("a = 1", (edits) => edits.add(["a"], "b c", "x"))).toBe('a = 1\n"b c" = "x"');
  });

  test("removes a table with its header, dotted keys and blank line, but not comments", () => {
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

  test("in an inline table can add a key while others are removed", () => {
    const text = edited('t = { a = "1", b = 2, c = 3 } # why\n', (edits) => {
      edits.add(["t", "a"], "d", "4");
      edits.remove(["t", "b"]);
      edits.remove(["t", "c"]);
    });
    expect(text).toBe('t = { a = "1", d = "4" } # why\n');
  });

  test("that would remove a comment inside an inline table is an error with the line", () => {
    const toml = "\nt = { a = 1,\n  b = 2, # why\n  c = 3 }";
    expect(() => edited(toml, (edits) => edits.remove(["t", "b"]))).toThrow(
      "config.toml:3: t.b: cannot be removed because of the comment next to it; move the comment first",
    );
  });

  test("renames a table everywhere, even in added keys", () => {
    const toml = "p.'old'.a = 1\np.old.b = 2\n[p.old.c]\nd = 3\n[q]\nold = 4\n";
    const text = edited(toml, (edits) => {
      edits.rename(["p", "old"], "new");
      edits.add(["p", "old", "b"], "e", "5");
    });
    expect(text).toBe('p.new.a = 1\np.new.b = 2\np.new.e = "5"\n[p.new.c]\nd = 3\n[q]\nold = 4\n');
  });
});

test("a formatted TOML string parses to the same text", () => {
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
      expect(parse(`k = ${formatTomlString(value, quotes)}`)).toEqual({ k: value });
      expect(parse(`${formatTomlKey(name)} = 1`)).toEqual(Object.fromEntries([[name, 1]]));
      expect(parse(`k = ${formatTomlInlineTable([[name, value]])}`)["k"]).toEqual(
        Object.fromEntries([[name, value]]),
      );
    }),
  );
});

test.each(['"', "'"])(
  "a lone surrogate between %s becomes U+FFFD, because TOML forbids it",
  (quotes) => {
    expect(parse(`k = ${formatTomlString("a\uD800", quotes)}`)).toEqual({ k: "a\uFFFD" });
  },
);
