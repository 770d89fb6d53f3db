import { useContext } from "react";
import { LanguageContext } from "./use-words.ts";
import type { Language } from "./words.ts";

/** Numbers, times and sums as the page writes them everywhere. */
export interface Format {
  /** `0.4 s`, `12 s`, `3 min 5 s`, `2 h 10 min`. */
  duration(ms: number): string;
  /** Of a setting, in the largest unit that says it exactly: `7 days`, `90 seconds`. */
  period(seconds: number): string;
  /** `830`, `12.4k`, `1.2M`. */
  tokens(count: number): string;
  /** Up to four places, as prices of tokens are small. */
  cost(sum: number): string;
  bytes(size: number): string;
  /** Of a part of one: `7%`; all of it only when all is done. */
  percent(fraction: number): string;
  /** `14:05` today, else the day. */
  when(iso: string, now: Date): string;
  /** The whole date and time. */
  exactly(iso: string): string;
}

export function formatFor(language: Language): Format {
  const short = new Intl.NumberFormat(language, { notation: "compact", maximumFractionDigits: 1 });
  const time = new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit" });
  const day = new Intl.DateTimeFormat(language, { month: "short", day: "numeric" });
  const dayOfYear = new Intl.DateTimeFormat(language, { dateStyle: "medium" });
  const exact = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium" });
  const percent = new Intl.NumberFormat(language, { style: "percent" });
  const units = language === "zh" ? chineseUnits : englishUnits;
  return {
    duration: (ms) => durationIn(ms, units),
    period: (seconds) => periodIn(seconds, language),
    tokens: (count) => (count < 1000 ? String(count) : short.format(count)),
    cost: (sum) => (sum === 0 ? "0" : sum < 0.0001 ? "<0.0001" : trimmed(sum)),
    bytes(size) {
      if (size < 1024) return `${size} B`;
      if (size < 1024 * 1024) return `${Math.round(size / 1024)} KB`;
      return `${(size / 1024 / 1024).toFixed(1)} MB`;
    },
    // What should be 29 of 100 may be a little less.
    percent: (fraction) => percent.format(Math.floor(fraction * 100 + 1e-6) / 100),
    when(iso, now) {
      const date = new Date(iso);
      if (Number.isNaN(date.getTime())) return "";
      if (date.toDateString() === now.toDateString()) return time.format(date);
      return (date.getFullYear() === now.getFullYear() ? day : dayOfYear).format(date);
    },
    exactly(iso) {
      const date = new Date(iso);
      return Number.isNaN(date.getTime()) ? "" : exact.format(date);
    },
  };
}

interface Units {
  readonly s: string;
  readonly min: string;
  readonly h: string;
}
const englishUnits: Units = { s: " s", min: " min", h: " h" };
const chineseUnits: Units = { s: " 秒", min: " 分", h: " 小时" };

const formats: Readonly<Record<Language, Format>> = { en: formatFor("en"), zh: formatFor("zh") };

export function useFormat(): Format {
  return formats[useContext(LanguageContext)];
}

function durationIn(ms: number, { s, min, h }: Units): string {
  if (ms < 9_950) return `${(Math.max(ms, 0) / 1000).toFixed(1)}${s}`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds}${s}`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}${min} ${seconds % 60}${s}`;
  return `${Math.floor(minutes / 60)}${h} ${minutes % 60}${min}`;
}

const periods = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const;

function periodIn(seconds: number, language: Language): string {
  const [unit, length] = periods.find(([, each]) => seconds > 0 && seconds % each === 0) ?? [
    "second",
    1,
  ];
  const style = { style: "unit", unit, unitDisplay: "long" } as const;
  return new Intl.NumberFormat(language, style).format(seconds / length);
}

function trimmed(sum: number): string {
  return sum
    .toFixed(sum < 1 ? 4 : 2)
    .replace(/(\.\d*?)0+$/, "$1")
    .replace(/\.$/, "");
}
