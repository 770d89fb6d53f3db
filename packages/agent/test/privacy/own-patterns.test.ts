import { checkPrivacyFields, Vault } from "@deltawire/agent";
import type { PrivacyField } from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import { workTime } from "../../../../test/work-time.ts";

const problems = (pattern: string): string[] => checkPrivacyFields([{ kind: "pattern", pattern }]);

describe("a pattern that a backtracking engine takes for ever with is searched for at once", () => {
  const long = 80_000;
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
    // Here even an engine without backtracking reads the whole rest again for every match.
    ["a.*b|a", "a"],
  ])("%s", (pattern, unit) => {
    const vault = new Vault({ fields: [{ kind: "pattern", pattern }], known: [], tag: "x7f3" });
    const text = `${unit.repeat(long / unit.length)}\u0001`;
    expect(workTime(() => vault.isPrivate(text))).toBeLessThan(300);
  });
});

test("a pattern with a backreference is refused with what to write instead", () => {
  expect(problems("(.)\\1+")).toEqual([
    "[0].pattern: is not supported: \\1 refers back to what a group has found, which no search in linear time can do; write the alternatives out",
  ]);
  expect(problems("(?<n>a)\\k<n>")[0]).toContain("refers back");
});

test("a stored pattern that cannot be used masks nothing and sends nothing", () => {
  const fields: PrivacyField[] = [{ kind: "email" }, { kind: "pattern", pattern: "(.)\\1+" }];
  expect(() => new Vault({ fields, known: [], tag: "x7f3" })).toThrow(
    expect.objectContaining({
      code: "bad_fields",
      message: expect.stringContaining("[1].pattern: is not supported"),
    }),
  );
});

test.each([
  ["", "is empty"],
  ["a*", "matches the empty text"],
  ["x|", "matches the empty text"],
  ["(?=a)", "matches the empty text"],
  ["\\b", "matches the empty text"],
  ["[", "is not a regular expression"],
  ["a{6000}", "has more than 5000 characters with its repetitions written out"],
  ["a".repeat(501), "has 501 characters; 500 are the most"],
])("%j is refused: it %s", (pattern, problem) => {
  expect(problems(pattern)[0]).toContain(problem);
});

describe("an ordinary pattern can be used", () => {
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
    expect(problems(pattern)).toEqual([]);
  });
});

test.each<[PrivacyField[], string[]]>([
  [[{ kind: "email" }, { kind: "name" }], ["[1].value: is missing"]],
  [[{ kind: "text", value: "x" }], ["[0].value: has fewer than 2 characters"]],
  [[{ kind: "text", value: " {{ " }], ["[0].value: has neither a letter nor a digit"]],
  [[{ kind: "pattern" }], ["[0].pattern: is missing"]],
  [[{ kind: "email", pattern: "a" }], ['[0].pattern: only for the kind "pattern"']],
  [[{ kind: "name", value: "Bob", label: "BOB_B" }], ["[0].label: tells the value"]],
  [
    [{ kind: "email", label: "e-mail" }],
    ['[0].label: must begin with a letter and have letters, digits and "_" only, 30 at the most'],
  ],
  [[{ kind: "colour" as "name", value: "red" }], ['[0].kind: there is no kind "colour"']],
  [[{ kind: "email", value: "a@b.c", label: "work" }, { kind: "id" }], []],
])("the faults of %j are told with their place", (fields, told) => {
  expect(checkPrivacyFields(fields)).toEqual(told);
});
