import { defineAgent, type Skill } from "@deltawire/agent";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { newChat, sendAndEnd, told } from "../../../../test/chats/chat-steps.ts";
import { chatFixture } from "./chat-fixture.ts";
import { office, officeRules } from "../../../../test/chats/office.ts";
import type { Script } from "../../../../test/chats/scripted-replies.ts";

const plain: Script = () => [{ text: "Yes." }];

const skills: Skill[] = [
  { name: "tone", description: "How we sound", text: "Write short sentences.", always: true },
  {
    name: "invoices",
    description: "Invoices",
    text: "An invoice has a number.",
    when: "the user asks about money",
    always: false,
  },
];

function stopClockAt(time: string): void {
  vi.useFakeTimers({ toFake: ["Date"], now: new Date(time) });
  onTestFinished(() => void vi.useRealTimers());
}

describe("the system prompt", () => {
  test("has the date, the agent, the user's prompt, the privacy rule, the rules of groups and the skills, in this order", async () => {
    stopClockAt("2026-03-01T23:30:00Z");
    const clerk = defineAgent({
      name: "clerk",
      instructions: "You are a clerk.",
      model: "talker",
      tools: [office().group],
    });
    const world = await chatFixture({ script: plain, agents: [clerk], skills });
    const chat = await newChat(world, {
      agent: "clerk",
      instructions: "Answer in French.",
      time_zone: "Asia/Tokyo",
      privacy: { enabled: true, fields: [{ kind: "email" }] },
    });
    await sendAndEnd(world, chat, "Hi");
    const prompt = world.models.asked[0]?.instructions ?? "";
    const order = [
      "2026-03-02 (Asia/Tokyo)",
      "You are a clerk.",
      "Answer in French.",
      "<PRIVACY_RULE>",
      officeRules,
      "Write short sentences.",
      "invoices - Invoices - Use it when: the user asks about money",
    ];
    const places = order.map((words) => prompt.indexOf(words));
    expect(places).not.toContain(-1);
    expect(places).toEqual(places.toSorted((one, other) => one - other));
    expect(prompt).not.toContain("An invoice has a number.");
    expect(prompt).not.toMatch(/\d:\d\d/);
  });

  test("is the gateway's where the chat says nothing, and that of the chat where it does", async () => {
    const world = await chatFixture({
      script: plain,
      settings: { instructions: "Of the gateway." },
    });
    await sendAndEnd(world, await newChat(world), "Hi");
    await sendAndEnd(world, await newChat(world, { instructions: "Of the chat." }), "Hi");
    expect(world.models.asked[0]?.instructions).toMatch(/Of the gateway\.$/);
    expect(world.models.asked[1]?.instructions).toMatch(/Of the chat\.$/);
    expect(world.models.asked[1]?.instructions).not.toMatch(/Of the gateway/);
  });

  test("changes at the user's midnight, and not at that of others", async () => {
    stopClockAt("2026-03-01T14:59:00Z");
    const world = await chatFixture({ script: plain });
    const chat = await newChat(world, { time_zone: "Asia/Tokyo" });
    for (const time of ["2026-03-01T14:59:59Z", "2026-03-01T15:00:00Z", "2026-03-02T00:00:01Z"]) {
      vi.setSystemTime(new Date(time));
      await sendAndEnd(world, chat, "Hi");
    }
    const [before, after, later] = world.models.asked.map(({ instructions }) => instructions);
    expect(before).toContain("2026-03-01");
    expect(after).toContain("2026-03-02");
    expect(later).toBe(after);
  });
});

test("the time zone and exact times are those of the gateway where the chat says nothing", async () => {
  stopClockAt("2026-03-01T23:30:00Z");
  const world = await chatFixture({
    script: plain,
    defaults: { timeZone: "Asia/Tokyo", exactTime: true },
  });
  await sendAndEnd(world, await newChat(world), "Hi");
  expect(world.models.asked[0]?.instructions).toContain("2026-03-02 (Asia/Tokyo)");
  expect(told(world).at(-1)).toContain("2026-03-02T08:30:00+09:00 (Asia/Tokyo)");
  const other = await newChat(world, { time_zone: "UTC", exact_time: false });
  await sendAndEnd(world, other, "Hi");
  expect(world.models.asked[1]?.instructions).toContain("2026-03-01 (UTC)");
  expect(told(world).at(-1)).toBe("user: Hi");
});

test("the rules of the time group do not deny the date that is there", async () => {
  const world = await chatFixture({ script: plain });
  await sendAndEnd(world, await newChat(world, { tool_groups: ["time"] }), "Hi");
  const { instructions = "" } = world.models.asked[0] ?? {};
  expect(instructions).toMatch(/Today is /);
  expect(instructions).toMatch(/current_time/);
  expect(instructions).not.toMatch(/do not know what day/);
});

describe("two requests of one day", () => {
  test.each([
    { exact_time: false, newest: /^user: Three$/ },
    { exact_time: true, newest: /^user: Three \| \[sent on .*22:59/ },
  ])(
    "share all bytes up to the new message, with exact_time $exact_time",
    async ({ newest, ...settings }) => {
      stopClockAt("2026-03-01T08:00:00Z");
      const { group } = office();
      const world = await chatFixture({
        groups: [group],
        skills,
        script: [
          [
            { reasoning: "hm", encrypted: "e1" },
            { call: "say", args: { text: "a@example.com" } },
          ],
          [{ text: "Said." }],
          [{ text: "Again." }],
          [{ text: "And again." }],
        ],
      });
      const chat = await newChat(world, {
        ...settings,
        instructions: "Mind b@example.com.",
        tool_groups: ["office"],
        time_zone: "Europe/Berlin",
        privacy: { enabled: true, fields: [{ kind: "email" }] },
      });
      await sendAndEnd(world, chat, "One, from c@example.com");
      vi.setSystemTime(new Date("2026-03-01T09:17:33Z"));
      await sendAndEnd(world, chat, "Two");
      vi.setSystemTime(new Date("2026-03-01T21:59:59Z"));
      await sendAndEnd(world, chat, "Three");
      const requests = world.models.asked;
      for (const [at, later] of requests.entries()) {
        const earlier = requests[at - 1];
        if (earlier === undefined) continue;
        expect(later.instructions).toBe(earlier.instructions);
        expect(later.tools).toEqual(earlier.tools);
        const before = JSON.stringify(earlier.input).slice(0, -1);
        expect(JSON.stringify(later.input).startsWith(before)).toBe(true);
      }
      expect(told(world).at(-1)).toMatch(newest);
    },
  );
});

describe("skills", () => {
  test("that are listed are read by a tool, word for word", async () => {
    const world = await chatFixture({
      skills,
      script: [[{ call: "read_skill", args: { name: "invoices" } }], [{ text: "I see." }]],
    });
    const chat = await newChat(world);
    const { status } = await sendAndEnd(world, chat, "Bill me");
    expect(status).toBe("completed");
    expect(told(world).at(-1)).toBe('=> "An invoice has a number."');
  });

  test("are those that the chat names, or none", async () => {
    const world = await chatFixture({ skills, script: plain });
    await sendAndEnd(world, await newChat(world, { skills: ["tone"] }), "Hi");
    await sendAndEnd(world, await newChat(world, { skills: [] }), "Hi");
    const [one, none] = world.models.asked;
    expect(one?.instructions).toContain("Write short sentences.");
    expect(one?.tools).toBeUndefined();
    expect(none?.instructions).not.toContain("Skill");
  });
});
