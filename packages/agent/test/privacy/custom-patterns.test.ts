import { checkPrivacyFields, Vault } from "@deltawire/agent";
import type { PrivacyField } from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import { measureCpuTime } from "../../../../test/cpu-time.ts";

const findProblems = (pattern: string): string[] =>
  checkPrivacyFields([{ kind: "pattern", pattern }]);

describe("a pattern with catastrophic backtracking is searched in linear time", () => {
  const textLength = 80_000;
  test.each([
    ["\\w+\\d", "a"],
    ["(a+)+$", "a"],
    ["(a|a)*b", "a"],
    ["(.*)*x", "a"],
    ["((a+)b?)+c", "a"],
    ["(?:(?:a|b)+c?)+d", "ab"],
    ["(a|ab|b)*c", "ab"],
    ["(foo|fo+)+x", "fo"],
    ["(\\w+\\s?)+:", "a "],
    ["(?:a{1,10}){1,10}b", "a"],
    ["^(([a-z])+.)+[A-Z]([a-z])+$", "ab"],
    ["(?:\\s*foo\\s*)*bar", "foo "],
    ["([\\s\\S]|.)*x", "ab"],
    ["(中|[一-龥])+x", "中"],
    ["a(?=(b+)+$)", "ab"],
    ["a(?<!(b+)+c)b", "b"],
    ["(a?){25}a{25}x", "a"],
    [".*.*.*x", "a"],
    ["\\s*\\s*\\s*\\s*x", " "],
    ["(?:a?a){30}b", "a"],
    // Even an engine without backtracking rereads the rest of the text for every match of this one.
    ["a.*b|a", "a"],
  ])("%s", (pattern, unit) => {
    const vault = new Vault({ fields: [{ kind: "pattern", pattern }], known: [], tag: "x7f3" });
    const text = `${unit.repeat(textLength / unit.length)}\u0001`;
    expect(measureCpuTime(() => vault.isPrivate(text))).toBeLessThan(300);
  });
});

test("a pattern with a backreference is rejected with a hint", () => {
  expect(findProblems("(.)\\1+")).toEqual([
    "[0].pattern: is not supported: \\1 is a backreference, which a search in linear time cannot support; write the alternatives out",
  ]);
  expect(findProblems("(?<n>a)\\k<n>")[0]).toContain("is a backreference");
});

test("an unsupported pattern in stored settings throws, so that nothing is sent unmasked", () => {
  const fields: PrivacyField[] = [{ kind: "email" }, { kind: "pattern", pattern: "(.)\\1+" }];
  expect(() => new Vault({ fields, known: [], tag: "x7f3" })).toThrow(
    expect.objectContaining({
      code: "bad_fields",
      message: expect.stringContaining("[1].pattern: is not supported"),
    }),
  );
});

test.each([
  ["", "must not be empty"],
  ["a*", "must not match the empty string"],
  ["x|", "must not match the empty string"],
  ["(?=a)", "must not match the empty string"],
  ["\\b", "must not match the empty string"],
  ["[", "is not a valid regular expression"],
  ["a{6000}", "has more than 5000 characters after expanding its repetitions"],
  ["a".repeat(501), "must have at most 500 characters, has 501"],
])("pattern %j is rejected: %s", (pattern, problem) => {
  expect(findProblems(pattern)[0]).toContain(problem);
});

describe("a pattern is accepted:", () => {
  test.each([
    "EMP-\\d{4,8}",
    "[\\w.]+@(\\w+\\.)+\\w+",
    "(?:\\d{4}[- ]?){4}",
    "[A-Z]+-\\d+",
    "\\b\\d{3}-\\d{2}-\\d{4}\\b",
    "(?:\\d{1,3}\\.){3}\\d{1,3}",
    "员工\\d{6}",
    "客户[：:]\\s*\\S+",
    "\\p{Lu}\\p{L}+(?: \\p{Lu}\\p{L}+)*",
    "(?:foo|bar)+baz",
    "\\b[A-Z]{2}\\d{2}(?: ?[A-Z0-9]{4}){3,7}\\b",
    "(?<=user=)\\w+",
    "(?i:acme) corp",
    "https?://[^\\s/]+\\.internal(?:/\\S*)?",
    "[a-f0-9]{32}",
    "\\$\\d+(?:,\\d{3})*(?:\\.\\d{2})?",
    "^Name: .+$",
    "(?:[a-z]+-)+prod",
    '"secret":"[^"\\\\]*"',
    "[\\]\\[{}]+x",
    "a]b{c}",
  ])("%s", (pattern) => {
    expect(findProblems(pattern)).toEqual([]);
  });
});

test.each<[PrivacyField[], string[]]>([
  [[{ kind: "email" }, { kind: "name" }], ["[1].value: is required"]],
  [[{ kind: "text", value: "x" }], ["[0].value: must have at least 2 characters"]],
  [[{ kind: "text", value: " {{ " }], ["[0].value: must contain a letter or a digit"]],
  [[{ kind: "pattern" }], ["[0].pattern: is required"]],
  [[{ kind: "email", pattern: "a" }], ['[0].pattern: only allowed for the kind "pattern"']],
  [[{ kind: "name", value: "Bob", label: "BOB_B" }], ["[0].label: must not contain the value"]],
  [
    [{ kind: "email", label: "e-mail" }],
    [
      '[0].label: must start with a letter, contain only letters, digits and "_", and have at most 30 characters',
    ],
  ],
  [[{ kind: "color" as "name", value: "red" }], ['[0].kind: unknown kind "color"']],
  [[{ kind: "email", value: "a@b.c", label: "work" }, { kind: "id" }], []],
])("problems of the fields %j are reported with their path", (fields, expected) => {
  expect(checkPrivacyFields(fields)).toEqual(expected);
});
