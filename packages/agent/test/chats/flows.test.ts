import { ModelError } from "@deltawire/agent";
import { blobPath } from "@deltawire/tasks";
import type { GluedMessage, ModelType } from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import {
  getAnswerNode,
  waitForAnswerEnd,
  createTestChat,
  readPathTexts,
  expectRejectedUnchanged,
  sendAndWait,
  listSentItems,
} from "../../../../test/chats/chat-helpers.ts";
import { chatFixture, type StoredChatFixture } from "./chat-fixture.ts";
import { mediaModels, pixelBase64 } from "./media-models.ts";
import { createOfficeTools } from "../../../../test/chats/office-tools.ts";
import {
  countingScript,
  neverResolves,
  type ModelScript,
} from "../../../../test/chats/scripted-models.ts";

/** A model that calls a tool in every round in which it may call tools. */
const toolCallingScript: ModelScript = (request, round) =>
  request["tool_choice"] === "none"
    ? [{ text: "That is all I have." }]
    : [{ text: `Round ${round + 1}.` }, { call: "say", args: { text: `${round + 1}` } }];

async function exportGlued(fixture: StoredChatFixture, chat: string): Promise<GluedMessage[]> {
  const { text } = await fixture.chats.exportAs(chat, "glued");
  return (JSON.parse(text) as { messages: GluedMessage[] }).messages;
}

async function getLastGlued(
  fixture: StoredChatFixture,
  chat: string,
): Promise<GluedMessage & { type: "message" }> {
  const last = (await exportGlued(fixture, chat)).at(-1);
  if (last?.type !== "message") throw new Error("the last entry is not a message");
  return last;
}

describe("sending a message", () => {
  test("to a media model without the required image or audio is rejected before anything is stored", async () => {
    const fixture = await chatFixture({ script: countingScript, models: mediaModels });
    const chat = await createTestChat(fixture);
    const send = (model: string) => () => fixture.chats.send(chat, { text: "Do it", model });
    expect(await expectRejectedUnchanged(fixture, chat, send("retoucher"))).toMatchObject({
      code: "cannot_send",
      param: "attachments",
      message: expect.stringMatching(/there is no image to edit/),
    });
    expect(await expectRejectedUnchanged(fixture, chat, send("listener"))).toMatchObject({
      code: "cannot_send",
      param: "attachments",
      message: expect.stringMatching(/attach an audio file to transcribe/),
    });
  });

  test("does not send the empty answer that is stored first to the model", async () => {
    const fixture = await chatFixture({ script: countingScript });
    const chat = await createTestChat(fixture);
    await sendAndWait(fixture, chat, "One");
    await sendAndWait(fixture, chat, "Two");
    expect(listSentItems(fixture, 0)).toEqual(["user: One"]);
    expect(listSentItems(fixture, 1)).toEqual(["user: One", "assistant: Answer 1", "user: Two"]);
  });

  test("stores the message and its empty answer in one step, before the model request", async () => {
    const fixture = await chatFixture({ script: () => [{ wait: neverResolves }] });
    const chat = await createTestChat(fixture);
    const stamps: number[] = [];
    fixture.chats.subscribe((stamp) => stamps.push(stamp));
    const sent = await fixture.chats.send(chat, { text: "One" });
    expect(stamps).toEqual([sent.after.stamp]);
    expect(Object.values(sent.after.chat.nodes)).toMatchObject([
      { kind: "user", versions: [{ text: "One" }] },
      {
        kind: "answer",
        versions: [{ status: "running", output: [], task_id: sent.task_id, model: "talker" }],
      },
    ]);
    await fixture.chats.stop(chat);
  });

  test("runs tools only if the model calls some", async () => {
    const { group, calls: toolCalls } = createOfficeTools();
    const fixture = await chatFixture({
      groups: [group],
      script: [
        [{ text: "No tool needed." }],
        [{ call: "say", args: { text: "a" } }],
        [{ text: "Said." }],
      ],
    });
    const chat = await createTestChat(fixture, { tool_groups: ["office"] });
    await sendAndWait(fixture, chat, "Hello");
    expect([fixture.models.bodies.length, toolCalls.length]).toEqual([1, 0]);
    await sendAndWait(fixture, chat, "Say a");
    expect([fixture.models.bodies.length, toolCalls.length]).toEqual([3, 1]);
    expect(listSentItems(fixture).slice(-2)).toEqual(['say {"text":"a"}', '=> "said: a"']);
  });

  test("stores the answer with its usage, time and tool calls", async () => {
    const { group } = createOfficeTools();
    const fixture = await chatFixture({
      groups: [group],
      script: [[{ call: "say", args: { text: "a" } }], [{ text: "Said." }]],
    });
    const chat = await createTestChat(fixture, { tool_groups: ["office"] });
    const answer = await sendAndWait(fixture, chat, "Say a");
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

  test("returns the position of the answer, its task, and the chat before and after", async () => {
    const fixture = await chatFixture({ script: countingScript });
    const chat = await createTestChat(fixture);
    const sent = await fixture.chats.send(chat, { text: "One" });
    expect(Object.keys(sent.before.chat.nodes)).toEqual([]);
    expect(sent.after.chat.updated_at >= sent.before.chat.updated_at).toBe(true);
    expect(getAnswerNode(sent.after.chat, sent.node_id).version).toBe(sent.version_id);
    expect((await waitForAnswerEnd(fixture, sent)).task_id).toBe(sent.task_id);
  });
});

describe("requesting another answer", () => {
  test("adds a version to the answer", async () => {
    const fixture = await chatFixture({ script: countingScript });
    const chat = await createTestChat(fixture);
    const { node_id } = await sendAndWait(fixture, chat, "One");
    await sendAndWait(fixture, chat, "Two");
    const again = await fixture.chats.rerun(chat, { node_id });
    await waitForAnswerEnd(fixture, again);
    expect(again.node_id).toBe(node_id);
    expect(await readPathTexts(fixture, chat)).toEqual(["One", "Answer 3", "Two", "Answer 2"]);
  });

  test("inserts the answer if the message has none", async () => {
    const fixture = await chatFixture({ script: countingScript });
    const chat = await createTestChat(fixture);
    const { node_id, message_id } = await sendAndWait(fixture, chat, "One");
    await sendAndWait(fixture, chat, "Two");
    await fixture.chats.edit(chat, [{ type: "delete_node", node_id, children: "keep" }]);
    expect(await readPathTexts(fixture, chat)).toEqual(["One", "Two", "Answer 2"]);
    await waitForAnswerEnd(fixture, await fixture.chats.rerun(chat, { node_id: message_id }));
    expect(await readPathTexts(fixture, chat)).toEqual(["One", "Answer 3", "Two", "Answer 2"]);
  });

  test("sends only what precedes the answer", async () => {
    const fixture = await chatFixture({ script: countingScript });
    const chat = await createTestChat(fixture);
    await sendAndWait(fixture, chat, "One");
    const { node_id } = await sendAndWait(fixture, chat, "Two");
    await sendAndWait(fixture, chat, "Three");
    await waitForAnswerEnd(fixture, await fixture.chats.rerun(chat, { node_id }));
    expect(listSentItems(fixture)).toEqual(["user: One", "assistant: Answer 1", "user: Two"]);
  });

  test("sends the message again with its attachments, contexts and options", async () => {
    const fixture = await chatFixture({ script: countingScript });
    const chat = await createTestChat(fixture);
    const { node_id } = await sendAndWait(fixture, chat, "Sum up", {
      contexts: [{ kind: "selection", title: "notes", text: "Buy milk" }],
      options: { temperature: 0.3 },
    });
    await waitForAnswerEnd(fixture, await fixture.chats.rerun(chat, { node_id }));
    const [first, again] = fixture.models.requests;
    expect(again?.input).toEqual(first?.input);
    expect(again?.["temperature"]).toBe(0.3);
  });
});

describe("tool calls of an answer", () => {
  test("end at the round limit, and the model answers without tools", async () => {
    const { group, calls: toolCalls } = createOfficeTools();
    const fixture = await chatFixture({ groups: [group], script: toolCallingScript });
    const chat = await createTestChat(fixture, { tool_groups: ["office"], limits: { rounds: 3 } });
    const { status, chain } = await sendAndWait(fixture, chat, "Go");
    expect(status).toBe("completed");
    expect(toolCalls).toHaveLength(3);
    const choices = fixture.models.requests.map((request) => request["tool_choice"]);
    expect(choices).toEqual(["auto", "auto", "auto", "none"]);
    expect(chain.stats.outcomes).toEqual({ completed: 3 });
    expect(chain.warnings).toContainEqual({
      code: "limit_reached",
      message: "the round limit of 3 was reached; the model answers without further tool calls",
      count: 1,
    });
  });

  test("are retained with their results if the answer is stopped", async () => {
    const { group } = createOfficeTools();
    const fixture = await chatFixture({
      groups: [group],
      script: [
        [{ call: "say", args: { text: "a" } }],
        [{ call: "sleep", args: {} }],
        [{ text: "never" }],
      ],
    });
    const chat = await createTestChat(fixture, { tool_groups: ["office"] });
    const sent = await fixture.chats.send(chat, { text: "Go" });
    while (fixture.models.bodies.length < 2) await new Promise((done) => setTimeout(done, 5));
    await fixture.chats.stop(chat);
    const answer = await waitForAnswerEnd(fixture, sent);
    expect(answer.status).toBe("aborted");
    expect(answer.chain.calls[0]).toMatchObject({ name: "say", result: "said: a" });
    expect((await getLastGlued(fixture, chat)).message.content).toContain("said: a");
  });

  test("of the first round are retained if the model fails in the second", async () => {
    const { group } = createOfficeTools();
    const fixture = await chatFixture({
      groups: [group],
      script: [
        [{ text: "First." }, { call: "say", args: { text: "a" } }],
        [{ error: new ModelError("invalid_request", "no such parameter") }],
      ],
    });
    const chat = await createTestChat(fixture, { tool_groups: ["office"] });
    const answer = await sendAndWait(fixture, chat, "Go");
    expect(answer).toMatchObject({
      status: "error",
      error: { phase: "model", code: "invalid_request", message: "no such parameter" },
      chain: { calls: [{ name: "say", result: "said: a", outcome: "completed" }] },
    });
    expect(answer.output.map(({ type }) => type)).toEqual(["message", "tool_call", "tool_result"]);
    const { toolChainResult } = await getLastGlued(fixture, chat);
    expect(toolChainResult).toMatchObject({ status: "error", error: "no such parameter" });
  });
});

describe("the export in the format glued", () => {
  test("joins the tool log and the answer into one text, and has the position of the answer in it", async () => {
    const { group } = createOfficeTools();
    const fixture = await chatFixture({
      groups: [group],
      script: [
        [{ text: "Wait." }, { call: "say", args: { text: "a" } }],
        [{ text: "It is said." }],
      ],
    });
    const chat = await createTestChat(fixture, { tool_groups: ["office"] });
    const answer = await sendAndWait(fixture, chat, "Say a");
    const { message, usage, time, token, userPromptSlice, toolChainResult, author } =
      await getLastGlued(fixture, chat);
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

  test("has only the text of an answer without tools", async () => {
    const fixture = await chatFixture({ script: countingScript });
    const chat = await createTestChat(fixture);
    await sendAndWait(fixture, chat, "One");
    const last = await getLastGlued(fixture, chat);
    expect(last.message.content).toBe("Answer 1");
    expect(last).not.toHaveProperty("userPromptSlice");
    expect(last).not.toHaveProperty("toolChainResult");
  });
});

describe("each type of model", () => {
  const table: [ModelType, string, boolean][] = [
    ["chat", "talker", true],
    ["image-gen", "painter", false],
    ["image-edit", "retoucher", false],
    ["audio-stt", "listener", false],
    ["audio-tts", "speaker", false],
  ];

  test.each(table)(
    "%s receives only the attachments that it supports (model: %s, tools: %s)",
    async (type, model, hasTools) => {
      const { group } = createOfficeTools();
      const fixture = await chatFixture({
        groups: [group],
        skills: [{ name: "s", description: "", text: "x", when: "always", always: false }],
        models: mediaModels,
        script: () => [type.startsWith("image") ? { image: pixelBase64 } : { text: "Done." }],
      });
      const chat = await createTestChat(fixture, { tool_groups: ["office"], model });
      const image =
        blobPath + (await fixture.store.put(Buffer.from(pixelBase64, "base64"), "image/png"));
      const audio = blobPath + (await fixture.store.put(Buffer.from("RIFF"), "audio/wav"));
      const answer = await sendAndWait(fixture, chat, "Do it", {
        attachments: [
          { kind: "image", url: image, media_type: "image/png" },
          { kind: "audio", url: audio, media_type: "audio/wav" },
        ],
      });
      expect(answer).toMatchObject({ status: "completed", model_type: type, model });
      const [request] = fixture.models.requests;
      expect(request?.tools !== undefined).toBe(hasTools);
      const kinds = request?.input[0]?.content?.map((part) => part.type);
      const expectedKinds: Record<ModelType, string[]> = {
        chat: ["input_image", "input_text", "input_text"],
        "image-gen": ["input_text"],
        "image-edit": ["input_text", "input_image"],
        "audio-stt": ["input_text", "input_audio"],
        "audio-tts": ["input_text"],
      };
      expect(kinds).toEqual(expectedKinds[type]);
      expect(request?.instructions !== undefined).toBe(hasTools);
      const hasNotice = answer.notices.some((notice) => notice.includes("ignored tool groups"));
      expect(hasNotice).toBe(!hasTools);
    },
  );

  test("a generated image can be edited by another model, and is sent to a chat model", async () => {
    const fixture = await chatFixture({
      models: mediaModels,
      script: ({ model }) => [model === "talker" ? { text: "A dot." } : { image: pixelBase64 }],
    });
    const chat = await createTestChat(fixture);
    await sendAndWait(fixture, chat, "A dot", { model: "painter" });
    await sendAndWait(fixture, chat, "Greener", { model: "retoucher" });
    const [text, image] = fixture.models.requests[1]?.input[0]?.content ?? [];
    expect(text?.text).toBe("Greener");
    expect(image?.image_url).toBe(`data:image/png;base64,${pixelBase64}`);
    await sendAndWait(fixture, chat, "What is it?");
    const input = fixture.models.requests[2]?.input ?? [];
    expect(input.map(({ type }) => type)).toEqual(Array(5).fill("message"));
    expect(listSentItems(fixture)).toEqual([
      "user: A dot",
      "user: [Images from the answer above:] | <input_image>",
      "user: Greener",
      "user: [Images from the answer above:] | <input_image>",
      "user: What is it?",
    ]);
  });
});

describe("the round limit", () => {
  test("defaults to that of the gateway", async () => {
    const { group, calls: toolCalls } = createOfficeTools();
    const fixture = await chatFixture({
      groups: [group],
      script: toolCallingScript,
      defaults: { limits: { rounds: 2 } },
    });
    const chat = await createTestChat(fixture, { tool_groups: ["office"] });
    await sendAndWait(fixture, chat, "Go");
    expect(toolCalls).toHaveLength(2);
  });

  test("of a chat can be lower or higher", async () => {
    const { group, calls: toolCalls } = createOfficeTools();
    const fixture = await chatFixture({
      groups: [group],
      script: toolCallingScript,
      defaults: { limits: { rounds: 2 } },
    });
    const chat = await createTestChat(fixture, { tool_groups: ["office"], limits: { rounds: 12 } });
    await sendAndWait(fixture, chat, "Go");
    expect(toolCalls).toHaveLength(12);
    await fixture.chats.edit(chat, [{ type: "settings", patch: { limits: { rounds: 1 } } }]);
    await sendAndWait(fixture, chat, "Go on");
    expect(toolCalls).toHaveLength(13);
    expect(fixture.models.requests.at(-1)?.["tool_choice"]).toBe("none");
  });
});
