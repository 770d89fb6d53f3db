import { isTimeZone } from "@deltawire/agent";
import fc from "fast-check";
import { expect, test } from "vitest";
import { buildSystemPrompt, formatMessageTime } from "../../src/chats/system-prompt.ts";

const zones = ["Europe/Berlin", "America/St_Johns", "Asia/Kolkata", "Pacific/Apia", "UTC"];
const promptAt = (now: number, timeZone: string): string => {
  const parts = { now: new Date(now), timeZone, prompt: "Be short.", privacyRule: "Keep {{…}}." };
  const { preamble, instructions } = buildSystemPrompt(parts);
  return `${preamble}\n${instructions}`;
};

test("the prompt has the day and time zone, then the user's prompt, then the privacy rule", () => {
  const now = new Date("2026-11-15T10:19:30Z");
  const parts = {
    now,
    timeZone: "Europe/Berlin",
    prompt: " Be short.\n",
    privacyRule: "Keep them.",
  };
  expect(buildSystemPrompt(parts)).toEqual({
    preamble: "Today is Sunday, 2026-11-15 (Europe/Berlin).",
    instructions: "Be short.\n\nKeep them.",
  });
  expect(buildSystemPrompt({ now, timeZone: "UTC" }).instructions).toBe("");
  expect(buildSystemPrompt({ now, timeZone: "UTC", privacyRule: "P" }).instructions).toBe("P");
});

test("two requests on one day share a byte-identical prefix", () => {
  const times = ["00:00:00.000", "08:30:12.345", "23:59:59.999"].map((time) =>
    Date.parse(`2026-11-15T${time}+01:00`),
  );
  const prefixes = times.map((now) => Buffer.from(promptAt(now, "Europe/Berlin")).toString("hex"));
  expect(new Set(prefixes).size).toBe(1);
});

test("the prefix changes exactly once from noon to noon, at midnight in the user's time zone", () => {
  fc.assert(
    fc.property(fc.constantFrom(...zones), fc.nat(2000), (timeZone, day) => {
      const noon = findNoon(timeZone, day);
      let [before, after] = [noon, noon + 24 * 3_600_000];
      const [first, second] = [promptAt(before, timeZone), promptAt(after, timeZone)];
      expect(second).not.toBe(first);
      while (after - before > 1) {
        const middle = Math.floor((before + after) / 2);
        const prompt = promptAt(middle, timeZone);
        expect([first, second]).toContain(prompt);
        if (prompt === first) before = middle;
        else after = middle;
      }
      expect(formatMessageTime(new Date(after).toISOString(), timeZone)).toContain("T00:00:00");
    }),
    { numRuns: 40 },
  );
});

/** Returns the UTC time of noon in a time zone, up to daylight saving time, `day` days after 2024-01-01. */
function findNoon(timeZone: string, day: number): number {
  const utc = Date.UTC(2024, 0, 1, 12) + day * 24 * 3_600_000;
  const [, hours = "0", minutes = "0"] =
    /T\S+?([+-]\d\d):(\d\d) /.exec(formatMessageTime(new Date(utc).toISOString(), timeZone)) ?? [];
  const sign = hours.startsWith("-") ? -1 : 1;
  return utc - (Number(hours) * 60 + sign * Number(minutes)) * 60_000;
}

test("the time of a message is written in the given time zone", () => {
  const sent = "2026-07-01T22:05:09.123Z";
  expect(formatMessageTime(sent, "Europe/Berlin")).toBe(
    "[sent on Thursday, 2026-07-02T00:05:09+02:00 (Europe/Berlin)]",
  );
  expect(formatMessageTime(sent, "Europe/Berlin")).toBe(formatMessageTime(sent, "Europe/Berlin"));
});

test("isTimeZone accepts only IANA names", () => {
  for (const name of [...zones, "europe/berlin", "Etc/GMT+1"]) expect(isTimeZone(name)).toBe(true);
  for (const name of ["", "Mars/Olympus", "+01:00", "Europe/Berlin ", "2026"])
    expect(isTimeZone(name)).toBe(false);
});
