import { defineAgent } from "@deltawire/agent";
import { blobPath } from "@deltawire/tasks";
import { describe, expect, test } from "vitest";
import {
  readChat,
  waitForAnswerEnd,
  createTestChat,
  sendAndWait,
} from "../../../../test/chats/chat-helpers.ts";
import { chatRuntimeFixture } from "./chat-runtime-fixture.ts";
import { createOfficeTools } from "../../../../test/chats/office-tools.ts";
import type { ModelScript } from "../../../../test/chats/scripted-models.ts";

const plain: ModelScript = () => [{ text: "Yes." }];

describe("options in a real request", () => {
  test("are merged deeply: defaults < model < agent < chat < message < this request", async () => {
    const layer = (name: string, from: number): string[] =>
      Array.from({ length: 6 - from }, (_, index) => `l${index + from} = "${name}"`);
    const toml = `
[models.layered]
use = "up/m"
[models.layered.options.metadata]
${layer("model", 1).join("\n")}

[agents.layers]
model = "layered"
[agents.layers.options.metadata]
${layer("agent", 2).join("\n")}
`;
    const fixture = await chatRuntimeFixture({
      script: plain,
      toml,
      chats: `titles = false\n[chats.options.metadata]\n${layer("defaults", 0).join("\n")}`,
    });
    const metadata = (name: string, from: number) => ({
      metadata: Object.fromEntries(
        Array.from({ length: 6 - from }, (_, index) => [`l${index + from}`, name]),
      ),
    });
    const chat = await createTestChat(fixture, { agent: "layers", options: metadata("chat", 3) });
    const { node_id } = await sendAndWait(fixture, chat, "Hi", { options: metadata("message", 4) });
    const [first] = fixture.models.requests;
    expect(first?.["metadata"]).toEqual({
      l0: "defaults",
      l1: "model",
      l2: "agent",
      l3: "chat",
      l4: "message",
      l5: "message",
    });
    const rerun = { node_id, options: metadata("this request", 5) };
    await waitForAnswerEnd(fixture, await fixture.chats.rerun(chat, rerun));
    expect(fixture.models.requests[1]?.["metadata"]).toMatchObject({
      l4: "message",
      l5: "this request",
    });
    // Options of one request do not stay with the message.
    await waitForAnswerEnd(fixture, await fixture.chats.rerun(chat, { node_id }));
    expect(fixture.models.requests[2]).toEqual(first);
  });

  test("lose only what a later layer removes with null; 0, false and empty strings are preserved", async () => {
    const fixture = await chatRuntimeFixture({
      script: plain,
      chats: "titles = false\noptions = { temperature = 0.5, top_p = 0.9 }",
    });
    const chat = await createTestChat(fixture, {
      options: { temperature: null, top_p: 0, user: "", truncation: "disabled" },
    });
    await sendAndWait(fixture, chat, "Hi");
    const [firstRequest] = fixture.models.requests;
    expect(firstRequest).toMatchObject({ top_p: 0, user: "", truncation: "disabled" });
    expect(firstRequest).not.toHaveProperty("temperature");
  });

  test("apply to every round of the answer, but not to sub-agents", async () => {
    const helper = defineAgent({ name: "helper", instructions: "Help.", model: "talker" });
    const fixture = await chatRuntimeFixture({
      agents: [helper],
      script: [
        [{ call: "ask_for_help", args: { name: "helper", description: "", prompt: "Help!" } }],
        [{ text: "Helped." }],
        [{ text: "Done." }],
      ],
    });
    const chat = await createTestChat(fixture, {
      tool_groups: ["agents"],
      options: { temperature: 0.2 },
    });
    await sendAndWait(fixture, chat, "Go");
    const temperatures = fixture.models.requests.map((firstRequest) => firstRequest["temperature"]);
    expect(temperatures).toEqual([0.2, undefined, 0.2]);
  });

  test("of a chat that the gateway sets itself are rejected", async () => {
    const fixture = await chatRuntimeFixture();
    await expect(createTestChat(fixture, { options: { stream: false } })).rejects.toMatchObject({
      code: "invalid_value",
      param: "settings.options.stream",
    });
  });
});

describe("tool_choice", () => {
  const twoCallScript: ModelScript = (_request, round) =>
    round === 0 ? [{ call: "say", args: { text: "a" } }] : [{ text: "Said." }];

  test("is not sent without tools, even if it is set", async () => {
    const fixture = await chatRuntimeFixture({ script: plain });
    const chat = await createTestChat(fixture, { options: { tool_choice: "required" } });
    await sendAndWait(fixture, chat, "Hi");
    expect(fixture.models.requests[0]).not.toHaveProperty("tools");
    expect(fixture.models.requests[0]).not.toHaveProperty("tool_choice");
  });

  test("is auto if a tool group is enabled", async () => {
    const fixture = await chatRuntimeFixture({
      script: twoCallScript,
      groups: [createOfficeTools().group],
    });
    const chat = await createTestChat(fixture, { tool_groups: ["office"] });
    await sendAndWait(fixture, chat, "Hi");
    expect(fixture.models.requests.map((firstRequest) => firstRequest["tool_choice"])).toEqual([
      "auto",
      "auto",
    ]);
  });

  test.each([
    ["required", "auto"],
    ["none", "none"],
  ])("set to %s becomes %s after the first call", async (firstRequest, after) => {
    const fixture = await chatRuntimeFixture({
      script: twoCallScript,
      groups: [createOfficeTools().group],
    });
    const chat = await createTestChat(fixture, { tool_groups: ["office"] });
    await sendAndWait(fixture, chat, "Hi", { options: { tool_choice: firstRequest } });
    expect(fixture.models.requests.map((one) => one["tool_choice"])).toEqual([firstRequest, after]);
  });

  test("of a named tool forces one call", async () => {
    const fixture = await chatRuntimeFixture({
      script: twoCallScript,
      groups: [createOfficeTools().group],
    });
    const chat = await createTestChat(fixture, { tool_groups: ["office"] });
    const tool_choice = { type: "function", name: "say" };
    await sendAndWait(fixture, chat, "Hi", { options: { tool_choice } });
    expect(fixture.models.requests.map((one) => one["tool_choice"])).toEqual([tool_choice, "auto"]);
  });
});

describe("what a model does not support", () => {
  const blind = `
[models.blind]
use = "up/m"
input_modalities = []
tools = false
`;

  test("is omitted with a visible notice: images, tools and efforts", async () => {
    const fixture = await chatRuntimeFixture({
      script: plain,
      toml: blind,
      groups: [createOfficeTools().group],
    });
    const chat = await createTestChat(fixture, {
      model: "blind",
      tool_groups: ["office"],
      options: { reasoning: { effort: "enormous" }, tool_choice: "required" },
    });
    const url = blobPath + (await fixture.store.put(Buffer.from("GIF89a"), "image/gif"));
    const { notices, status } = await sendAndWait(fixture, chat, "Look", {
      attachments: [{ kind: "image", url, filename: "cat.gif", media_type: "image/gif" }],
    });
    expect(status).toBe("completed");
    expect(notices).toEqual([
      expect.stringMatching(/tool_choice.*cannot call tools/),
      expect.stringMatching(/effort "enormous"/),
      expect.stringMatching(/blind does not support tools; ignored tool groups: office/),
      expect.stringMatching(/cat\.gif.*was not sent: this model does not support images/),
    ]);
    const [firstRequest] = fixture.models.requests;
    for (const name of ["tools", "tool_choice", "reasoning"])
      expect(firstRequest).not.toHaveProperty(name);
    expect(fixture.models.bodies[0]).not.toMatch(/image_url|input_image/);
    const firstNode = Object.values((await readChat(fixture, chat)).nodes)[0];
    expect(firstNode).toMatchObject({ versions: [{ attachments: [{ filename: "cat.gif" }] }] });
    // A notice about the history appears only once.
    const next = await sendAndWait(fixture, chat, "And now?");
    expect(next.notices.join("\n")).not.toContain("cat.gif");
    expect(fixture.models.bodies[1]).not.toMatch(/image_url|input_image/);
  });

  test("is not sent for skills and agents either, but skills that are always included still are", async () => {
    const clerk = defineAgent({
      name: "clerk",
      instructions: "You are a clerk.",
      model: "blind",
      tools: [createOfficeTools().group],
    });
    const skills = [
      { name: "tone", description: "", text: "Write short sentences.", always: true },
      { name: "money", description: "", text: "It is short.", when: "money", always: false },
    ];
    const fixture = await chatRuntimeFixture({
      script: plain,
      toml: blind,
      agents: [clerk],
      skills,
    });
    await sendAndWait(fixture, await createTestChat(fixture, { agent: "clerk" }), "Hi");
    const [firstRequest] = fixture.models.requests;
    expect(firstRequest).not.toHaveProperty("tools");
    expect(firstRequest?.instructions).toContain("Write short sentences.");
    expect(firstRequest?.instructions).not.toContain("read_skill");
  });

  test("is omitted with a notice if the server or its profile does not support it: parameters", async () => {
    const strict = `
[upstreams.strict]
base_url = "http://127.0.0.1:9/v1"
speaks = "chat"
profile = "kimi"
models = ["k"]
[upstreams.strict.flags]
dropped_parameters = ["seed"]
`;
    const fixture = await chatRuntimeFixture({ script: plain, toml: strict });
    const options = { temperature: 0.2, seed: 7, stop: ["."], text: { verbosity: "low" } };
    const chat = await createTestChat(fixture, { model: "strict/k", options });
    const { notices } = await sendAndWait(fixture, chat, "Hi");
    expect(notices).toEqual([
      "temperature is not supported by strict/k and was not sent",
      "seed is not supported by strict/k and was not sent",
    ]);
    const [firstRequest] = fixture.models.requests;
    expect(firstRequest).toMatchObject({ stop: ["."], text: { verbosity: "low" } });
    for (const name of ["temperature", "seed"]) expect(firstRequest).not.toHaveProperty(name);
  });

  test("is sent again to another model that supports it", async () => {
    const fixture = await chatRuntimeFixture({
      script: plain,
      toml: blind,
      groups: [createOfficeTools().group],
    });
    const chat = await createTestChat(fixture, { model: "blind", tool_groups: ["office"] });
    const url = blobPath + (await fixture.store.put(Buffer.from("GIF89a"), "image/gif"));
    const { node_id } = await sendAndWait(fixture, chat, "Look", {
      attachments: [{ kind: "image", url, filename: "cat.gif", media_type: "image/gif" }],
    });
    const rerunAnswer = await fixture.chats.rerun(chat, { node_id, model: "talker" });
    expect((await waitForAnswerEnd(fixture, rerunAnswer)).notices).toEqual([]);
    expect(fixture.models.bodies[1]).toContain("data:image/gif;base64,");
    expect(fixture.models.requests[1]?.["tool_choice"]).toBe("auto");
  });
});
