import { useContext } from "react";
import { LanguageContext } from "./use-messages.ts";
import type { Language } from "./define-messages.ts";

/** Formats numbers, times and costs for one language. */
export interface Formatter {
  /** `0.4 s`, `12 s`, `3 min 5 s`, `2 h 10 min`. */
  duration(ms: number): string;
  /** In the largest unit without a remainder: `7 days`, `90 seconds`. */
  period(seconds: number): string;
  /** `830`, `12.4K`, `1.2M`. */
  compactCount(count: number): string;
  /** Up to two decimal places; below 1 up to four, because tokens are cheap. */
  cost(amount: number): string;
  bytes(size: number): string;
  /** `0.079` is `7%`: rounded down, so that 100% means done. */
  percent(fraction: number): string;
  /** The time if the date is today, otherwise the day; with the year unless it is the current one. */
  shortDate(iso: string, now: Date): string;
  /** Date and time with seconds. */
  dateTime(iso: string): string;
}

export function createFormatter(language: Language): Formatter {
  const compactFormat = new Intl.NumberFormat(language, {
    notation: "compact",
    maximumFractionDigits: 1,
  });
  const timeFormat = new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit" });
  const dayFormat = new Intl.DateTimeFormat(language, { month: "short", day: "numeric" });
  const dayWithYearFormat = new Intl.DateTimeFormat(language, { dateStyle: "medium" });
  const dateTimeFormat = new Intl.DateTimeFormat(language, {
    dateStyle: "medium",
    timeStyle: "medium",
  });
  const percentFormat = new Intl.NumberFormat(language, { style: "percent" });
  const units = language === "zh" ? chineseUnits : englishUnits;
  return {
    duration: (ms) => formatDuration(ms, units),
    period: (seconds) => formatPeriod(seconds, language),
    compactCount: (count) => (count < 1000 ? String(count) : compactFormat.format(count)),
    cost: (amount) => (amount === 0 ? "0" : amount < 0.0001 ? "<0.0001" : formatDecimal(amount)),
    bytes(size) {
      if (size < 1024) return `${size} B`;
      if (size < 1024 * 1024) return `${Math.round(size / 1024)} KB`;
      return `${(size / 1024 / 1024).toFixed(1)} MB`;
    },
    // 0.29 * 100 is slightly less than 29.
    percent: (fraction) => percentFormat.format(Math.floor(fraction * 100 + 1e-6) / 100),
    shortDate(iso, now) {
      const date = new Date(iso);
      if (Number.isNaN(date.getTime())) return "";
      if (date.toDateString() === now.toDateString()) return timeFormat.format(date);
      return (date.getFullYear() === now.getFullYear() ? dayFormat : dayWithYearFormat).format(
        date,
      );
    },
    dateTime(iso) {
      const date = new Date(iso);
      return Number.isNaN(date.getTime()) ? "" : dateTimeFormat.format(date);
    },
  };
}

interface DurationUnits {
  readonly s: string;
  readonly min: string;
  readonly h: string;
}
const englishUnits: DurationUnits = { s: " s", min: " min", h: " h" };
const chineseUnits: DurationUnits = { s: " 秒", min: " 分", h: " 小时" };

const formatters: Readonly<Record<Language, Formatter>> = {
  en: createFormatter("en"),
  zh: createFormatter("zh"),
};

export function useFormatter(): Formatter {
  return formatters[useContext(LanguageContext)];
}

function formatDuration(ms: number, { s, min, h }: DurationUnits): string {
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

function formatPeriod(seconds: number, language: Language): string {
  const [unit, length] = periods.find(([, size]) => seconds > 0 && seconds % size === 0) ?? [
    "second",
    1,
  ];
  const style = { style: "unit", unit, unitDisplay: "long" } as const;
  return new Intl.NumberFormat(language, style).format(seconds / length);
}

function formatDecimal(amount: number): string {
  return amount
    .toFixed(amount < 1 ? 4 : 2)
    .replace(/(\.\d*?)0+$/, "$1")
    .replace(/\.$/, "");
}
