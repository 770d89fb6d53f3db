import type { AccessKeyLimits, UsagePeriod, UsageUnit } from "@deltawire/store";
import { assertNever } from "@deltawire/tasks";

/** One limit of an access key. */
export interface UsageLimit {
  readonly unit: UsageUnit;
  readonly period: UsagePeriod;
  readonly max: number;
}

export function listUsageLimits({
  requestsPerMinute,
  tokensPerDay,
  costPerDay,
  costPerMonth,
}: AccessKeyLimits): UsageLimit[] {
  const limits: (Omit<UsageLimit, "max"> & { max: number | undefined })[] = [
    { unit: "requests", period: "minute", max: requestsPerMinute },
    { unit: "tokens", period: "day", max: tokensPerDay },
    { unit: "cost", period: "day", max: costPerDay },
    { unit: "cost", period: "month", max: costPerMonth },
  ];
  return limits.flatMap(({ max, ...limit }) => (max === undefined ? [] : [{ ...limit, max }]));
}

/** Returns the end of the calendar period (UTC) that contains a time. Both are in milliseconds since the epoch. */
export function getWindowEnd(period: UsagePeriod, time: number): number {
  const date = new Date(time);
  switch (period) {
    case "minute":
      return date.setUTCMinutes(date.getUTCMinutes() + 1, 0, 0);
    case "day":
      return date.setUTCHours(24, 0, 0, 0);
    case "month":
      return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
    default:
      return assertNever(period);
  }
}
