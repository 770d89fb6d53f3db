import { defineAgent, type Skill } from "@deltawire/agent";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createTestChat, sendAndWait, listSentItems } from "../../../../test/chats/chat-helpers.ts";
import { chatFixture } from "./chat-fixture.ts";
import { createOfficeTools, officeRules } from "../../../../test/chats/office-tools.ts";
import type { ModelScript } from "../../../../test/chats/scripted-models.ts";

const yesScript: ModelScript = () => [{ text: "Yes." }];

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
  test("contains the date, the agent's and the user's instructions, the privacy rule, the rules of tool groups and the skills, in this order", async () => {
    stopClockAt("2026-03-01T23:30:00Z");
    const clerk = defineAgent({
      name: "clerk",
      instructions: "You are a clerk.",
      model: "talker",
      tools: [createOfficeTools().group],
    });
    const fixture = await chatFixture({ script: yesScript, agents: [clerk], skills });
    const chat = await createTestChat(fixture, {
      agent: "clerk",
      instructions: "Answer in French.",
      time_zone: "Asia/Tokyo",
      privacy: { enabled: true, fields: [{ kind: "email" }] },
    });
    await sendAndWait(fixture, chat, "Hi");
    const prompt = fixture.models.requests[0]?.instructions ?? "";
    const order = [
      "2026-03-02 (Asia/Tokyo)",
      "You are a clerk.",
      "Answer in French.",
      "<PRIVACY_RULE>",
      officeRules,
      "Write short sentences.",
      "invoices - Invoices - Use it when: the user asks about money",
    ];
    const positions = order.map((words) => prompt.indexOf(words));
    expect(positions).not.toContain(-1);
    expect(positions).toEqual(positions.toSorted((a, b) => a - b));
    expect(prompt).not.toContain("An invoice has a number.");
    expect(prompt).not.toMatch(/\d:\d\d/);
  });

  test("is the gateway's unless the chat sets one", async () => {
    const fixture = await chatFixture({
      script: yesScript,
      settings: { instructions: "Of the gateway." },
    });
    await sendAndWait(fixture, await createTestChat(fixture), "Hi");
    await sendAndWait(
      fixture,
      await createTestChat(fixture, { instructions: "Of the chat." }),
      "Hi",
    );
    expect(fixture.models.requests[0]?.instructions).toMatch(/Of the gateway\.$/);
    expect(fixture.models.requests[1]?.instructions).toMatch(/Of the chat\.$/);
    expect(fixture.models.requests[1]?.instructions).not.toMatch(/Of the gateway/);
  });

  test("changes at midnight in the user's time zone", async () => {
    stopClockAt("2026-03-01T14:59:00Z");
    const fixture = await chatFixture({ script: yesScript });
    const chat = await createTestChat(fixture, { time_zone: "Asia/Tokyo" });
    for (const time of ["2026-03-01T14:59:59Z", "2026-03-01T15:00:00Z", "2026-03-02T00:00:01Z"]) {
      vi.setSystemTime(new Date(time));
      await sendAndWait(fixture, chat, "Hi");
    }
    const [before, after, later] = fixture.models.requests.map(({ instructions }) => instructions);
    expect(before).toContain("2026-03-01");
    expect(after).toContain("2026-03-02");
    expect(later).toBe(after);
  });
});

test("the time zone and exact times default to those of the gateway", async () => {
  stopClockAt("2026-03-01T23:30:00Z");
  const fixture = await chatFixture({
    script: yesScript,
    defaults: { timeZone: "Asia/Tokyo", addMessageTimes: true },
  });
  await sendAndWait(fixture, await createTestChat(fixture), "Hi");
  expect(fixture.models.requests[0]?.instructions).toContain("2026-03-02 (Asia/Tokyo)");
  expect(listSentItems(fixture).at(-1)).toContain("2026-03-02T08:30:00+09:00 (Asia/Tokyo)");
  const other = await createTestChat(fixture, { time_zone: "UTC", message_times: false });
  await sendAndWait(fixture, other, "Hi");
  expect(fixture.models.requests[1]?.instructions).toContain("2026-03-01 (UTC)");
  expect(listSentItems(fixture).at(-1)).toBe("user: Hi");
});

test("the rules of the time group do not contradict the date in the prompt", async () => {
  const fixture = await chatFixture({ script: yesScript });
  await sendAndWait(fixture, await createTestChat(fixture, { tool_groups: ["time"] }), "Hi");
  const { instructions = "" } = fixture.models.requests[0] ?? {};
  expect(instructions).toMatch(/Today is /);
  expect(instructions).toMatch(/current_time/);
  expect(instructions).not.toMatch(/do not know what day/);
});

describe("two requests on one day", () => {
  test.each([
    { message_times: false, newest: /^user: Three$/ },
    { message_times: true, newest: /^user: Three \| \[sent on .*22:59/ },
  ])(
    "are identical up to the new message with message_times: $message_times",
    async ({ newest, ...settings }) => {
      stopClockAt("2026-03-01T08:00:00Z");
      const { group } = createOfficeTools();
      const fixture = await chatFixture({
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
      const chat = await createTestChat(fixture, {
        ...settings,
        instructions: "Mind b@example.com.",
        tool_groups: ["office"],
        time_zone: "Europe/Berlin",
        privacy: { enabled: true, fields: [{ kind: "email" }] },
      });
      await sendAndWait(fixture, chat, "One, from c@example.com");
      vi.setSystemTime(new Date("2026-03-01T09:17:33Z"));
      await sendAndWait(fixture, chat, "Two");
      vi.setSystemTime(new Date("2026-03-01T21:59:59Z"));
      await sendAndWait(fixture, chat, "Three");
      const requests = fixture.models.requests;
      for (const [at, later] of requests.entries()) {
        const earlier = requests[at - 1];
        if (earlier === undefined) continue;
        expect(later.instructions).toBe(earlier.instructions);
        expect(later.tools).toEqual(earlier.tools);
        const before = JSON.stringify(earlier.input).slice(0, -1);
        expect(JSON.stringify(later.input).startsWith(before)).toBe(true);
      }
      expect(listSentItems(fixture).at(-1)).toMatch(newest);
    },
  );
});

describe("skills", () => {
  test("that are only listed in the prompt can be read with a tool", async () => {
    const fixture = await chatFixture({
      skills,
      script: [[{ call: "read_skill", args: { name: "invoices" } }], [{ text: "I see." }]],
    });
    const chat = await createTestChat(fixture);
    const { status } = await sendAndWait(fixture, chat, "Bill me");
    expect(status).toBe("completed");
    expect(listSentItems(fixture).at(-1)).toBe('=> "An invoice has a number."');
  });

  test("are limited to those that the chat selects, possibly none", async () => {
    const fixture = await chatFixture({ skills, script: yesScript });
    await sendAndWait(fixture, await createTestChat(fixture, { skills: ["tone"] }), "Hi");
    await sendAndWait(fixture, await createTestChat(fixture, { skills: [] }), "Hi");
    const [one, none] = fixture.models.requests;
    expect(one?.instructions).toContain("Write short sentences.");
    expect(one?.tools).toBeUndefined();
    expect(none?.instructions).not.toContain("Skill");
  });
});
