import fc from "fast-check";
import { parse } from "smol-toml";
import { describe, expect, test } from "vitest";
import { KeyLineIndex, type KeyPath } from "../src/config/toml-positions.ts";
import { tomlDocumentArbitrary } from "./toml-documents.ts";

function findLine(toml: string, ...path: KeyPath): number | undefined {
  return new KeyLineIndex(toml).findLine(path);
}

describe("the line of a key", () => {
  test("is found for a key, a header, and a key under it", () => {
    const toml = "a = 1\n\n[server]\n# a comment\nport = 4141\n";
    expect(findLine(toml, "a")).toBe(1);
    expect(findLine(toml, "server")).toBe(3);
    expect(findLine(toml, "server", "port")).toBe(5);
  });

  test("counts Windows line endings once, and ignores a byte order mark", () => {
    expect(findLine("\uFEFFa = 1\r\n[b]\r\nc = 2\r\n", "b", "c")).toBe(3);
    expect(findLine("\uFEFFa = 1", "a")).toBe(1);
  });

  test("is found under dotted and quoted names", () => {
    const toml = `a.b.c = 1\n[x."y.z".'w "v"']\n"k\\u0065y" = 2\n`;
    expect(findLine(toml, "a", "b", "c")).toBe(1);
    expect(findLine(toml, "a", "b")).toBe(1);
    expect(findLine(toml, "x", "y.z", 'w "v"', "key")).toBe(3);
  });

  test("of a table is that of its own header, even if another header contains it", () => {
    const toml = "[a.b]\nc = 1\n[a]\nd = 2\n";
    expect(findLine(toml, "a")).toBe(3);
    expect(findLine(toml, "a", "b")).toBe(1);
  });

  test("is found in arrays of tables, including nested tables", () => {
    const toml = "[[q]]\nk = 1\n[[q]]\nk = 2\n[q.sub]\nz = 1\n[[q.more]]\nm = 1\n";
    expect(findLine(toml, "q", 0, "k")).toBe(2);
    expect(findLine(toml, "q", 1, "k")).toBe(4);
    expect(findLine(toml, "q", 1, "sub", "z")).toBe(6);
    expect(findLine(toml, "q", 1, "more", 0, "m")).toBe(8);
    expect(findLine(toml, "q", 0, "sub")).toBeUndefined();
  });

  test("is not confused by a multi-line string that looks like TOML", () => {
    const toml = `a = """\n[server]\nport = 1 # \\""" no end\n"""\nb = '''\nc = 1\n''quoted'''''\nc = 2\n`;
    expect(parse(toml)).toHaveProperty("c", 2);
    expect(findLine(toml, "server")).toBeUndefined();
    expect(findLine(toml, "b")).toBe(5);
    expect(findLine(toml, "c")).toBe(8);
  });

  test("is not confused by brackets, hashes and quotes in strings and comments", () => {
    const toml = `a = "# [x] \\" = '" # "\nb = '[[y]]\\' # '\nc = [ # ]\n "]",\n]\nd = 1`;
    expect(parse(toml)).toHaveProperty("d", 1);
    expect(findLine(toml, "b")).toBe(2);
    expect(findLine(toml, "c", 0)).toBe(4);
    expect(findLine(toml, "d")).toBe(6);
  });

  test("in an inline table is that of its key", () => {
    const toml = "x = 1\nmodel = { use = 'a/b', window = [1, { y = 2 }] }\nz = 3\n";
    expect(findLine(toml, "model", "use")).toBe(2);
    expect(findLine(toml, "model", "window", 1, "y")).toBe(2);
    expect(findLine(toml, "z")).toBe(3);
  });

  test("of a missing key is that of its table, else the first line", () => {
    const lines = new KeyLineIndex("\n[upstreams.zai]\nspeaks = 'chat'\n");
    expect(lines.findNearestLine(["upstreams", "zai", "base_url"])).toBe(2);
    expect(lines.findNearestLine(["upstreams", "zai", "speaks", 3])).toBe(3);
    expect(lines.findNearestLine(["server", "port"])).toBe(1);
  });

  test("is correct in any document, for every key of the parser", () => {
    fc.assert(
      fc.property(tomlDocumentArbitrary, ({ toml, lines }) => {
        const index = new KeyLineIndex(toml);
        for (const { path, line } of lines)
          expect([path, index.findLine(path)]).toEqual([path, line]);
        for (const path of listPaths(parse(toml)))
          expect([path, index.findLine(path)]).not.toEqual([path, undefined]);
      }),
      { numRuns: 300 },
    );
  });

  test("is searched without an error or an endless loop in any text", () => {
    const signs = `[ ] { } = " ' \\ . , # a b 1 u """ ''' [[ \\u00 \uFEFF`.split(" ");
    const unit = fc.constantFrom(...signs, " ", "\n", "\r", "\t");
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 60 }), (text) => {
        const line = new KeyLineIndex(text).findNearestLine(["a", 0, "b"]);
        expect(line).toBeGreaterThanOrEqual(1);
        expect(line).toBeLessThanOrEqual(text.split("\n").length);
      }),
      { numRuns: 1000 },
    );
  });

  test("is found in a document with nesting deeper than the call stack", () => {
    expect(findLine(`b = 1\na = ${"[".repeat(200_000)}`, "b")).toBe(1);
  });
});

function listPaths(value: unknown, path: KeyPath = []): KeyPath[] {
  if (typeof value !== "object" || value === null || value instanceof Date) return [path];
  const isList = Array.isArray(value);
  const inside = Object.entries(value).flatMap(([name, item]) =>
    listPaths(item, [...path, isList ? Number(name) : name]),
  );
  return path.length === 0 ? inside : [path, ...inside];
}
