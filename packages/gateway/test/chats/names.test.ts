import { defineAgent, type Chats } from "@deltawire/agent";
import type { ChatSettings, UserEdit } from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import {
  importForeignChat,
  createTestChat,
  expectRejectedUnchanged,
  sendAndWait,
} from "../../../../test/chats/chat-helpers.ts";
import { chatRuntimeFixture, type ChatRuntimeFixture } from "./chat-runtime-fixture.ts";
import { createOfficeTools } from "../../../../test/chats/office-tools.ts";

const clerk = defineAgent({ name: "clerk", instructions: "", model: "talker" });
const tone = { name: "tone", description: "", text: "Be brief.", always: true };
const createFixture = (): Promise<ChatRuntimeFixture> =>
  chatRuntimeFixture({
    script: () => [{ text: "Yes." }],
    agents: [clerk],
    groups: [createOfficeTools().group],
    skills: [tone],
  });

const invalidSettings: [ChatSettings, string, RegExp][] = [
  [{ agent: "nope" }, "agent", /unknown agent "nope"; available: clerk$/],
  [{ agent: "clrk" }, "agent", /unknown agent "clrk" \(did you mean clerk\?\)$/],
  [{ model: "talkr" }, "model", /unknown model "talkr" \(did you mean talker\?\)/],
  [{ title_model: "nobody" }, "title_model", /unknown model "nobody"/],
  [{ title_model: "clerk" }, "title_model", /unknown model "clerk"/],
  [{ skills: ["tone", "tne"] }, "skills[1]", /unknown skill "tne" \(did you mean tone\?\)$/],
  [
    { tool_groups: ["offic"] },
    "tool_groups[0]",
    /unknown tool group "offic" \(did you mean office\?\); available: web, time, agents, office$/,
  ],
  [{ tool_groups: ["time", "files"] }, "tool_groups[1]", /"files" has no folder; set folder/],
];

describe("names in the settings of a chat", () => {
  test("are rejected with their path if they are unknown, in a new chat", async () => {
    const fixture = await createFixture();
    for (const [settings, path, message] of invalidSettings)
      await expect(createTestChat(fixture, settings)).rejects.toMatchObject({
        code: "invalid_value",
        param: `settings.${path}`,
        message: expect.stringMatching(message) as string,
      });
    expect(await fixture.store.listChats({ owner: "", limit: 10 })).toEqual([]);
  });

  test("are rejected with their path if they are unknown, in an edit", async () => {
    const fixture = await createFixture();
    const chat = await createTestChat(fixture);
    for (const [patch, path, message] of invalidSettings) {
      const edits: UserEdit[] = [
        { type: "rename", title: "New" },
        { type: "settings", patch },
      ];
      expect(
        await expectRejectedUnchanged(fixture, chat, () => fixture.chats.edit(chat, edits)),
      ).toMatchObject({
        code: "invalid_value",
        param: `edits[1].patch.${path}`,
        message: expect.stringMatching(message) as string,
      });
    }
  });

  test("are accepted if they are known, including an agent as a model", async () => {
    const fixture = await createFixture();
    const chat = await createTestChat(fixture, {
      model: "clerk",
      title_model: "up/namer",
      skills: ["tone"],
      tool_groups: ["office", "agents", "time"],
    });
    expect(await sendAndWait(fixture, chat, "Hi")).toMatchObject({ agent: "clerk" });
  });

  test("are accepted even if they are unknown when an imported file contains them or an edit repeats them", async () => {
    const fixture = await createFixture();
    const chat = await importForeignChat(fixture, { model: "gone" });
    const patch = { model: "gone", turns: 5 };
    const { after } = await fixture.chats.edit(chat, [{ type: "settings", patch }]);
    expect(after.chat.settings).toMatchObject(patch);
  });

  test("are checked in the state after the preceding edits", async () => {
    const fixture = await createFixture();
    const chat = await createTestChat(fixture, { agent: "clerk" });
    const { after } = await fixture.chats.edit(chat, [
      { type: "settings", patch: { agent: null } },
      { type: "settings", patch: { model: "talker" } },
    ]);
    expect(after.chat.settings).toEqual({ model: "talker" });
  });
});

test("an agent that was removed is reported when a message is sent, with what to do", async () => {
  const fixture = await createFixture();
  const chat = await importForeignChat(fixture, { agent: "worker" });
  await expect(fixture.chats.send(chat, { text: "Hi" })).rejects.toMatchObject({
    code: "cannot_send",
    param: "agent",
    message: 'unknown agent "worker"; available: clerk; select another in the chat settings',
  });
  await expect(fixture.chats.send(chat, { text: "Hi", agent: "worker" })).rejects.toMatchObject({
    message: 'unknown agent "worker"; available: clerk',
  });
});

describe("options that are reserved or invalid", () => {
  const requests: [
    string,
    (chats: Chats, chat: string, node: Node, options: Options) => unknown,
  ][] = [
    ["send", (chats, chat, _node, options) => chats.send(chat, { text: "x", options })],
    [
      "rerun",
      (chats, chat, { answer }, options) => chats.rerun(chat, { node_id: answer, options }),
    ],
    [
      "edit and send",
      (chats, chat, { message }, options) =>
        chats.editMessage(chat, {
          node_id: message,
          text: "x",
          as: "version",
          send: true,
          options,
        }),
    ],
    [
      "edit",
      (chats, chat, { message }, options) =>
        chats.editMessage(chat, {
          node_id: message,
          text: "x",
          as: "branch",
          send: false,
          options,
        }),
    ],
    [
      "continue",
      (chats, chat, { answer }, options) =>
        chats.continueAnswer(chat, { node_id: answer, options }),
    ],
  ];
  type Node = { message: string; answer: string };
  type Options = NonNullable<ChatSettings["options"]>;

  test.each(requests)("are rejected by %s before anything is stored", async (_name, ask) => {
    const fixture = await createFixture();
    const chat = await createTestChat(fixture);
    const { node_id: answer, message_id: message } = await sendAndWait(fixture, chat, "Hi");
    const before = await fixture.store.getChat(chat);
    const rejected: [Options, string][] = [
      [{ stream: false }, "options.stream"],
      [{ model: "x" }, "options.model"],
      [{ temperature: 9 }, "options.temperature"],
      [{ temperatur: 1 }, "options.temperatur"],
      [{ reasoning: { effort: 1 } }, "options.reasoning.effort"],
    ];
    for (const [options, param] of rejected)
      await expect(ask(fixture.chats, chat, { message, answer }, options)).rejects.toMatchObject({
        code: "invalid_value",
        param,
      });
    expect(await fixture.store.getChat(chat)).toEqual(before);
    expect(fixture.models.requests).toHaveLength(1);
  });
});

test("a removed skill is omitted with a notice", async () => {
  const fixture = await createFixture();
  const chat = await importForeignChat(fixture, { skills: ["tone", "manners"] });
  const { notices, status } = await sendAndWait(fixture, chat, "Hi");
  expect(status).toBe("completed");
  expect(notices).toEqual(['the skill "manners" no longer exists and was ignored']);
  expect(fixture.models.bodies[0]).toContain("Be brief.");
});

test("the error about several edits names the one that was rejected", async () => {
  const fixture = await createFixture();
  const chat = await createTestChat(fixture);
  const edits: UserEdit[] = [
    { type: "pin_chat", value: true },
    { type: "pin", node_id: "node_0", value: true },
  ];
  await expect(fixture.chats.edit(chat, edits)).rejects.toMatchObject({
    code: "node_not_found",
    param: "edits[1]",
  });
});
