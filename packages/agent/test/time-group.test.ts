import { filesGroup, shellGroup, timeGroup, webGroup } from "@deltawire/agent";
import { expect, test } from "vitest";
import { runTool, getTool } from "./tool-context.ts";

const now = Date.UTC(2025, 10, 15, 23, 5, 9);
const getCurrentTime = (
  time_zone?: string,
  group = timeGroup({ now: () => now }),
): Promise<unknown> => runTool(group, "current_time", time_zone === undefined ? {} : { time_zone });

test("the time includes weekday, offset and time zone", async () => {
  expect(await getCurrentTime("UTC")).toBe("Saturday, 2025-11-15T23:05:09+00:00 (UTC)");
  expect(await getCurrentTime("Europe/Vienna")).toBe(
    "Sunday, 2025-11-16T00:05:09+01:00 (Europe/Vienna)",
  );
  expect(await getCurrentTime("America/St_Johns")).toBe(
    "Saturday, 2025-11-15T19:35:09-03:30 (America/St_Johns)",
  );
});

test("daylight saving time is respected", async () => {
  const july = timeGroup({ now: () => Date.UTC(2025, 6, 1) });
  expect(await getCurrentTime("Europe/Vienna", july)).toContain("T02:00:00+02:00");
});

test("the default time zone is the group's, or else the system's", async () => {
  const tokyo = timeGroup({ timeZone: "Asia/Tokyo", now: () => now });
  expect(await getCurrentTime(undefined, tokyo)).toContain("+09:00 (Asia/Tokyo)");
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  expect(await getCurrentTime()).toContain(`(${timeZone})`);
});

test("an unknown time zone is an error", async () => {
  await expect(getCurrentTime("Mars/Olympus")).rejects.toThrow('"Mars/Olympus" is not a time zone');
});

test("current_time is pure and needs no approval", () => {
  expect(getTool(timeGroup(), "current_time")).toMatchObject({
    effect: "pure",
    approval: { call: "auto" },
    parallel: true,
  });
});

test("every built-in group has short rules, and all tool names are distinct", () => {
  const groups = [
    filesGroup({ folder: "." }),
    shellGroup({ folder: "." }),
    webGroup(),
    timeGroup(),
  ];
  for (const { rules } of groups) expect(rules.length).toBeLessThan(500);
  const names = groups.flatMap(({ tools }) => tools.map((tool) => tool.name));
  expect(new Set(names).size).toBe(names.length);
});
