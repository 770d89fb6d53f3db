import { defineAgent } from "@deltawire/agent";
import { blobPath } from "@deltawire/tasks";
import { describe, expect, test } from "vitest";
import { chatOf, ended, newChat, sendAndEnd } from "../../../../test/chats/chat-steps.ts";
import { chatWorld } from "./chat-world.ts";
import { office } from "../../../../test/chats/office.ts";
import type { Script } from "../../../../test/chats/scripted-replies.ts";

const plain: Script = () => [{ text: "Yes." }];

describe("options in a real request", () => {
  test("are those of defaults < model < agent < chat < message < this request, merged deeply", async () => {
    const layer = (name: string, from: number): string[] =>
      Array.from({ length: 6 - from }, (_one, at) => `l${at + from} = "${name}"`);
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
    const world = await chatWorld({
      script: plain,
      toml,
      chats: `titles = false\n[chats.options.metadata]\n${layer("defaults", 0).join("\n")}`,
    });
    const metadata = (name: string, from: number) => ({
      metadata: Object.fromEntries(
        Array.from({ length: 6 - from }, (_one, at) => [`l${at + from}`, name]),
      ),
    });
    const chat = await newChat(world, { agent: "layers", options: metadata("chat", 3) });
    const { node_id } = await sendAndEnd(world, chat, "Hi", { options: metadata("message", 4) });
    const [first] = world.models.asked;
    expect(first?.["metadata"]).toEqual({
      l0: "defaults",
      l1: "model",
      l2: "agent",
      l3: "chat",
      l4: "message",
      l5: "message",
    });
    const rerun = { node_id, options: metadata("this request", 5) };
    await ended(world, await world.chats.rerun(chat, rerun));
    expect(world.models.asked[1]?.["metadata"]).toMatchObject({
      l4: "message",
      l5: "this request",
    });
    // What was asked for once is not the message's.
    await ended(world, await world.chats.rerun(chat, { node_id }));
    expect(world.models.asked[2]).toEqual(first);
  });

  test("lose what a nearer layer takes out by null, and nothing else: 0, false and empty texts stay", async () => {
    const world = await chatWorld({
      script: plain,
      chats: "titles = false\noptions = { temperature = 0.5, top_p = 0.9 }",
    });
    const chat = await newChat(world, {
      options: { temperature: null, top_p: 0, user: "", truncation: "disabled" },
    });
    await sendAndEnd(world, chat, "Hi");
    const [asked] = world.models.asked;
    expect(asked).toMatchObject({ top_p: 0, user: "", truncation: "disabled" });
    expect(asked).not.toHaveProperty("temperature");
  });

  test("hold in every round of the answer, and not for those whom it asks", async () => {
    const helper = defineAgent({ name: "helper", instructions: "Help.", model: "talker" });
    const world = await chatWorld({
      agents: [helper],
      script: [
        [{ call: "ask_for_help", args: { name: "helper", description: "", prompt: "Help!" } }],
        [{ text: "Helped." }],
        [{ text: "Done." }],
      ],
    });
    const chat = await newChat(world, { tool_groups: ["agents"], options: { temperature: 0.2 } });
    await sendAndEnd(world, chat, "Go");
    const temperatures = world.models.asked.map((asked) => asked["temperature"]);
    expect(temperatures).toEqual([0.2, undefined, 0.2]);
  });

  test("of a chat that name what the gateway sets itself are refused", async () => {
    const world = await chatWorld();
    await expect(newChat(world, { options: { stream: false } })).rejects.toMatchObject({
      code: "bad_value",
      param: "settings.options.stream",
    });
  });
});

describe("tool_choice", () => {
  const twice: Script = (_request, round) =>
    round === 0 ? [{ call: "say", args: { text: "a" } }] : [{ text: "Said." }];

  test("is not there without tools, also if somebody asks for it", async () => {
    const world = await chatWorld({ script: plain });
    const chat = await newChat(world, { options: { tool_choice: "required" } });
    await sendAndEnd(world, chat, "Hi");
    expect(world.models.asked[0]).not.toHaveProperty("tools");
    expect(world.models.asked[0]).not.toHaveProperty("tool_choice");
  });

  test("is auto if a tool group is on", async () => {
    const world = await chatWorld({ script: twice, groups: [office().group] });
    const chat = await newChat(world, { tool_groups: ["office"] });
    await sendAndEnd(world, chat, "Hi");
    expect(world.models.asked.map((asked) => asked["tool_choice"])).toEqual(["auto", "auto"]);
  });

  test.each([
    ["required", "auto"],
    ["none", "none"],
  ])("%s is asked for, and is %s once something was called", async (asked, after) => {
    const world = await chatWorld({ script: twice, groups: [office().group] });
    const chat = await newChat(world, { tool_groups: ["office"] });
    await sendAndEnd(world, chat, "Hi", { options: { tool_choice: asked } });
    expect(world.models.asked.map((one) => one["tool_choice"])).toEqual([asked, after]);
  });

  test("of a named tool forces one call", async () => {
    const world = await chatWorld({ script: twice, groups: [office().group] });
    const chat = await newChat(world, { tool_groups: ["office"] });
    const tool_choice = { type: "function", name: "say" };
    await sendAndEnd(world, chat, "Hi", { options: { tool_choice } });
    expect(world.models.asked.map((one) => one["tool_choice"])).toEqual([tool_choice, "auto"]);
  });
});

describe("what a model cannot do", () => {
  const blind = `
[models.blind]
use = "up/m"
takes = []
tools = false
`;

  test("is left out with a notice that people see: pictures, tools and efforts", async () => {
    const world = await chatWorld({ script: plain, toml: blind, groups: [office().group] });
    const chat = await newChat(world, {
      model: "blind",
      tool_groups: ["office"],
      options: { reasoning: { effort: "enormous" }, tool_choice: "required" },
    });
    const url = blobPath + (await world.store.put(Buffer.from("GIF89a"), "image/gif"));
    const { notices, status } = await sendAndEnd(world, chat, "Look", {
      attachments: [{ kind: "image", url, filename: "cat.gif", media_type: "image/gif" }],
    });
    expect(status).toBe("completed");
    expect(notices).toEqual([
      expect.stringMatching(/tool_choice.*cannot call tools/),
      expect.stringMatching(/effort "enormous"/),
      expect.stringMatching(/blind cannot call tools: office was left out/),
      expect.stringMatching(/cat\.gif.*does not see pictures/),
    ]);
    const [asked] = world.models.asked;
    for (const name of ["tools", "tool_choice", "reasoning"])
      expect(asked).not.toHaveProperty(name);
    expect(world.models.bodies[0]).not.toMatch(/image_url|input_image/);
    const kept = Object.values((await chatOf(world, chat)).nodes)[0];
    expect(kept).toMatchObject({ versions: [{ attachments: [{ filename: "cat.gif" }] }] });
    // Of what was said before it is told once.
    const next = await sendAndEnd(world, chat, "And now?");
    expect(next.notices.join("\n")).not.toContain("cat.gif");
    expect(world.models.bodies[1]).not.toMatch(/image_url|input_image/);
  });

  test("is not offered by skills and agents either, and skills that are always told still are", async () => {
    const clerk = defineAgent({
      name: "clerk",
      instructions: "You are a clerk.",
      model: "blind",
      tools: [office().group],
    });
    const skills = [
      { name: "tone", description: "", text: "Write short sentences.", always: true },
      { name: "money", description: "", text: "It is short.", when: "money", always: false },
    ];
    const world = await chatWorld({ script: plain, toml: blind, agents: [clerk], skills });
    await sendAndEnd(world, await newChat(world, { agent: "clerk" }), "Hi");
    const [asked] = world.models.asked;
    expect(asked).not.toHaveProperty("tools");
    expect(asked?.instructions).toContain("Write short sentences.");
    expect(asked?.instructions).not.toContain("read_skill");
  });

  test("is told by its name where its server does not take it", async () => {
    const strict = `
[upstreams.strict]
base_url = "http://127.0.0.1:9/v1"
speaks = "chat"
profile = "kimi"
models = ["k"]
[upstreams.strict.flags]
dropped_parameters = ["seed"]
`;
    const world = await chatWorld({ script: plain, toml: strict });
    const options = { temperature: 0.2, seed: 7, stop: ["."], text: { verbosity: "low" } };
    const chat = await newChat(world, { model: "strict/k", options });
    const { notices } = await sendAndEnd(world, chat, "Hi");
    expect(notices).toEqual([
      "temperature is not taken by strict/k: left out",
      "seed is not taken by strict/k: left out",
    ]);
    const [asked] = world.models.asked;
    expect(asked).toMatchObject({ stop: ["."], text: { verbosity: "low" } });
    for (const name of ["temperature", "seed"]) expect(asked).not.toHaveProperty(name);
  });

  test("is told again to another model that can", async () => {
    const world = await chatWorld({ script: plain, toml: blind, groups: [office().group] });
    const chat = await newChat(world, { model: "blind", tool_groups: ["office"] });
    const url = blobPath + (await world.store.put(Buffer.from("GIF89a"), "image/gif"));
    const { node_id } = await sendAndEnd(world, chat, "Look", {
      attachments: [{ kind: "image", url, filename: "cat.gif", media_type: "image/gif" }],
    });
    const again = await world.chats.rerun(chat, { node_id, model: "talker" });
    expect((await ended(world, again)).notices).toEqual([]);
    expect(world.models.bodies[1]).toContain("data:image/gif;base64,");
    expect(world.models.asked[1]?.["tool_choice"]).toBe("auto");
  });
});
