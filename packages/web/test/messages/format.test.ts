import { expect, test } from "vitest";
import { createFormatter } from "../../src/messages/format.ts";
import { pickLanguage } from "../../src/messages/define-messages.ts";

const english = createFormatter("en");
const chinese = createFormatter("zh");

test.each([
  [0, "0.0 s"],
  [420, "0.4 s"],
  [9_940, "9.9 s"],
  [9_960, "10 s"],
  [59_499, "59 s"],
  [60_000, "1 min 0 s"],
  [185_000, "3 min 5 s"],
  [7_800_000, "2 h 10 min"],
])("%d ms are formatted as %s", (ms, words) => {
  expect(english.duration(ms)).toBe(words);
});

test.each([
  [604_800, "7 days", "7天"],
  [7_200, "2 hours", "2小时"],
  [60, "1 minute", "1分钟"],
  [90, "90 seconds", "90秒钟"],
  [0, "0 seconds", "0秒钟"],
])(
  "a period of %d seconds is formatted as %s, in Chinese as %s",
  (seconds, inEnglish, inChinese) => {
    expect([english.period(seconds), chinese.period(seconds)]).toEqual([inEnglish, inChinese]);
  },
);

test("durations in Chinese have Chinese units", () => {
  expect(chinese.duration(185_000)).toBe("3 分 5 秒");
});

test.each([
  [0, "0"],
  [0.00004, "<0.0001"],
  [0.0123, "0.0123"],
  [0.5, "0.5"],
  [2, "2"],
  [12.345, "12.35"],
])("a cost of %d is formatted as %s", (sum, words) => {
  expect(english.cost(sum)).toBe(words);
});

test.each([
  [0, "0%"],
  [0.004, "0%"],
  [0.29, "29%"],
  [2 / 3, "66%"],
  [0.999, "99%"],
  [1, "100%"],
])("a fraction of %d is formatted as %s", (fraction, words) => {
  expect([english.percent(fraction), chinese.percent(fraction)]).toEqual([words, words]);
});

test("counts from 1,000 are abbreviated", () => {
  expect([830, 12_400, 1_200_000].map((count) => english.compactCount(count))).toEqual([
    "830",
    "12.4K",
    "1.2M",
  ]);
});

test("a date of today is shown as a time, one of this year as a day, and others with the year", () => {
  const now = new Date("2026-11-15T12:00:00");
  expect(english.shortDate("2026-11-15T09:05:00", now)).toMatch(/09:05/);
  expect(english.shortDate("2026-03-02T09:05:00", now)).toBe("Mar 2");
  expect(english.shortDate("2024-03-02T09:05:00", now)).toMatch(/2024/);
  expect(english.shortDate("no date", now)).toBe("");
});

test("the first preferred language that the page supports is used", () => {
  expect(pickLanguage(["fr-FR", "zh-TW", "en"])).toBe("zh");
  expect(pickLanguage(["en-GB", "zh"])).toBe("en");
  expect(pickLanguage(["fr"])).toBe("en");
});
