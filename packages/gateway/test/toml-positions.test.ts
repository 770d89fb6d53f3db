import fc from "fast-check";
import { parse } from "smol-toml";
import { describe, expect, test } from "vitest";
import { KeyLines, type KeyPath } from "../src/config/toml-positions.ts";
import { tomlDocument } from "./toml-documents.ts";

function lineOf(toml: string, ...path: KeyPath): number | undefined {
  return new KeyLines(toml).lineOf(path);
}

describe("the line of a key", () => {
  test("is that of a plain key, of a header, and of a key under it", () => {
    const toml = "a = 1\n\n[server]\n# a comment\nport = 4141\n";
    expect(lineOf(toml, "a")).toBe(1);
    expect(lineOf(toml, "server")).toBe(3);
    expect(lineOf(toml, "server", "port")).toBe(5);
  });

  test("counts line ends of Windows once, and does not count a byte order mark", () => {
    expect(lineOf("\uFEFFa = 1\r\n[b]\r\nc = 2\r\n", "b", "c")).toBe(3);
    expect(lineOf("\uFEFFa = 1", "a")).toBe(1);
  });

  test("is found under dotted and quoted names", () => {
    const toml = `a.b.c = 1\n[x."y.z".'w "v"']\n"k\\u0065y" = 2\n`;
    expect(lineOf(toml, "a", "b", "c")).toBe(1);
    expect(lineOf(toml, "a", "b")).toBe(1);
    expect(lineOf(toml, "x", "y.z", 'w "v"', "key")).toBe(3);
  });

  test("of a table is that of its own header, though another one passed through before", () => {
    const toml = "[a.b]\nc = 1\n[a]\nd = 2\n";
    expect(lineOf(toml, "a")).toBe(3);
    expect(lineOf(toml, "a", "b")).toBe(1);
  });

  test("in a list of tables is that of the right one, tables inside included", () => {
    const toml = "[[q]]\nk = 1\n[[q]]\nk = 2\n[q.sub]\nz = 1\n[[q.more]]\nm = 1\n";
    expect(lineOf(toml, "q", 0, "k")).toBe(2);
    expect(lineOf(toml, "q", 1, "k")).toBe(4);
    expect(lineOf(toml, "q", 1, "sub", "z")).toBe(6);
    expect(lineOf(toml, "q", 1, "more", 0, "m")).toBe(8);
    expect(lineOf(toml, "q", 0, "sub")).toBeUndefined();
  });

  test("is not confused by a text of several lines that looks like a document", () => {
    const toml = `a = """\n[server]\nport = 1 # \\""" no end\n"""\nb = '''\nc = 1\n''quoted'''''\nc = 2\n`;
    expect(parse(toml)).toHaveProperty("c", 2);
    expect(lineOf(toml, "server")).toBeUndefined();
    expect(lineOf(toml, "b")).toBe(5);
    expect(lineOf(toml, "c")).toBe(8);
  });

  test("is not confused by brackets, hashes and quotes in texts and comments", () => {
    const toml = `a = "# [x] \\" = '" # "\nb = '[[y]]\\' # '\nc = [ # ]\n "]",\n]\nd = 1`;
    expect(parse(toml)).toHaveProperty("d", 1);
    expect(lineOf(toml, "b")).toBe(2);
    expect(lineOf(toml, "c", 0)).toBe(4);
    expect(lineOf(toml, "d")).toBe(6);
  });

  test("in an inline table is that of the key that holds it, where both stand on one line", () => {
    const toml = "x = 1\nmodel = { use = 'a/b', window = [1, { y = 2 }] }\nz = 3\n";
    expect(lineOf(toml, "model", "use")).toBe(2);
    expect(lineOf(toml, "model", "window", 1, "y")).toBe(2);
    expect(lineOf(toml, "z")).toBe(3);
  });

  test("of what is not there is that of the table around it, else the first", () => {
    const lines = new KeyLines("\n[upstreams.zai]\nspeaks = 'chat'\n");
    expect(lines.nearestLine(["upstreams", "zai", "base_url"])).toBe(2);
    expect(lines.nearestLine(["upstreams", "zai", "speaks", 3])).toBe(3);
    expect(lines.nearestLine(["server", "port"])).toBe(1);
  });

  test("is where it was written, in any document, and every key of the parser's has one", () => {
    fc.assert(
      fc.property(tomlDocument, ({ toml, lines }) => {
        const found = new KeyLines(toml);
        for (const { path, line } of lines)
          expect([path, found.lineOf(path)]).toEqual([path, line]);
        for (const path of pathsIn(parse(toml)))
          expect([path, found.lineOf(path)]).not.toEqual([path, undefined]);
      }),
      { numRuns: 300 },
    );
  });

  test("is asked for without a crash and without an end of its own in any text", () => {
    const signs = `[ ] { } = " ' \\ . , # a b 1 u """ ''' [[ \\u00 \uFEFF`.split(" ");
    const unit = fc.constantFrom(...signs, " ", "\n", "\r", "\t");
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 60 }), (text) => {
        const line = new KeyLines(text).nearestLine(["a", 0, "b"]);
        expect(line).toBeGreaterThanOrEqual(1);
        expect(line).toBeLessThanOrEqual(text.split("\n").length);
      }),
      { numRuns: 1000 },
    );
  });

  test("is found in a document that nests deeper than any stack", () => {
    expect(lineOf(`b = 1\na = ${"[".repeat(200_000)}`, "b")).toBe(1);
  });
});

function pathsIn(value: unknown, path: KeyPath = []): KeyPath[] {
  if (typeof value !== "object" || value === null || value instanceof Date) return [path];
  const isList = Array.isArray(value);
  const inside = Object.entries(value).flatMap(([name, item]) =>
    pathsIn(item, [...path, isList ? Number(name) : name]),
  );
  return path.length === 0 ? inside : [path, ...inside];
}
