import { defineTool } from "../define-tool.ts";
import type { ToolGroup } from "../tool.ts";

export interface TimeOptions {
  /** Used if a call does not specify a time zone. Default: the system's. */
  timeZone?: string;
  now?: () => number;
}

const timeDescription = "Tell the date and time in any time zone.";

const timeRules =
  "Time: you do not know the current date and time unless they are given here. Call current_time whenever an answer depends on them.";

export function timeGroup({ timeZone, now = Date.now }: TimeOptions = {}): ToolGroup {
  const tool = defineTool<{ time_zone?: string }>({
    name: "current_time",
    description: "Returns the current date and time.",
    input: {
      type: "object",
      properties: {
        time_zone: { type: "string", maxLength: 100, description: "IANA name, e.g. Europe/Vienna" },
      },
      additionalProperties: false,
    },
    effect: "pure",
    run: ({ time_zone: zone = timeZone }) => formatTimeInZone(zone, now()),
  });
  return { name: "time", description: timeDescription, rules: timeRules, tools: [tool] };
}

/** Returns a time like `Saturday, 2025-11-15T10:19:00+01:00 (Europe/Vienna)`. Throws if the time zone is unknown. */
export function formatTimeInZone(timeZone: string | undefined, now: number): string {
  const format = createTimeFormat(timeZone);
  const parts = Object.fromEntries(
    format.formatToParts(now).map(({ type, value }) => [type, value]),
  );
  const { weekday, year, month, day, hour, minute, second, timeZoneName = "" } = parts;
  const offset = timeZoneName.replace("GMT", ""); // empty for UTC in some versions of ICU
  const timestamp = `${year}-${month}-${day}T${hour}:${minute}:${second}${offset || "+00:00"}`;
  return `${weekday}, ${timestamp} (${format.resolvedOptions().timeZone})`;
}

function createTimeFormat(timeZone: string | undefined): Intl.DateTimeFormat {
  const twoDigits = "2-digit";
  try {
    return new Intl.DateTimeFormat("en-US", {
      timeZone,
      calendar: "iso8601",
      numberingSystem: "latn",
      hourCycle: "h23",
      weekday: "long",
      year: "numeric",
      month: twoDigits,
      day: twoDigits,
      hour: twoDigits,
      minute: twoDigits,
      second: twoDigits,
      timeZoneName: "longOffset",
    });
  } catch (cause) {
    throw new Error(
      `${JSON.stringify(timeZone)} is not a time zone; use a name like Europe/Vienna or UTC`,
      { cause },
    );
  }
}
