import { defineAgent, type Skill } from "@deltawire/agent";
import { blobPath, type TaskEvent } from "@deltawire/tasks";
import type { PrivacyField } from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import {
  readChat,
  waitForAnswerEnd,
  createTestChat,
  readPathTexts,
  waitForAnswerText,
  sendAndWait,
  waitForChat,
} from "../../../../test/chats/chat-helpers.ts";
import { chatFixture, type StoredChatFixture } from "./chat-fixture.ts";
import { createOfficeTools } from "../../../../test/chats/office-tools.ts";
import {
  neverResolves,
  type ScriptedRequest,
  type ModelScript,
} from "../../../../test/chats/scripted-models.ts";

const values = {
  inPrompt: "boss.prompt@example.com",
  inAgent: "agent.owner@example.com",
  inHelper: "helper.owner@example.com",
  inSkill: "skill.owner@example.com",
  mine: "anna.meier@example.com",
  inContext: "+49 170 1234567",
  inFile: "4111 1111 1111 1111",
  inResult: "bob.o'neil+x@example.org",
  inAddress: "carl@example.net",
  named: 'Zoë "Zed" Öztürk',
  custom: "PRJ-4711",
  inSecondTurn: "dora@example.com",
};

const fields: PrivacyField[] = [
  { kind: "email" },
  { kind: "phone" },
  { kind: "card" },
  { kind: "name", value: values.named, label: "person" },
  { kind: "pattern", pattern: "PRJ-\\d{4}", label: "project" },
];
const privacy = { enabled: true, fields };

/** Returns the forms in which a value may occur in a request: plain, in JSON, in nested JSON, in a URL. */
function listEncodings(value: string): string[] {
  const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);
  const encoded = encodeURIComponent(value);
  return [
    value,
    inJson(value),
    inJson(inJson(value)),
    encoded,
    encoded.replaceAll("%20", "+"),
    encoded.toLowerCase(),
    value.replaceAll(
      /[^\x20-\x7e]/g,
      (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
    ),
  ];
}

/** Returns the private values that the text contains. */
function findLeaks(bytes: string): string[] {
  const lowerCased = bytes.toLowerCase();
  return Object.values(values).filter((value) =>
    listEncodings(value).some((form) => lowerCased.includes(form.toLowerCase())),
  );
}

const placeholderPattern = /\{\{[A-Z][A-Z0-9_]*_\d+_[a-z0-9]{4}\}\}/g;

function listPlaceholders(text: string): string[] {
  return [...new Set(text.match(placeholderPattern))];
}

async function findPlaceholder(
  fixture: StoredChatFixture,
  chat: string,
  value: string,
): Promise<string> {
  const known = await fixture.store.listPlaceholders(chat);
  return known.find((one) => one.value === value)?.placeholder ?? "";
}

const emails = { enabled: true, fields: [{ kind: "email" as const }] };

const skills: Skill[] = [
  { name: "rules", description: "", text: `Ask ${values.inSkill}.`, always: true },
];

const helper = defineAgent({
  name: "helper",
  description: `Belongs to ${values.inHelper}`,
  instructions: `You help ${values.inHelper}.`,
  model: "talker",
});

/** Uses the placeholders in its input, as a model would. */
const clerk: ModelScript = (request, round) => {
  const all = JSON.stringify(request);
  const [email = ""] = all.match(/\{\{EMAIL_\d+_\w{4}\}\}/g)?.slice(-1) ?? [];
  const [person = ""] = all.match(/\{\{PERSON_\d+_\w{4}\}\}/) ?? [];
  if (request.model === "up/namer") return [{ text: `A letter for ${person}` }];
  if (request.instructions?.includes("You help")) return [{ text: `I know ${email}.` }];
  switch (round) {
    case 0:
      return [
        { reasoning: `I write to ${email}.`, encrypted: "opaque" },
        {
          call: "say",
          args: { text: `${email} and ${person}`, url: `https://x.test/?q=${email}` },
        },
        { call: "private_say", args: { text: email } },
      ];
    case 1:
      return [
        {
          call: "ask_for_help",
          args: { name: "helper", description: "", prompt: `Who is ${email}, or ${person}?` },
        },
      ];
    case 3:
      return [{ text: ["Dear ", person.slice(0, 4), person.slice(4, -1), "}, all is done."] }];
    default:
      return [{ text: `Once more, ${email}.` }];
  }
};

async function runCompleteConversation() {
  const { group, calls } = createOfficeTools({
    say: ({ text }) => ({
      message_content: [
        { type: "text", text: `sent to ${text as string} by ${values.inResult}` },
        {
          type: "text",
          text: JSON.stringify({
            link: `https://x.test/?m=${encodeURIComponent(values.inAddress)}`,
            who: values.named,
          }),
        },
      ],
      block_list: [{ type: "text", text: `sent by ${values.inResult}` }],
    }),
  });
  const agent = defineAgent({
    name: "clerk",
    instructions: `You work for ${values.inAgent}.`,
    model: "talker",
    tools: [group],
    agents: [helper],
  });
  const fixture = await chatFixture({
    files: true,
    agents: [agent, helper],
    skills,
    settings: { title_model: "up/namer" },
    defaults: { generateTitles: true },
    script: clerk,
  });
  const chat = await createTestChat(fixture, {
    agent: "clerk",
    instructions: `My boss is ${values.inPrompt}.`,
    privacy,
  });
  const file = Buffer.from(`card;${values.inFile}\nproject;${values.custom}\n`);
  const url = blobPath + (await fixture.store.put(file, "text/csv"));
  const events: TaskEvent[] = [];
  const task_id = "task_of_the_test";
  fixture.runtime.subscribe(task_id, (entries) =>
    events.push(...entries.map(({ event }) => event)),
  );
  const sent = await fixture.chats.send(chat, {
    text: `I am ${values.mine}, write to ${values.named}.`,
    task_id,
    contexts: [
      { kind: "page", title: `Call ${values.inContext}`, text: `Tel. ${values.inContext}` },
    ],
    attachments: [{ kind: "file", url, filename: `${values.custom}.csv`, media_type: "text/csv" }],
  });
  const answer = await waitForAnswerEnd(fixture, sent);
  await waitForChat(fixture, chat, ({ title_by }) => title_by === "model");
  await sendAndWait(fixture, chat, `And ${values.inSecondTurn}?`);
  return { fixture, chat, toolCalls: calls, events, answer };
}

describe("in a complete conversation", () => {
  test("no request to a model contains a private value in any form", async () => {
    const { fixture, answer } = await runCompleteConversation();
    expect(answer).toMatchObject({ status: "completed" });
    // Three rounds, the sub-agent, the title and the second turn.
    expect(fixture.models.bodies).toHaveLength(6);
    for (const body of fixture.models.bodies) expect(findLeaks(body)).toEqual([]);
    // All of them occurred, and were masked.
    const all = fixture.models.bodies.join("\n");
    for (const label of ["EMAIL", "PHONE", "CARD", "PERSON", "PROJECT"])
      expect(all).toMatch(new RegExp(`\\{\\{${label}_\\d+_`));
  });

  test("a tool receives the real value, or the placeholder if it has unmask: false", async () => {
    const { fixture, chat, toolCalls } = await runCompleteConversation();
    const sayInput = toolCalls.find(({ tool }) => tool === "say")?.input ?? {};
    expect(sayInput["text"]).toContain(values.named);
    expect(JSON.stringify(sayInput)).not.toMatch(placeholderPattern);
    const known = (await fixture.store.listPlaceholders(chat)).map(
      ({ placeholder }) => placeholder,
    );
    const hidden = toolCalls.find(({ tool }) => tool === "private_say")?.input["text"];
    expect(known).toContain(hidden);
  });

  test("the user sees real values in the answer, the title and the live events, even if a placeholder was split in the stream", async () => {
    const { fixture, chat, events, answer } = await runCompleteConversation();
    expect(JSON.stringify(answer)).not.toMatch(placeholderPattern);
    const chatNow = await readChat(fixture, chat);
    expect(chatNow.title).toBe(`A letter for ${values.named}`);
    expect((await readPathTexts(fixture, chat)).at(1)).toBe(`Dear ${values.named}, all is done.`);
    expect(JSON.stringify(events)).not.toMatch(placeholderPattern);
    const last = events.findLast((event) => event.type === "task.text.delta");
    const streamed = events.flatMap((event) =>
      event.type === "task.text.delta" &&
      last?.type === "task.text.delta" &&
      event.item_id === last.item_id
        ? [event.delta]
        : [],
    );
    expect(streamed.join("")).toBe(`Dear ${values.named}, all is done.`);
    expect(streamed.length).toBeGreaterThan(1);
  });

  test("exports and search results contain no placeholders", async () => {
    const { fixture, chat } = await runCompleteConversation();
    for (const format of ["markdown", "html", "json", "openai", "glued"] as const)
      expect((await fixture.chats.exportAs(chat, format)).text).not.toMatch(placeholderPattern);
    expect(await fixture.store.searchChats("anna.meier", { owner: "", limit: 5 })).toHaveLength(1);
  });

  test("a value has the same placeholder in all rounds and turns, even after a restart", async () => {
    const { fixture, chat } = await runCompleteConversation();
    const placeholder = await findPlaceholder(fixture, chat, values.mine);
    expect(placeholder).not.toBe("");
    const roots = fixture.models.bodies.filter((body) => body.includes("And "));
    for (const body of roots) expect(body).toContain(placeholder);
    const later = await fixture.restartAfterKill({ script: () => [{ text: "Yes." }] });
    await sendAndWait(later, chat, `Is ${values.mine} still there?`);
    const [body = ""] = later.models.bodies;
    expect(body).toContain(`Is ${placeholder} still there?`);
    expect(findLeaks(body)).toEqual([]);
    const before = fixture.models.requests.at(-1) as ScriptedRequest;
    const after = later.models.requests[0] as ScriptedRequest;
    expect(after.instructions).toBe(before.instructions);
    expect(JSON.stringify(after.input)).toContain(JSON.stringify(before.input).slice(1, -1));
  });
});

describe("the privacy setting", () => {
  test("cannot be changed while an answer is running", async () => {
    const fixture = await chatFixture({ script: () => [{ text: "." }, { wait: neverResolves }] });
    const chat = await createTestChat(fixture, { privacy });
    await fixture.chats.send(chat, { text: "Go" });
    for (const patch of [{ privacy: { enabled: false, fields } }, { privacy: null }])
      await expect(fixture.chats.edit(chat, [{ type: "settings", patch }])).rejects.toMatchObject({
        code: "still_running",
      });
    await fixture.chats.stop(chat);
    await fixture.chats.edit(chat, [{ type: "settings", patch: { privacy: null } }]);
    fixture.models.setScript([[{ text: "." }]]);
    await sendAndWait(fixture, chat, `I am ${values.mine}`);
    expect(fixture.models.bodies.at(-1)).toContain(values.mine);
  });

  test("changes immediately: a title request in progress is aborted and repeated after the next answer", async () => {
    const titleRequested = Promise.withResolvers<void>();
    let namings = 0;
    const fixture = await chatFixture({
      settings: { title_model: "up/namer" },
      defaults: { generateTitles: true },
      script: ({ model }) => {
        if (model !== "up/namer") return [{ text: "." }];
        namings += 1;
        titleRequested.resolve();
        return namings === 1 ? [{ wait: neverResolves }] : [{ text: "A title" }];
      },
    });
    const chat = await createTestChat(fixture, { privacy });
    await sendAndWait(fixture, chat, `I am ${values.mine}`);
    await titleRequested.promise;
    const patch = { privacy: { enabled: true, fields: [{ kind: "phone" as const }] } };
    await fixture.chats.edit(chat, [{ type: "settings", patch }]);
    expect(await readChat(fixture, chat)).toMatchObject({ title_by: "nobody", settings: patch });
    await sendAndWait(fixture, chat, "And?");
    await waitForChat(fixture, chat, ({ title_by }) => title_by === "model");
    expect(fixture.models.bodies.at(-1)).toContain(values.mine);
  });

  test("also masks earlier messages if it is turned on later", async () => {
    const { group } = createOfficeTools();
    const fixture = await chatFixture({
      groups: [group],
      script: (_request, round) =>
        round === 0 ? [{ call: "say", args: { text: values.mine } }] : [{ text: values.mine }],
    });
    const chat = await createTestChat(fixture, { tool_groups: ["office"] });
    await sendAndWait(fixture, chat, `I am ${values.mine}`);
    await fixture.chats.edit(chat, [{ type: "settings", patch: { privacy } }]);
    await sendAndWait(fixture, chat, "Who am I?");
    const last = fixture.models.bodies.at(-1) ?? "";
    expect(findLeaks(last)).toEqual([]);
    expect(
      listPlaceholders(JSON.stringify((JSON.parse(last) as ScriptedRequest).input)),
    ).toHaveLength(1);
  });

  test("of the gateway applies to new chats, and to imported chats without privacy settings", async () => {
    const fixture = await chatFixture({
      settings: { privacy: emails },
      script: () => [{ text: "." }],
    });
    await sendAndWait(fixture, await createTestChat(fixture), `I am ${values.mine}`);
    const messages = [{ role: "user", content: `I am ${values.mine}` }];
    const [imported] = await fixture.chats.importFrom({ messages });
    await sendAndWait(fixture, imported?.chat.chat_id ?? "", "Who am I?");
    expect(fixture.models.bodies).toHaveLength(2);
    for (const body of fixture.models.bodies) expect(findLeaks(body)).toEqual([]);
  });

  test("of the gateway applies to older chats, and to chats that remove their own setting", async () => {
    const script: ModelScript = () => [{ text: "." }];
    const before = await chatFixture({ files: true, script });
    const old = await createTestChat(before);
    const fixture = await before.restartAfterKill({ settings: { privacy: emails } });
    const back = await createTestChat(fixture, {
      privacy: { enabled: true, fields: [{ kind: "phone" }] },
    });
    await fixture.chats.edit(back, [{ type: "settings", patch: { privacy: null } }]);
    for (const chat of [old, back]) {
      const answer = await sendAndWait(fixture, chat, `I am ${values.mine}`);
      expect(answer.masked_with).toMatch(/^[0-9a-f]{16}$/);
      expect(findLeaks(fixture.models.bodies.at(-1) ?? "")).toEqual([]);
    }
    const off = await createTestChat(fixture, { privacy: { enabled: false, fields: [] } });
    await sendAndWait(fixture, off, `I am ${values.mine}`);
    expect(findLeaks(fixture.models.bodies.at(-1) ?? "")).toEqual([values.mine]);
  });
});

describe("masking", () => {
  test("leads to the same system prompt after a restart, also before there are private values", async () => {
    const fixture = await chatFixture({ files: true, script: () => [{ text: "." }] });
    const chat = await createTestChat(fixture, { privacy });
    await sendAndWait(fixture, chat, "Hello");
    const later = await fixture.restartAfterKill();
    await sendAndWait(later, chat, "Hello again");
    const [before] = fixture.models.requests;
    expect(before?.instructions).toContain("PRIVACY_RULE");
    expect(later.models.requests[0]?.instructions).toBe(before?.instructions);
  });

  test("applies where a long result is truncated, and at any offset from which the model reads on", async () => {
    const filler = (length: number): string => "w ".repeat(length / 2);
    const page = `${filler(31_994)}${values.named}${filler(20_000)}${values.inFile}${filler(2000)}`;
    const inCard = page.indexOf(values.inFile) + 5;
    const fixture = await chatFixture({
      groups: [createOfficeTools({ fetch_long: () => page }).group],
      script: [
        [{ call: "fetch_long", args: {} }],
        [{ call: "read_variable", args: { name: "fetch_long_1", offset: 32_000 } }],
        [{ call: "read_variable", args: { name: "fetch_long_1", offset: inCard } }],
        [{ text: "." }],
      ],
    });
    const chat = await createTestChat(fixture, { tool_groups: ["office"], privacy });
    await sendAndWait(fixture, chat, "Go");
    const last = fixture.models.bodies.at(-1) ?? "";
    expect(fixture.models.bodies).toHaveLength(4);
    // Neither complete nor partial values.
    for (const half of ["Zoë", "Zed", "ztürk", "4111", "1111 1111"])
      expect(last).not.toContain(half);
    expect(last.split("{{CARD_1_")).toHaveLength(3);
  });

  test("applies where the text for a title is truncated", async () => {
    const fixture = await chatFixture({
      settings: { title_model: "up/namer" },
      defaults: { generateTitles: true },
      script: () => [{ text: "." }],
    });
    const chat = await createTestChat(fixture, { privacy });
    await sendAndWait(fixture, chat, `${"y".repeat(1990)} ${values.inFile} ok`);
    await waitForChat(fixture, chat, ({ title_by }) => title_by === "model");
    expect(fixture.models.bodies).toHaveLength(2);
    for (const body of fixture.models.bodies) expect(body).not.toContain("4111");
  });

  test("recognizes values to which a model has appended letters", async () => {
    const fixture = await chatFixture({
      script: ({ input }) => {
        const of = (label: string): string =>
          JSON.stringify(input).match(new RegExp(`\\{\\{${label}_1_\\w{4}\\}\\}`))?.[0] ?? "";
        return [{ text: [of("NAME"), "ification with ", of("PASSWORD"), "s"] }];
      },
    });
    const chat = await createTestChat(fixture, {
      privacy: { enabled: true, fields: [{ kind: "name", value: "Mark" }, { kind: "password" }] },
    });
    await sendAndWait(fixture, chat, "I am Mark, password: tiger");
    expect((await readPathTexts(fixture, chat)).at(1)).toBe("Markification with tigers");
    await sendAndWait(fixture, chat, "And now?");
    expect(fixture.models.bodies.at(-1)).not.toMatch(/Mark|tiger/);
  });

  const secrets: PrivacyField[] = [{ kind: "name", value: "Mark" }, { kind: "password" }];

  test("recognizes values to which a model has appended letters, even after a stop and a restart", async () => {
    const fixture = await chatFixture({
      files: true,
      script: ({ input }) => {
        const [placeholder = ""] = JSON.stringify(input).match(/\{\{PASSWORD_1_\w{4}\}\}/) ?? [];
        return [{ text: [placeholder, "20", "24 and ", "then"] }, { wait: neverResolves }];
      },
    });
    const chat = await createTestChat(fixture, { privacy: { enabled: true, fields: secrets } });
    const sent = await fixture.chats.send(chat, { text: "password: tiger" });
    await waitForAnswerText(fixture, sent, "tiger2024 and then");
    const running = await fixture.restartAfterKill({
      script: () => [{ text: "Yes." }, { wait: neverResolves }],
    });
    await running.chats.stop(chat);
    const later = await running.restartAfterKill({ script: () => [{ text: "Yes." }] });
    await sendAndWait(later, chat, "Is it tiger2024?");
    expect(later.models.bodies.join()).toContain("Is it {{PASSWORD_2_");
    expect(later.models.bodies.join()).not.toContain("tiger");
  });

  test("never expands a reference that fetched content wrote into a private value", async () => {
    const page = `password: "ab{{var:say_1}}cd"`;
    const { group, calls } = createOfficeTools({
      say: ({ text }) => (text === "secret" ? `SECRET ${"x".repeat(5000)}` : "said"),
      fetch_long: () => page,
    });
    const fixture = await chatFixture({
      groups: [group],
      script: (request, round) => {
        const [password = ""] = JSON.stringify(request.input).match(/\{\{PASS\w+\}\}/) ?? [];
        return (
          [
            [{ call: "say", args: { text: "secret" } }],
            [{ call: "fetch_long", args: {} }],
            [{ call: "say", args: { text: `${password} ${"and ".repeat(2000)}` } }],
            [{ call: "say", args: { text: "{{var:say_text_1}}" } }],
          ][round] ?? [{ text: password }]
        );
      },
    });
    const chat = await createTestChat(fixture, {
      tool_groups: ["office"],
      privacy: { enabled: true, fields: [{ kind: "password" }] },
    });
    const answer = await sendAndWait(fixture, chat, "Go");
    expect(await fixture.store.listVariables(chat)).toHaveLength(2);
    const sayInput = calls.filter(({ tool }) => tool === "say").map(({ input }) => input["text"]);
    // The exact value, the second time from a variable that was saved from the arguments.
    expect(sayInput.slice(1)).toEqual([
      expect.stringMatching(/^ab\{\{var:say_1\}\}cd and /),
      expect.stringMatching(/^ab\{\{var:say_1\}\}cd and /),
    ]);
    expect(answer.output.at(-1)).toMatchObject({ block_list: [{ text: "ab{{var:say_1}}cd" }] });
  });

  test("applies to the summary of a long history", async () => {
    const fixture = await chatFixture({
      models: { small: { contextWindow: 3000 } },
      groups: [createOfficeTools({ say: () => `${values.inResult} ${"word ".repeat(700)}` }).group],
      script: (request, round) =>
        request.tools === undefined || request["tool_choice"] === "none" || round > 12
          ? [{ text: `In short: ${listPlaceholders(JSON.stringify(request.input))[0] ?? ""}` }]
          : round < 4
            ? [{ call: "say", args: { text: "x" } }]
            : [{ text: "Done." }],
    });
    const chat = await createTestChat(fixture, {
      model: "small",
      tool_groups: ["office"],
      privacy,
    });
    const answer = await sendAndWait(fixture, chat, `I am ${values.mine}`);
    const log = await fixture.store.read(answer.task_id ?? "", -1, 1e6);
    expect(log.some(({ json }) => json.includes("task.context_compression.completed"))).toBe(true);
    for (const body of fixture.models.bodies) expect(findLeaks(body)).toEqual([]);
  });
});
