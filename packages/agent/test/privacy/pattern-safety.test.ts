import type { PrivacyField } from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import { workTime } from "../../../../test/work-time.ts";
import { checkFormOfFields, checkPrivacyFields } from "../../src/privacy/check-fields.ts";

const problems = (pattern: string): string[] => checkPrivacyFields([{ kind: "pattern", pattern }]);

describe("a pattern that can take for ever is refused at once", () => {
  test.each([
    "(a+)+$",
    "(a|a)*b",
    "(.*)*x",
    "(a*)*",
    "((a+)b?)+c",
    "((((a+))))+b",
    "(?:(?:a|b)+c?)+d",
    "(a|ab|b)*c",
    "(a|b|[ab])+z",
    "(foo|fo+)+x",
    "([a-z]+)*\\d",
    "(\\w+\\s?)*$",
    "(\\w+\\s?)+:",
    "(x+x+)+y",
    "(\\d+\\d+)+x",
    "(?:a{1,10}){1,10}b",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
    "(?:\\s*foo\\s*)*bar",
    "(\\p{L}|[a-z])+1",
    "([\\s\\S]|.)*x",
    "(中|[一-龥])+x",
    "a(?=(b+)+$)",
    "a(?<!(b+)+c)",
    "(a?){25}a{25}",
    "a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?aaaaaaaaaaaaaaaaaaaaaa",
    "(.)\\1+",
    "(?<n>a)\\k<n>",
  ])("%s", (pattern) => {
    let found: string[] = [];
    // Three milliseconds at the most were measured.
    expect(workTime(() => (found = problems(pattern)))).toBeLessThan(100);
    expect(found).toEqual([expect.stringMatching(/^\[0\]\.pattern: /)]);
    // Its form has told, and nothing had to be tried, which takes until a time is up.
    expect(checkFormOfFields([{ kind: "pattern", pattern }])).toEqual(found);
  });
});

test.each([".*.*.*x", "\\s*\\s*\\s*\\s*x", "(?:a?a){30}b"])(
  "%s is found slow by trying it",
  (pattern) => {
    expect(problems(pattern)).toEqual(["[0].pattern: takes too long with some texts"]);
  },
);

test.each([
  ["", "is empty"],
  ["a*", "matches the empty text"],
  ["x|", "matches the empty text"],
  ["(?=a)", "matches the empty text"],
  ["\\b", "matches the empty text"],
  ["[", "is no regular expression"],
  ["a{2000}", "repeats more than 1000 times"],
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
