import { filesGroup, shellGroup, timeGroup, webGroup } from "@deltawire/agent";
import { expect, test } from "vitest";
import { runTool, toolOf } from "./tool-context.ts";

const now = Date.UTC(2025, 10, 15, 23, 5, 9);
const time = (time_zone?: string, group = timeGroup({ now: () => now })): Promise<unknown> =>
  runTool(group, "current_time", time_zone === undefined ? {} : { time_zone });

test("the time is told with its day, its offset and its zone", async () => {
  expect(await time("UTC")).toBe("Saturday, 2025-11-15T23:05:09+00:00 (UTC)");
  expect(await time("Europe/Vienna")).toBe("Sunday, 2025-11-16T00:05:09+01:00 (Europe/Vienna)");
  expect(await time("America/St_Johns")).toBe(
    "Saturday, 2025-11-15T19:35:09-03:30 (America/St_Johns)",
  );
});

test("summer time is minded", async () => {
  const july = timeGroup({ now: () => Date.UTC(2025, 6, 1) });
  expect(await time("Europe/Vienna", july)).toContain("T02:00:00+02:00");
});

test("without a zone it is the group's, or else the system's", async () => {
  const tokyo = timeGroup({ timeZone: "Asia/Tokyo", now: () => now });
  expect(await time(undefined, tokyo)).toContain("+09:00 (Asia/Tokyo)");
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  expect(await time()).toContain(`(${timeZone})`);
});

test("a zone that is none is said", async () => {
  await expect(time("Mars/Olympus")).rejects.toThrow('"Mars/Olympus" is no time zone');
});

test("it is pure and asks nobody", () => {
  expect(toolOf(timeGroup(), "current_time")).toMatchObject({
    effect: "pure",
    approval: { call: "auto" },
    parallel: true,
  });
});

test("every built-in group has short rules, and no two of them have a tool of one name", () => {
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
