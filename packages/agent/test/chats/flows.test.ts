import { ModelError } from "@deltawire/agent";
import { blobPath } from "@deltawire/tasks";
import type { GluedMessage, ModelType } from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import {
  answerIn,
  ended,
  newChat,
  pathWords,
  refusedAndUnchanged,
  sendAndEnd,
  told,
} from "../../../../test/chats/chat-steps.ts";
import { chatFixture, type StoredChatFixture } from "./chat-fixture.ts";
import { mediaModels, pixel } from "./media-models.ts";
import { office } from "../../../../test/chats/office.ts";
import { counting, never, type Script } from "../../../../test/chats/scripted-replies.ts";

/** Calls in every round that it is allowed to. */
const tireless: Script = (request, round) =>
  request["tool_choice"] === "none"
    ? [{ text: "That is all I have." }]
    : [{ text: `Round ${round + 1}.` }, { call: "say", args: { text: `${round + 1}` } }];

async function glued(world: StoredChatFixture, chat: string): Promise<GluedMessage[]> {
  const { text } = await world.chats.exportAs(chat, "glued");
  return (JSON.parse(text) as { messages: GluedMessage[] }).messages;
}

async function lastGlued(
  world: StoredChatFixture,
  chat: string,
): Promise<GluedMessage & { type: "message" }> {
  const last = (await glued(world, chat)).at(-1);
  if (last?.type !== "message") throw new Error("no message is last");
  return last;
}

describe("sendMessage", () => {
  test("1. pre-validation (preValidateModalType): an edit needs a picture and a transcription needs a sound, before there is a slot", async () => {
    const world = await chatFixture({ script: counting, models: mediaModels });
    const chat = await newChat(world);
    const send = (model: string) => () => world.chats.send(chat, { text: "Do it", model });
    expect(await refusedAndUnchanged(world, chat, send("retoucher"))).toMatchObject({
      code: "cannot_send",
      param: "attachments",
      message: expect.stringMatching(/needs a picture/),
    });
    expect(await refusedAndUnchanged(world, chat, send("listener"))).toMatchObject({
      code: "cannot_send",
      param: "attachments",
      message: expect.stringMatching(/needs a sound/),
    });
  });

  test("2. history before slot (getAttachedHistory before prepareSlot): no placeholder is ever told", async () => {
    const world = await chatFixture({ script: counting });
    const chat = await newChat(world);
    await sendAndEnd(world, chat, "One");
    await sendAndEnd(world, chat, "Two");
    expect(told(world, 0)).toEqual(["user: One"]);
    expect(told(world, 1)).toEqual(["user: One", "assistant: Answer 1", "user: Two"]);
  });

  test("3. placeholder (prepareSlot append): message and slot are kept in one step, before the model is asked", async () => {
    const world = await chatFixture({ script: () => [{ wait: never }] });
    const chat = await newChat(world);
    const stamps: number[] = [];
    world.chats.subscribe(({ stamp }) => stamps.push(stamp));
    const sent = await world.chats.send(chat, { text: "One" });
    expect(stamps).toEqual([sent.after.stamp]);
    expect(Object.values(sent.after.chat.nodes)).toMatchObject([
      { kind: "user", versions: [{ text: "One" }] },
      {
        kind: "answer",
        versions: [{ status: "running", output: [], task_id: sent.task_id, model: "talker" }],
      },
    ]);
    await world.chats.stop(chat);
  });

  test("4. executeByModalType: chat, and the tool chain only if the first reply has calls", async () => {
    const { group, got } = office();
    const world = await chatFixture({
      groups: [group],
      script: [
        [{ text: "No tool needed." }],
        [{ call: "say", args: { text: "a" } }],
        [{ text: "Said." }],
      ],
    });
    const chat = await newChat(world, { tool_groups: ["office"] });
    await sendAndEnd(world, chat, "Hello");
    expect([world.models.bodies.length, got.length]).toEqual([1, 0]);
    await sendAndEnd(world, chat, "Say a");
    expect([world.models.bodies.length, got.length]).toEqual([3, 1]);
    expect(told(world).slice(-2)).toEqual(['say {"text":"a"}', '=> "said: a"']);
  });

  test("5. finalize: the slot becomes the answer, with its usage, its time and its chain", async () => {
    const { group } = office();
    const world = await chatFixture({
      groups: [group],
      script: [[{ call: "say", args: { text: "a" } }], [{ text: "Said." }]],
    });
    const chat = await newChat(world, { tool_groups: ["office"] });
    const answer = await sendAndEnd(world, chat, "Say a");
    expect(answer).toMatchObject({
      status: "completed",
      usage: { input_tokens: 20, output_tokens: 10, total_tokens: 30 },
      chain: {
        calls: [{ name: "say", arguments: '{"text":"a"}', result: "said: a", round: 1 }],
        stats: { rounds: 2, calls: 1, outcomes: { completed: 1 } },
      },
    });
    expect(answer.time_ms).toBeGreaterThanOrEqual(0);
    expect(answer.output.map(({ type }) => type)).toEqual(["tool_call", "tool_result", "message"]);
  });

  test("6. what is returned: where the answer is, its task, and the chat as it was and is", async () => {
    const world = await chatFixture({ script: counting });
    const chat = await newChat(world);
    const sent = await world.chats.send(chat, { text: "One" });
    expect(Object.keys(sent.before.chat.nodes)).toEqual([]);
    expect(sent.after.chat.updated_at >= sent.before.chat.updated_at).toBe(true);
    expect(answerIn(sent.after.chat, sent.node_id).version).toBe(sent.version_id);
    expect((await ended(world, sent)).task_id).toBe(sent.task_id);
  });
});

describe("reRunMessage", () => {
  test("reRunMessage: updateAt makes a new version in place", async () => {
    const world = await chatFixture({ script: counting });
    const chat = await newChat(world);
    const { node_id } = await sendAndEnd(world, chat, "One");
    await sendAndEnd(world, chat, "Two");
    const again = await world.chats.rerun(chat, { node_id });
    await ended(world, again);
    expect(again.node_id).toBe(node_id);
    expect(await pathWords(world, chat)).toEqual(["One", "Answer 3", "Two", "Answer 2"]);
  });

  test("reRunMessage: insertAt puts an answer between a message and what follows it", async () => {
    const world = await chatFixture({ script: counting });
    const chat = await newChat(world);
    const { node_id, message_id } = await sendAndEnd(world, chat, "One");
    await sendAndEnd(world, chat, "Two");
    await world.chats.edit(chat, [{ type: "delete_node", node_id, children: "keep" }]);
    expect(await pathWords(world, chat)).toEqual(["One", "Two", "Answer 2"]);
    await ended(world, await world.chats.rerun(chat, { node_id: message_id }));
    expect(await pathWords(world, chat)).toEqual(["One", "Answer 3", "Two", "Answer 2"]);
  });

  test("reRunMessage: history before slot, so that neither the old nor the new answer is told", async () => {
    const world = await chatFixture({ script: counting });
    const chat = await newChat(world);
    await sendAndEnd(world, chat, "One");
    const { node_id } = await sendAndEnd(world, chat, "Two");
    await sendAndEnd(world, chat, "Three");
    await ended(world, await world.chats.rerun(chat, { node_id }));
    expect(told(world)).toEqual(["user: One", "assistant: Answer 1", "user: Two"]);
  });

  test("reRunMessage: user input restored from the context, with all that stood beside the words", async () => {
    const world = await chatFixture({ script: counting });
    const chat = await newChat(world);
    const { node_id } = await sendAndEnd(world, chat, "Sum up", {
      contexts: [{ kind: "selection", title: "notes", text: "Buy milk" }],
      options: { temperature: 0.3 },
    });
    await ended(world, await world.chats.rerun(chat, { node_id }));
    const [first, again] = world.models.asked;
    expect(again?.input).toEqual(first?.input);
    expect(again?.["temperature"]).toBe(0.3);
  });
});

describe("handleToolChain", () => {
  test("handleToolChain: maxRounds, after which the model has to answer without tools", async () => {
    const { group, got } = office();
    const world = await chatFixture({ groups: [group], script: tireless });
    const chat = await newChat(world, { tool_groups: ["office"], limits: { rounds: 3 } });
    const { status, chain } = await sendAndEnd(world, chat, "Go");
    expect(status).toBe("completed");
    expect(got).toHaveLength(3);
    const choices = world.models.asked.map((asked) => asked["tool_choice"]);
    expect(choices).toEqual(["auto", "auto", "auto", "none"]);
    expect(chain.stats.outcomes).toEqual({ completed: 3 });
    expect(chain.warnings).toContainEqual({
      code: "limit_reached",
      message: "the limit of 3 rounds is reached: the model answers without more tool calls",
      count: 1,
    });
  });

  test("handleToolChain: abort, with status aborted, and what was finished is kept", async () => {
    const { group } = office();
    const world = await chatFixture({
      groups: [group],
      script: [
        [{ call: "say", args: { text: "a" } }],
        [{ call: "sleep", args: {} }],
        [{ text: "never" }],
      ],
    });
    const chat = await newChat(world, { tool_groups: ["office"] });
    const sent = await world.chats.send(chat, { text: "Go" });
    while (world.models.bodies.length < 2) await new Promise((done) => setTimeout(done, 5));
    await world.chats.stop(chat);
    const answer = await ended(world, sent);
    expect(answer.status).toBe("aborted");
    expect(answer.chain.calls[0]).toMatchObject({ name: "say", result: "said: a" });
    expect((await lastGlued(world, chat)).message.content).toContain("said: a");
  });

  test("handleToolChain: statuses and error phases: a model that fails in the second round leaves the first", async () => {
    const { group } = office();
    const world = await chatFixture({
      groups: [group],
      script: [
        [{ text: "First." }, { call: "say", args: { text: "a" } }],
        [{ error: new ModelError("invalid_request", "no such parameter") }],
      ],
    });
    const chat = await newChat(world, { tool_groups: ["office"] });
    const answer = await sendAndEnd(world, chat, "Go");
    expect(answer).toMatchObject({
      status: "error",
      error: { phase: "model", code: "invalid_request", message: "no such parameter" },
      chain: { calls: [{ name: "say", result: "said: a", outcome: "completed" }] },
    });
    expect(answer.output.map(({ type }) => type)).toEqual(["message", "tool_call", "tool_result"]);
    const { toolChainResult } = await lastGlued(world, chat);
    expect(toolChainResult).toMatchObject({ status: "error", error: "no such parameter" });
  });
});

describe("finalize", () => {
  test("finalize: content, usage, time, token, userPromptSlice, toolChainResult, as the glued export has them", async () => {
    const { group } = office();
    const world = await chatFixture({
      groups: [group],
      script: [
        [{ text: "Wait." }, { call: "say", args: { text: "a" } }],
        [{ text: "It is said." }],
      ],
    });
    const chat = await newChat(world, { tool_groups: ["office"] });
    const answer = await sendAndEnd(world, chat, "Say a");
    const { message, usage, time, token, userPromptSlice, toolChainResult, author } =
      await lastGlued(world, chat);
    const [start, end] = userPromptSlice ?? [0, 0];
    expect(message.role).toBe("assistant");
    expect(message.content.slice(start, end)).toBe("It is said.");
    expect(message.content.slice(0, start)).toMatch(/Wait\.[\s\S]*say[\s\S]*said: a/);
    expect(end).toBe(message.content.length);
    expect(usage).toEqual(answer.usage);
    expect(time).toBe(answer.time_ms);
    expect(token).toBe(answer.usage?.output_tokens);
    expect(author).toBe("talker");
    expect(toolChainResult).toEqual({
      toolCallHistory: answer.chain.calls,
      stats: answer.chain.stats,
      status: "completed",
    });
  });

  test("finalize: without a tool chain the content is the answer and there is no slice", async () => {
    const world = await chatFixture({ script: counting });
    const chat = await newChat(world);
    await sendAndEnd(world, chat, "One");
    const last = await lastGlued(world, chat);
    expect(last.message.content).toBe("Answer 1");
    expect(last).not.toHaveProperty("userPromptSlice");
    expect(last).not.toHaveProperty("toolChainResult");
  });
});

describe("the modal table", () => {
  const table: [ModelType, string, boolean][] = [
    ["chat", "talker", true],
    ["image-gen", "painter", false],
    ["image-edit", "retoucher", false],
    ["audio-stt", "listener", false],
    ["audio-tts", "speaker", false],
  ];

  test.each(table)(
    "%s has a handler of its own and tools or none: %s, %s",
    async (type, model, hasTools) => {
      const { group } = office();
      const world = await chatFixture({
        groups: [group],
        skills: [{ name: "s", description: "", text: "x", when: "always", always: false }],
        models: mediaModels,
        script: () => [type.startsWith("image") ? { picture: pixel } : { text: "Done." }],
      });
      const chat = await newChat(world, { tool_groups: ["office"], model });
      const image = blobPath + (await world.store.put(Buffer.from(pixel, "base64"), "image/png"));
      const sound = blobPath + (await world.store.put(Buffer.from("RIFF"), "audio/wav"));
      const answer = await sendAndEnd(world, chat, "Do it", {
        attachments: [
          { kind: "image", url: image, media_type: "image/png" },
          { kind: "audio", url: sound, media_type: "audio/wav" },
        ],
      });
      expect(answer).toMatchObject({ status: "completed", model_type: type, model });
      const [asked] = world.models.asked;
      expect(asked?.tools !== undefined).toBe(hasTools);
      const kinds = asked?.input[0]?.content?.map((part) => part.type);
      const told: Record<ModelType, string[]> = {
        chat: ["input_image", "input_text", "input_text"],
        "image-gen": ["input_text"],
        "image-edit": ["input_text", "input_image"],
        "audio-stt": ["input_text", "input_audio"],
        "audio-tts": ["input_text"],
      };
      expect(kinds).toEqual(told[type]);
      expect(asked?.instructions !== undefined).toBe(hasTools);
      const isTold = answer.notices.some((notice) => notice.includes("office was left out"));
      expect(isTold).toBe(!hasTools);
    },
  );

  test("a picture that was made can be edited next, and a chat model sees it", async () => {
    const world = await chatFixture({
      models: mediaModels,
      script: ({ model }) => [model === "talker" ? { text: "A dot." } : { picture: pixel }],
    });
    const chat = await newChat(world);
    await sendAndEnd(world, chat, "A dot", { model: "painter" });
    await sendAndEnd(world, chat, "Greener", { model: "retoucher" });
    const [text, picture] = world.models.asked[1]?.input[0]?.content ?? [];
    expect(text?.text).toBe("Greener");
    expect(picture?.image_url).toBe(`data:image/png;base64,${pixel}`);
    await sendAndEnd(world, chat, "What is it?");
    const input = world.models.asked[2]?.input ?? [];
    expect(input.map(({ type }) => type)).toEqual(Array(5).fill("message"));
    expect(told(world)).toEqual([
      "user: A dot",
      "user: [What was made above:] | <input_image>",
      "user: Greener",
      "user: [What was made above:] | <input_image>",
      "user: What is it?",
    ]);
  });
});

describe("toolCallMaxRounds", () => {
  test("toolCallMaxRounds of the gateway holds where the chat says nothing", async () => {
    const { group, got } = office();
    const world = await chatFixture({
      groups: [group],
      script: tireless,
      defaults: { limits: { rounds: 2 } },
    });
    const chat = await newChat(world, { tool_groups: ["office"] });
    await sendAndEnd(world, chat, "Go");
    expect(got).toHaveLength(2);
  });

  test("toolCallMaxRounds of the chat may be less or more", async () => {
    const { group, got } = office();
    const world = await chatFixture({
      groups: [group],
      script: tireless,
      defaults: { limits: { rounds: 2 } },
    });
    const chat = await newChat(world, { tool_groups: ["office"], limits: { rounds: 12 } });
    await sendAndEnd(world, chat, "Go");
    expect(got).toHaveLength(12);
    await world.chats.edit(chat, [{ type: "settings", patch: { limits: { rounds: 1 } } }]);
    await sendAndEnd(world, chat, "Go on");
    expect(got).toHaveLength(13);
    expect(world.models.asked.at(-1)?.["tool_choice"]).toBe("none");
  });
});
