import { defineTool } from "../define-tool.ts";
import type { ToolGroup } from "../tool.ts";

export interface TimeOptions {
  /** Where no time zone is asked for; the system's unless it says otherwise. */
  timeZone?: string;
  now?: () => number;
}

const timeDescription = "Tell the date and the time, in any time zone.";

const timeRules =
  "Time: what you are not told here of the date and the time you do not know. Ask current_time wherever an answer depends on it.";

export function timeGroup({ timeZone, now = Date.now }: TimeOptions = {}): ToolGroup {
  const tool = defineTool<{ time_zone?: string }>({
    name: "current_time",
    description: "The current date and time.",
    input: {
      type: "object",
      properties: {
        time_zone: { type: "string", maxLength: 100, description: "IANA name, e.g. Europe/Vienna" },
      },
      additionalProperties: false,
    },
    effect: "pure",
    run: ({ time_zone: zone = timeZone }) => timeIn(zone, now()),
  });
  return { name: "time", description: timeDescription, rules: timeRules, tools: [tool] };
}

/** `Saturday, 2025-11-15T10:19:00+01:00 (Europe/Vienna)` */
export function timeIn(timeZone: string | undefined, now: number): string {
  const format = formatOf(timeZone);
  const parts = Object.fromEntries(
    format.formatToParts(now).map(({ type, value }) => [type, value]),
  );
  const { weekday, year, month, day, hour, minute, second, timeZoneName = "" } = parts;
  const offset = timeZoneName.replace("GMT", ""); // nothing for UTC, by some versions of ICU
  const clock = `${year}-${month}-${day}T${hour}:${minute}:${second}${offset || "+00:00"}`;
  return `${weekday}, ${clock} (${format.resolvedOptions().timeZone})`;
}

function formatOf(timeZone: string | undefined): Intl.DateTimeFormat {
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
      `${JSON.stringify(timeZone)} is no time zone; they are named like Europe/Vienna or UTC`,
      { cause },
    );
  }
}
