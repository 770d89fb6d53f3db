import { expect, test } from "vitest";
import { formatFor } from "../../src/words/format.ts";
import { languageOf } from "../../src/words/words.ts";

const english = formatFor("en");
const chinese = formatFor("zh");

test.each([
  [0, "0.0 s"],
  [420, "0.4 s"],
  [9_940, "9.9 s"],
  [9_960, "10 s"],
  [59_499, "59 s"],
  [60_000, "1 min 0 s"],
  [185_000, "3 min 5 s"],
  [7_800_000, "2 h 10 min"],
])("%d ms are %s", (ms, words) => {
  expect(english.duration(ms)).toBe(words);
});

test.each([
  [604_800, "7 days", "7天"],
  [7_200, "2 hours", "2小时"],
  [60, "1 minute", "1分钟"],
  [90, "90 seconds", "90秒钟"],
  [0, "0 seconds", "0秒钟"],
])("a period of %d seconds is %s", (seconds, inEnglish, inChinese) => {
  expect([english.period(seconds), chinese.period(seconds)]).toEqual([inEnglish, inChinese]);
});

test("durations are told in the language of the page", () => {
  expect(chinese.duration(185_000)).toBe("3 分 5 秒");
});

test.each([
  [0, "0"],
  [0.00004, "<0.0001"],
  [0.0123, "0.0123"],
  [0.5, "0.5"],
  [2, "2"],
  [12.345, "12.35"],
])("a cost of %d is written %s", (sum, words) => {
  expect(english.cost(sum)).toBe(words);
});

test.each([
  [0, "0%"],
  [0.004, "0%"],
  [0.29, "29%"],
  [2 / 3, "66%"],
  [0.999, "99%"],
  [1, "100%"],
])("%d of one is told as %s", (fraction, words) => {
  expect([english.percent(fraction), chinese.percent(fraction)]).toEqual([words, words]);
});

test("tokens are exact while they are few", () => {
  expect([830, 12_400, 1_200_000].map((count) => english.tokens(count))).toEqual([
    "830",
    "12.4K",
    "1.2M",
  ]);
});

test("today is a time, this year a day, and another year says which", () => {
  const now = new Date("2026-11-15T12:00:00");
  expect(english.when("2026-11-15T09:05:00", now)).toMatch(/09:05/);
  expect(english.when("2026-03-02T09:05:00", now)).toBe("Mar 2");
  expect(english.when("2024-03-02T09:05:00", now)).toMatch(/2024/);
  expect(english.when("no date", now)).toBe("");
});

test("of the languages that a browser prefers the first that the page speaks is taken", () => {
  expect(languageOf(["fr-FR", "zh-TW", "en"])).toBe("zh");
  expect(languageOf(["en-GB", "zh"])).toBe("en");
  expect(languageOf(["fr"])).toBe("en");
});
