import { defineAgent, type Skill } from "@deltawire/agent";
import { blobPath, type TaskEvent } from "@deltawire/tasks";
import type { PrivacyField } from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import {
  chatOf,
  ended,
  newChat,
  pathWords,
  said,
  sendAndEnd,
  until,
} from "../../../../test/chats/chat-steps.ts";
import { chatFixture, type StoredChatFixture } from "./chat-fixture.ts";
import { office } from "../../../../test/chats/office.ts";
import { never, type Asked, type Script } from "../../../../test/chats/scripted-replies.ts";

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

/** How a value may stand in the bytes of a request: as it is, in JSON, in JSON within JSON, in an address. */
function formsOf(value: string): string[] {
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

/** The private values that are in the bytes. */
function leaks(bytes: string): string[] {
  const low = bytes.toLowerCase();
  return Object.values(values).filter((value) =>
    formsOf(value).some((form) => low.includes(form.toLowerCase())),
  );
}

const anyPlaceholder = /\{\{[A-Z][A-Z0-9_]*_\d+_[a-z0-9]{4}\}\}/g;

function placeholdersIn(text: string): string[] {
  return [...new Set(text.match(anyPlaceholder))];
}

async function placeholderOf(
  world: StoredChatFixture,
  chat: string,
  value: string,
): Promise<string> {
  const known = await world.store.placeholders(chat);
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

/** Uses the placeholders that it was told, as a model would. */
const clerk: Script = (request, round) => {
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

async function wholeChain() {
  const { group, got } = office({
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
  const world = await chatFixture({
    files: true,
    agents: [agent, helper],
    skills,
    settings: { title_model: "up/namer" },
    defaults: { titles: true },
    script: clerk,
  });
  const chat = await newChat(world, {
    agent: "clerk",
    instructions: `My boss is ${values.inPrompt}.`,
    privacy,
  });
  const file = Buffer.from(`card;${values.inFile}\nproject;${values.custom}\n`);
  const url = blobPath + (await world.store.put(file, "text/csv"));
  const events: TaskEvent[] = [];
  const task_id = "task_of_the_test";
  world.runtime.subscribe(task_id, (entries) => events.push(...entries.map(({ event }) => event)));
  const sent = await world.chats.send(chat, {
    text: `I am ${values.mine}, write to ${values.named}.`,
    task_id,
    contexts: [
      { kind: "page", title: `Call ${values.inContext}`, text: `Tel. ${values.inContext}` },
    ],
    attachments: [{ kind: "file", url, filename: `${values.custom}.csv`, media_type: "text/csv" }],
  });
  const answer = await ended(world, sent);
  await until(world, chat, ({ title_by }) => title_by === "model");
  await sendAndEnd(world, chat, `And ${values.inSecondTurn}?`);
  return { world, chat, got, events, answer };
}

describe("in a whole chain", () => {
  test("no private value is in any byte that a model got, in any form", async () => {
    const { world, answer } = await wholeChain();
    expect(answer).toMatchObject({ status: "completed" });
    // The prompt, two rounds, the sub-agent, the third round, the title, the second turn.
    expect(world.models.bodies).toHaveLength(6);
    for (const body of world.models.bodies) expect(leaks(body)).toEqual([]);
    // They were all there to be masked.
    const all = world.models.bodies.join("\n");
    for (const label of ["EMAIL", "PHONE", "CARD", "PERSON", "PROJECT"])
      expect(all).toMatch(new RegExp(`\\{\\{${label}_\\d+_`));
  });

  test("a tool gets the real value, and one that must not know it the placeholder", async () => {
    const { world, chat, got } = await wholeChain();
    const said = got.find(({ tool }) => tool === "say")?.input ?? {};
    expect(said["text"]).toContain(values.named);
    expect(JSON.stringify(said)).not.toMatch(anyPlaceholder);
    const known = (await world.store.placeholders(chat)).map(({ placeholder }) => placeholder);
    const hidden = got.find(({ tool }) => tool === "private_say")?.input["text"];
    expect(known).toContain(hidden);
  });

  test("the user sees real values in the answer, the title and the live events, also where the stream cut a placeholder", async () => {
    const { world, chat, events, answer } = await wholeChain();
    expect(JSON.stringify(answer)).not.toMatch(anyPlaceholder);
    const chatNow = await chatOf(world, chat);
    expect(chatNow.title).toBe(`A letter for ${values.named}`);
    expect((await pathWords(world, chat)).at(1)).toBe(`Dear ${values.named}, all is done.`);
    expect(JSON.stringify(events)).not.toMatch(anyPlaceholder);
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

  test("no export and no search has a placeholder", async () => {
    const { world, chat } = await wholeChain();
    for (const format of ["markdown", "html", "json", "openai", "glued"] as const)
      expect((await world.chats.exportAs(chat, format)).text).not.toMatch(anyPlaceholder);
    expect(await world.store.searchChats("anna.meier", { limit: 5 })).toHaveLength(1);
  });

  test("a value has one placeholder in all rounds and turns, and after the gateway was started again", async () => {
    const { world, chat } = await wholeChain();
    const placeholder = await placeholderOf(world, chat, values.mine);
    expect(placeholder).not.toBe("");
    const roots = world.models.bodies.filter((body) => body.includes("And "));
    for (const body of roots) expect(body).toContain(placeholder);
    const later = await world.killed({ script: () => [{ text: "Yes." }] });
    await sendAndEnd(later, chat, `Is ${values.mine} still there?`);
    const [body = ""] = later.models.bodies;
    expect(body).toContain(`Is ${placeholder} still there?`);
    expect(leaks(body)).toEqual([]);
    const before = world.models.asked.at(-1) as Asked;
    const after = later.models.asked[0] as Asked;
    expect(after.instructions).toBe(before.instructions);
    expect(JSON.stringify(after.input)).toContain(JSON.stringify(before.input).slice(1, -1));
  });
});

describe("privacy", () => {
  test("cannot be changed while an answer runs, and can afterwards", async () => {
    const world = await chatFixture({ script: () => [{ text: "." }, { wait: never }] });
    const chat = await newChat(world, { privacy });
    await world.chats.send(chat, { text: "Go" });
    for (const patch of [{ privacy: { enabled: false, fields } }, { privacy: null }])
      await expect(world.chats.edit(chat, [{ type: "settings", patch }])).rejects.toMatchObject({
        code: "still_running",
      });
    await world.chats.stop(chat);
    await world.chats.edit(chat, [{ type: "settings", patch: { privacy: null } }]);
    world.models.say([[{ text: "." }]]);
    await sendAndEnd(world, chat, `I am ${values.mine}`);
    expect(world.models.bodies.at(-1)).toContain(values.mine);
  });

  test("is changed at once: a title that was begun with it is given up, and made after the next answer", async () => {
    const asked = Promise.withResolvers<void>();
    let namings = 0;
    const world = await chatFixture({
      settings: { title_model: "up/namer" },
      defaults: { titles: true },
      script: ({ model }) => {
        if (model !== "up/namer") return [{ text: "." }];
        namings += 1;
        asked.resolve();
        return namings === 1 ? [{ wait: never }] : [{ text: "A title" }];
      },
    });
    const chat = await newChat(world, { privacy });
    await sendAndEnd(world, chat, `I am ${values.mine}`);
    await asked.promise;
    const patch = { privacy: { enabled: true, fields: [{ kind: "phone" as const }] } };
    await world.chats.edit(chat, [{ type: "settings", patch }]);
    expect(await chatOf(world, chat)).toMatchObject({ title_by: "nobody", settings: patch });
    await sendAndEnd(world, chat, "And?");
    await until(world, chat, ({ title_by }) => title_by === "model");
    expect(world.models.bodies.at(-1)).toContain(values.mine);
  });

  test("that is switched on later masks all that was said before it", async () => {
    const { group } = office();
    const world = await chatFixture({
      groups: [group],
      script: (_request, round) =>
        round === 0 ? [{ call: "say", args: { text: values.mine } }] : [{ text: values.mine }],
    });
    const chat = await newChat(world, { tool_groups: ["office"] });
    await sendAndEnd(world, chat, `I am ${values.mine}`);
    await world.chats.edit(chat, [{ type: "settings", patch: { privacy } }]);
    await sendAndEnd(world, chat, "Who am I?");
    const last = world.models.bodies.at(-1) ?? "";
    expect(leaks(last)).toEqual([]);
    expect(placeholdersIn(JSON.stringify((JSON.parse(last) as Asked).input))).toHaveLength(1);
  });

  test("of the gateway holds for new chats, and for those that are imported without saying anything of it", async () => {
    const world = await chatFixture({
      settings: { privacy: emails },
      script: () => [{ text: "." }],
    });
    await sendAndEnd(world, await newChat(world), `I am ${values.mine}`);
    const messages = [{ role: "user", content: `I am ${values.mine}` }];
    const [imported] = await world.chats.importFrom({ messages });
    await sendAndEnd(world, imported?.chat.chat_id ?? "", "Who am I?");
    expect(world.models.bodies).toHaveLength(2);
    for (const body of world.models.bodies) expect(leaks(body)).toEqual([]);
  });

  test("of the gateway holds for chats that are older than it, and for those that take theirs back", async () => {
    const script: Script = () => [{ text: "." }];
    const before = await chatFixture({ files: true, script });
    const old = await newChat(before);
    const world = await before.killed({ settings: { privacy: emails } });
    const back = await newChat(world, { privacy: { enabled: true, fields: [{ kind: "phone" }] } });
    await world.chats.edit(back, [{ type: "settings", patch: { privacy: null } }]);
    for (const chat of [old, back]) {
      const answer = await sendAndEnd(world, chat, `I am ${values.mine}`);
      expect(answer.masked_with).toMatch(/^[0-9a-f]{16}$/);
      expect(leaks(world.models.bodies.at(-1) ?? "")).toEqual([]);
    }
    const off = await newChat(world, { privacy: { enabled: false, fields: [] } });
    await sendAndEnd(world, off, `I am ${values.mine}`);
    expect(leaks(world.models.bodies.at(-1) ?? "")).toEqual([values.mine]);
  });

  test("tells the same prompt after a restart, before there was anything to mask", async () => {
    const world = await chatFixture({ files: true, script: () => [{ text: "." }] });
    const chat = await newChat(world, { privacy });
    await sendAndEnd(world, chat, "Hello");
    const later = await world.killed();
    await sendAndEnd(later, chat, "Hello again");
    const [before] = world.models.asked;
    expect(before?.instructions).toContain("PRIVACY_RULE");
    expect(later.models.asked[0]?.instructions).toBe(before?.instructions);
  });

  test("holds where a long result is cut, and where the model reads on wherever it likes", async () => {
    const filler = (length: number): string => "w ".repeat(length / 2);
    const page = `${filler(31_994)}${values.named}${filler(20_000)}${values.inFile}${filler(2000)}`;
    const inCard = page.indexOf(values.inFile) + 5;
    const world = await chatFixture({
      groups: [office({ fetch_long: () => page }).group],
      script: [
        [{ call: "fetch_long", args: {} }],
        [{ call: "read_variable", args: { name: "fetch_long_1", offset: 32_000 } }],
        [{ call: "read_variable", args: { name: "fetch_long_1", offset: inCard } }],
        [{ text: "." }],
      ],
    });
    const chat = await newChat(world, { tool_groups: ["office"], privacy });
    await sendAndEnd(world, chat, "Go");
    const last = world.models.bodies.at(-1) ?? "";
    expect(world.models.bodies).toHaveLength(4);
    // Neither a value nor half of one.
    for (const half of ["Zoë", "Zed", "ztürk", "4111", "1111 1111"])
      expect(last).not.toContain(half);
    expect(last.split("{{CARD_1_")).toHaveLength(3);
  });

  test("holds where the words are cut that a title is made of", async () => {
    const world = await chatFixture({
      settings: { title_model: "up/namer" },
      defaults: { titles: true },
      script: () => [{ text: "." }],
    });
    const chat = await newChat(world, { privacy });
    await sendAndEnd(world, chat, `${"y".repeat(1990)} ${values.inFile} ok`);
    await until(world, chat, ({ title_by }) => title_by === "model");
    expect(world.models.bodies).toHaveLength(2);
    for (const body of world.models.bodies) expect(body).not.toContain("4111");
  });

  test("finds again what a model wrote letters onto", async () => {
    const world = await chatFixture({
      script: ({ input }) => {
        const of = (label: string): string =>
          JSON.stringify(input).match(new RegExp(`\\{\\{${label}_1_\\w{4}\\}\\}`))?.[0] ?? "";
        return [{ text: [of("NAME"), "ification with ", of("PASSWORD"), "s"] }];
      },
    });
    const chat = await newChat(world, {
      privacy: { enabled: true, fields: [{ kind: "name", value: "Mark" }, { kind: "password" }] },
    });
    await sendAndEnd(world, chat, "I am Mark, password: tiger");
    expect((await pathWords(world, chat)).at(1)).toBe("Markification with tigers");
    await sendAndEnd(world, chat, "And now?");
    expect(world.models.bodies.at(-1)).not.toMatch(/Mark|tiger/);
  });

  const secrets: PrivacyField[] = [{ kind: "name", value: "Mark" }, { kind: "password" }];

  test("knows what a model wrote letters onto after a stop and a restart", async () => {
    const world = await chatFixture({
      files: true,
      script: ({ input }) => {
        const [placeholder = ""] = JSON.stringify(input).match(/\{\{PASSWORD_1_\w{4}\}\}/) ?? [];
        return [{ text: [placeholder, "20", "24 and ", "then"] }, { wait: never }];
      },
    });
    const chat = await newChat(world, { privacy: { enabled: true, fields: secrets } });
    const sent = await world.chats.send(chat, { text: "password: tiger" });
    await said(world, sent, "tiger2024 and then");
    const running = await world.killed({ script: () => [{ text: "Yes." }, { wait: never }] });
    await running.chats.stop(chat);
    const later = await running.killed({ script: () => [{ text: "Yes." }] });
    await sendAndEnd(later, chat, "Is it tiger2024?");
    expect(later.models.bodies.join()).toContain("Is it {{PASSWORD_2_");
    expect(later.models.bodies.join()).not.toContain("tiger");
  });

  test("makes no variable out of what a page has written into a private value", async () => {
    const page = `password: "ab{{var:say_1}}cd"`;
    const { group, got } = office({
      say: ({ text }) => (text === "secret" ? `SECRET ${"x".repeat(5000)}` : "said"),
      fetch_long: () => page,
    });
    const world = await chatFixture({
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
    const chat = await newChat(world, {
      tool_groups: ["office"],
      privacy: { enabled: true, fields: [{ kind: "password" }] },
    });
    const answer = await sendAndEnd(world, chat, "Go");
    expect(await world.store.variables(chat)).toHaveLength(2);
    const said = got.filter(({ tool }) => tool === "say").map(({ input }) => input["text"]);
    // The very value, the second time out of a variable that was made of the arguments.
    expect(said.slice(1)).toEqual([
      expect.stringMatching(/^ab\{\{var:say_1\}\}cd and /),
      expect.stringMatching(/^ab\{\{var:say_1\}\}cd and /),
    ]);
    expect(answer.output.at(-1)).toMatchObject({ block_list: [{ text: "ab{{var:say_1}}cd" }] });
  });

  test("holds in the summary that a long history is put into", async () => {
    const world = await chatFixture({
      models: { small: { contextWindow: 3000 } },
      groups: [office({ say: () => `${values.inResult} ${"word ".repeat(700)}` }).group],
      script: (request, round) =>
        request.tools === undefined || request["tool_choice"] === "none" || round > 12
          ? [{ text: `In short: ${placeholdersIn(JSON.stringify(request.input))[0] ?? ""}` }]
          : round < 4
            ? [{ call: "say", args: { text: "x" } }]
            : [{ text: "Done." }],
    });
    const chat = await newChat(world, { model: "small", tool_groups: ["office"], privacy });
    const answer = await sendAndEnd(world, chat, `I am ${values.mine}`);
    const log = await world.store.read(answer.task_id ?? "", -1, 1e6);
    expect(log.some(({ json }) => json.includes("task.context_compression.completed"))).toBe(true);
    for (const body of world.models.bodies) expect(leaks(body)).toEqual([]);
  });
});
