import { checkTimeZone } from "@deltawire/agent";
import fc from "fast-check";
import { expect, test } from "vitest";
import { systemPrompt, timeOfMessage } from "../../src/chats/system-prompt.ts";

const zones = ["Europe/Berlin", "America/St_Johns", "Asia/Kolkata", "Pacific/Apia", "UTC"];
const at = (now: number, timeZone: string): string => {
  const parts = { now: new Date(now), timeZone, prompt: "Be short.", privacyRule: "Keep {{…}}." };
  const { preamble, instructions } = systemPrompt(parts);
  return `${preamble}\n${instructions}`;
};

test("the prompt tells the day and the zone, then the user's words, then the privacy rule", () => {
  const now = new Date("2026-11-15T10:19:30Z");
  const parts = {
    now,
    timeZone: "Europe/Berlin",
    prompt: " Be short.\n",
    privacyRule: "Keep them.",
  };
  expect(systemPrompt(parts)).toEqual({
    preamble: "Today is Sunday, 2026-11-15 (Europe/Berlin).",
    instructions: "Be short.\n\nKeep them.",
  });
  expect(systemPrompt({ now, timeZone: "UTC" }).instructions).toBe("");
  expect(systemPrompt({ now, timeZone: "UTC", privacyRule: "P" }).instructions).toBe("P");
});

test("two requests of one day share a byte-identical prefix", () => {
  const times = ["00:00:00.000", "08:30:12.345", "23:59:59.999"].map((time) =>
    Date.parse(`2026-11-15T${time}+01:00`),
  );
  const prefixes = times.map((now) => Buffer.from(at(now, "Europe/Berlin")).toString("hex"));
  expect(new Set(prefixes).size).toBe(1);
});

test("the prefix changes exactly once from one noon of the user to the next, at the user's midnight", () => {
  fc.assert(
    fc.property(fc.constantFrom(...zones), fc.nat(2000), (timeZone, day) => {
      const noon = noonOf(timeZone, day);
      let [before, after] = [noon, noon + 24 * 3_600_000];
      const [first, second] = [at(before, timeZone), at(after, timeZone)];
      expect(second).not.toBe(first);
      while (after - before > 1) {
        const middle = Math.floor((before + after) / 2);
        const prompt = at(middle, timeZone);
        expect([first, second]).toContain(prompt);
        if (prompt === first) before = middle;
        else after = middle;
      }
      expect(timeOfMessage(new Date(after).toISOString(), timeZone)).toContain("T00:00:00");
    }),
    { numRuns: 40 },
  );
});

/** Of a day after 2024-01-01, in UTC for which it is noon there, give or take summer time. */
function noonOf(timeZone: string, day: number): number {
  const utc = Date.UTC(2024, 0, 1, 12) + day * 24 * 3_600_000;
  const [, hours = "0", minutes = "0"] =
    /T\S+?([+-]\d\d):(\d\d) /.exec(timeOfMessage(new Date(utc).toISOString(), timeZone)) ?? [];
  const sign = hours.startsWith("-") ? -1 : 1;
  return utc - (Number(hours) * 60 + sign * Number(minutes)) * 60_000;
}

test("the exact time of a message comes from the message, in the user's zone", () => {
  const sent = "2026-07-01T22:05:09.123Z";
  expect(timeOfMessage(sent, "Europe/Berlin")).toBe(
    "[sent on Thursday, 2026-07-02T00:05:09+02:00 (Europe/Berlin)]",
  );
  expect(timeOfMessage(sent, "Europe/Berlin")).toBe(timeOfMessage(sent, "Europe/Berlin"));
});

test("only names of time zones are time zones", () => {
  for (const name of [...zones, "europe/berlin", "Etc/GMT+1"])
    expect(checkTimeZone(name)).toBe(true);
  for (const name of ["", "Mars/Olympus", "+01:00", "Europe/Berlin ", "2026"])
    expect(checkTimeZone(name)).toBe(false);
});
