import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { editJson } from "../src/migrate/json-editor.ts";
import { parseJsonDocument } from "../src/migrate/json-document.ts";
import { redactJson } from "../src/migrate/redact-json.ts";
import type { JsonValue, Setting } from "../src/migrate/settings-file.ts";

const edit = (text: string | undefined, ...settings: Setting[]) =>
  editJson(text, "settings.json", settings);
const parse = (text: string) => parseJsonDocument(text, "settings.json").value;

describe("a setting in a JSON file", () => {
  test("is added with the indentation of the file; comments and everything else stay", () => {
    const text = `{
    // mine
    "list": [ 1,2 ], /* and */
    "env": {
        "A": "1" // one
    },
}
`;
    expect(edit(text, { path: ["env", "B"], value: "2" }, { path: ["model", "name"], value: "m" }))
      .toBe(`{
    // mine
    "list": [ 1,2 ], /* and */
    "env": {
        "A": "1",
        "B": "2" // one
    },
    "model": {
        "name": "m"
    },
}
`);
  });

  test("replaces only its value", () => {
    const text = '{"a":{"b":"old"},"n":12345678901234567890}';
    expect(edit(text, { path: ["a", "b"], value: { c: [1] } })).toBe(
      '{"a":{"b":{\n  "c": [\n    1\n  ]\n}},"n":12345678901234567890}',
    );
    expect(edit(text, { path: ["a", "d"], value: true })).toBe(
      '{"a":{"b":"old", "d": true},"n":12345678901234567890}',
    );
  });

  test("creates the file, and the objects around it", () => {
    const created = '{\n  "a": {\n    "b": 1\n  }\n}\n';
    for (const text of [undefined, "", " \n"])
      expect(edit(text, { path: ["a", "b"], value: 1 })).toBe(created);
    expect(edit("{}", { path: ["a"], value: 1 })).toBe('{\n  "a": 1\n}');
    expect(edit("{ // empty\n}\n", { path: ["a"], value: 1 })).toBe('{ // empty\n  "a": 1\n}\n');
  });

  test("keeps Windows line endings", () => {
    expect(edit('{\r\n  "a": 1\r\n}\r\n', { path: ["b"], value: { c: 2 } })).toBe(
      '{\r\n  "a": 1,\r\n  "b": {\r\n    "c": 2\r\n  }\r\n}\r\n',
    );
  });

  test("is not written into an invalid file, and the error names the line but no value", () => {
    const secret = "sk-verysecret0123456789";
    expect(() => edit(`{\n  "key": "${secret}"\n  "b": 1 }`, { path: ["a"], value: 1 })).toThrow(
      'settings.json:3: is no valid JSON: expected "," or "}"',
    );
    for (const text of ["{", '{"a" 1}', "{} {}", '{"a": tru}', '{"a": "b', "{1: 2}", '["a"'])
      expect(() => edit(text, { path: ["a"], value: 1 }), text).toThrow(/settings.json:1: is no/);
    expect(() => edit("[".repeat(100_000), { path: ["a"], value: 1 })).toThrow("too deeply");
  });

  test("is not written into a value that is no object", () => {
    expect(() => edit('{\n"env": "x"}', { path: ["env", "A"], value: "1" })).toThrow(
      "settings.json:2: env must contain an object, so env.A cannot be set",
    );
    expect(() => edit("[]", { path: ["a"], value: "1" })).toThrow(
      "settings.json:1: the file must contain an object, so a cannot be set",
    );
  });
});

// Without -0, which JSON cannot express.
const json = fc.json().map((text) => JSON.parse(text) as JsonValue);
const name = fc.constantFrom("a", "b", "env", 'ä"\\', "");
const inner = fc.dictionary(name, fc.oneof(fc.dictionary(name, json), fc.constant({})));
const document = fc.dictionary(name, inner);
const setting = fc.record({ path: fc.tuple(name, name, name), value: json });

test("in any document, the setting is set, nothing else changes, and a second time changes nothing", () => {
  fc.assert(
    fc.property(document, fc.constantFrom(0, 2, "\t"), setting, (before, indent, one) => {
      const edited = edit(JSON.stringify(before, null, indent), one);
      const [a, b, c] = one.path;
      const expected = {
        ...before,
        [a]: { ...before[a], [b]: { ...before[a]?.[b], [c]: one.value } },
      };
      expect(parse(edited)).toEqual(parse(JSON.stringify(expected)));
      expect(edit(edited, one)).toBe(edited);
    }),
  );
});

test("keys are replaced in every diff, also in comments, but names of models and numbers are not", () => {
  const text = `{
  "env": {
    "ANTHROPIC_API_KEY": "short",
    "ANTHROPIC_AUTH_TOKEN": "local",
    "CLAUDE_CODE_MAX_CONTEXT_TOKENS": "200000",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    // "OPENAI_API_KEY": "hidden",
    "MODEL": "zai/glm-4.6"
  },
  "options": { "apiKey": "{env:MY_KEY}", "header": "Bearer abcdef0123456789" }
}`;
  expect(redactJson(text)).toBe(
    text
      .replace('"short"', '"…"')
      .replace('"hidden"', '"…"')
      .replace("Bearer abcdef0123456789", "…"),
  );
});
