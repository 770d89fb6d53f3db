import { defineAgent, type Chats } from "@deltawire/agent";
import type { ChatSettings, PersonEdit } from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import {
  foreignChat,
  newChat,
  refusedAndUnchanged,
  sendAndEnd,
} from "../../../../test/chats/chat-steps.ts";
import { chatWorld, type World } from "./chat-world.ts";
import { office } from "../../../../test/chats/office.ts";

const clerk = defineAgent({ name: "clerk", instructions: "", model: "talker" });
const tone = { name: "tone", description: "", text: "Be brief.", always: true };
const aWorld = (): Promise<World> =>
  chatWorld({
    script: () => [{ text: "Yes." }],
    agents: [clerk],
    groups: [office().group],
    skills: [tone],
  });

const wrong: [ChatSettings, string, RegExp][] = [
  [{ agent: "nope" }, "agent", /there is no agent "nope"; there are clerk$/],
  [{ agent: "clrk" }, "agent", /there is no agent "clrk"; did you mean clerk\?$/],
  [{ model: "talkr" }, "model", /there is no model "talkr": did you mean talker\?/],
  [{ title_model: "nobody" }, "title_model", /there is no model "nobody"/],
  [{ title_model: "clerk" }, "title_model", /there is no model "clerk"/],
  [{ skills: ["tone", "tne"] }, "skills[1]", /there is no skill "tne"; did you mean tone\?$/],
  [
    { tool_groups: ["offic"] },
    "tool_groups[0]",
    /there is no tool group "offic"; there are web, time, agents, office; did you mean office\?$/,
  ],
  [{ tool_groups: ["time", "files"] }, "tool_groups[1]", /"files" has no folder: write folder/],
];

describe("settings that name what is not there", () => {
  test("are refused for a new chat, by their path", async () => {
    const world = await aWorld();
    for (const [settings, path, message] of wrong)
      await expect(newChat(world, settings)).rejects.toMatchObject({
        code: "bad_value",
        param: `settings.${path}`,
        message: expect.stringMatching(message) as string,
      });
    expect(await world.store.listChats({ limit: 10 })).toEqual([]);
  });

  test("are refused in an edit, by their path within it", async () => {
    const world = await aWorld();
    const chat = await newChat(world);
    for (const [patch, path, message] of wrong) {
      const edits: PersonEdit[] = [
        { type: "rename", title: "New" },
        { type: "settings", patch },
      ];
      expect(
        await refusedAndUnchanged(world, chat, () => world.chats.edit(chat, edits)),
      ).toMatchObject({
        code: "bad_value",
        param: `edits[1].patch.${path}`,
        message: expect.stringMatching(message) as string,
      });
    }
  });

  test("and those that are there are taken, agents by the name of a model too", async () => {
    const world = await aWorld();
    const chat = await newChat(world, {
      model: "clerk",
      title_model: "up/namer",
      skills: ["tone"],
      tool_groups: ["office", "agents", "time"],
    });
    expect(await sendAndEnd(world, chat, "Hi")).toMatchObject({ agent: "clerk" });
  });

  test("are no hindrance where they were there before, or come from a file", async () => {
    const world = await aWorld();
    const chat = await foreignChat(world, { model: "gone" });
    const patch = { model: "gone", turns: 5 };
    const { after } = await world.chats.edit(chat, [{ type: "settings", patch }]);
    expect(after.chat.settings).toMatchObject(patch);
  });

  test("are judged as they are after the edits before them", async () => {
    const world = await aWorld();
    const chat = await newChat(world, { agent: "clerk" });
    const { after } = await world.chats.edit(chat, [
      { type: "settings", patch: { agent: null } },
      { type: "settings", patch: { model: "talker" } },
    ]);
    expect(after.chat.settings).toEqual({ model: "talker" });
  });
});

test("an agent that has gone since is told when the chat is sent to, with what to do", async () => {
  const world = await aWorld();
  const chat = await foreignChat(world, { agent: "worker" });
  await expect(world.chats.send(chat, { text: "Hi" })).rejects.toMatchObject({
    code: "cannot_send",
    param: "agent",
    message:
      'there is no agent "worker"; there are clerk; choose another in the settings of the chat',
  });
  await expect(world.chats.send(chat, { text: "Hi", agent: "worker" })).rejects.toMatchObject({
    message: 'there is no agent "worker"; there are clerk',
  });
});

describe("options that nobody may set, or that mean nothing", () => {
  const asks: [string, (chats: Chats, chat: string, node: Node, options: Options) => unknown][] = [
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

  test.each(asks)("are refused by %s, before anything is written", async (_name, ask) => {
    const world = await aWorld();
    const chat = await newChat(world);
    const { node_id: answer, message_id: message } = await sendAndEnd(world, chat, "Hi");
    const before = await world.store.chat(chat);
    const refused: [Options, string][] = [
      [{ stream: false }, "options.stream"],
      [{ model: "x" }, "options.model"],
      [{ temperature: 9 }, "options.temperature"],
      [{ temperatur: 1 }, "options.temperatur"],
      [{ reasoning: { effort: 1 } }, "options.reasoning.effort"],
    ];
    for (const [options, param] of refused)
      await expect(ask(world.chats, chat, { message, answer }, options)).rejects.toMatchObject({
        code: "bad_value",
        param,
      });
    expect(await world.store.chat(chat)).toEqual(before);
    expect(world.models.asked).toHaveLength(1);
  });
});

test("a skill that is gone is left out with a notice", async () => {
  const world = await aWorld();
  const chat = await foreignChat(world, { skills: ["tone", "manners"] });
  const { notices, status } = await sendAndEnd(world, chat, "Hi");
  expect(status).toBe("completed");
  expect(notices).toEqual(['there is no skill "manners" any more: it was left out']);
  expect(world.models.bodies[0]).toContain("Be brief.");
});

test("of several edits the one that is refused is named", async () => {
  const world = await aWorld();
  const chat = await newChat(world);
  const edits: PersonEdit[] = [
    { type: "pin_chat", value: true },
    { type: "pin", node_id: "node_0", value: true },
  ];
  await expect(world.chats.edit(chat, edits)).rejects.toMatchObject({
    code: "unknown_node",
    param: "edits[1]",
  });
});
