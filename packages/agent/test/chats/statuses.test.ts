import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { defineAgent, ModelError } from "@deltawire/agent";
import { describe, expect, test } from "vitest";
import {
  decide,
  ended,
  newChat,
  question,
  said,
  sendAndEnd,
  taskUntil,
  told,
  until,
} from "../../../../test/chats/chat-steps.ts";
import type { Script } from "../../../../test/chats/scripted-replies.ts";
import { chatFixture } from "./chat-fixture.ts";
import { office } from "../../../../test/chats/office.ts";
import { never } from "../../../../test/chats/scripted-replies.ts";

const withOffice = { tool_groups: ["office"] };

describe("completed", () => {
  test("tells arguments, results, times and decisions of every call", async () => {
    const { group } = office();
    const world = await chatFixture({
      groups: [group],
      script: [
        [
          { call: "say", args: { text: "a" } },
          { call: "ask_first", args: { why: "b" } },
        ],
        [{ text: "Done." }],
      ],
    });
    const chat = await newChat(world, withOffice);
    const sent = await world.chats.send(chat, { text: "Go" });
    await decide(world, sent, "approve");
    const { status, chain, time_ms } = await ended(world, sent);
    expect(status).toBe("completed");
    expect(chain.calls).toMatchObject([
      { name: "say", round: 1, arguments: '{"text":"a"}', outcome: "completed" },
      {
        name: "ask_first",
        arguments: '{"why":"b"}',
        outcome: "completed",
        result: "it was allowed",
        decisions: ["approve"],
        started_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        duration_ms: expect.any(Number),
      },
    ]);
    expect(chain.stats).toMatchObject({ rounds: 2, calls: 2, outcomes: { completed: 2 } });
    expect(time_ms).toBeGreaterThanOrEqual(chain.stats.waited_ms);
  });

  test("has the usage of its own task, and beside it that of all whom it asked", async () => {
    const helper = defineAgent({ name: "helper", instructions: "Help.", model: "talker" });
    const world = await chatFixture({
      agents: [helper],
      script: [
        [{ call: "ask_for_help", args: { name: "helper", description: "", prompt: "Help!" } }],
        [{ text: "Here is help." }],
        [{ text: "Helped." }],
      ],
    });
    const chat = await newChat(world, { tool_groups: ["agents"] });
    const answer = await sendAndEnd(world, chat, "Get help");
    expect(answer.usage).toMatchObject({ total_tokens: 30 });
    expect(answer.tree_usage).toMatchObject({ total_tokens: 45 });
    expect(answer.chain.calls).toMatchObject([
      { name: "ask_for_help", result: "Here is help.", usage: { total_tokens: 15 } },
    ]);
    const [summary] = await world.store.listChats({ limit: 1 });
    expect(summary?.usage.total_tokens).toBe(45);
  });

  test("while it waits for a person the chat says so, and no longer when that has decided", async () => {
    const { group } = office();
    const world = await chatFixture({
      groups: [group],
      script: [[{ call: "ask_first", args: {} }], [{ wait: never }]],
    });
    const chat = await newChat(world, withOffice);
    const sent = await world.chats.send(chat, { text: "Go" });
    const waiting = async (): Promise<number | undefined> =>
      (await world.store.listChats({ limit: 1 }))[0]?.waiting;
    await until(world, chat, ({ nodes }) => JSON.stringify(nodes).includes('"waiting":true'));
    expect(await waiting()).toBe(1);
    await decide(world, sent, "approve");
    await until(world, chat, ({ nodes }) => !JSON.stringify(nodes).includes('"waiting":true'));
    expect(await waiting()).toBe(0);
    await world.chats.stop(chat);
  });
});

describe("aborted", () => {
  test("by a person who stops it keeps what was said and done", async () => {
    const { group } = office();
    const world = await chatFixture({
      groups: [group],
      script: [
        [{ call: "say", args: { text: "a" } }],
        [{ reasoning: "hm" }, { text: ["It is ", "said"] }, { wait: never }],
      ],
    });
    const chat = await newChat(world, withOffice);
    const sent = await world.chats.send(chat, { text: "Go" });
    await said(world, sent, "It is said");
    await world.chats.stop(chat);
    const answer = await ended(world, sent);
    expect(answer).toMatchObject({ status: "aborted", usage: { estimated: true } });
    // The first round has told what it took, 15.
    expect(answer.usage?.total_tokens).toBeGreaterThan(15);
    expect(answer.error).toBeUndefined();
    expect(answer.output.map(({ type }) => type)).toEqual([
      "tool_call",
      "tool_result",
      "reasoning",
      "message",
    ]);
    world.models.say([[{ text: "Yes" }]]);
    await sendAndEnd(world, chat, "Was it?");
    expect(told(world).filter((one) => !one.startsWith("reasoning"))).toEqual([
      "user: Go",
      'say {"text":"a"}',
      '=> "said: a"',
      "assistant: It is said",
      "user: Was it?",
    ]);
  });

  test("in the middle of a call tells the model of no call without a result", async () => {
    const { group } = office();
    const world = await chatFixture({ groups: [group], script: [[{ call: "sleep", args: {} }]] });
    const chat = await newChat(world, withOffice);
    const sent = await world.chats.send(chat, { text: "Sleep" });
    await taskUntil(world, sent.task_id, ({ tasks }) =>
      Boolean(tasks[sent.task_id]?.executions.length),
    );
    await world.chats.stop(chat);
    expect((await ended(world, sent)).status).toBe("aborted");
    world.models.say([[{ text: "Yes" }]]);
    await sendAndEnd(world, chat, "Awake?");
    const input = world.models.asked.at(-1)?.input ?? [];
    const ids = (type: string) =>
      input.filter((item) => item.type === type).map((item) => item.call_id);
    expect(ids("function_call")).toEqual(ids("function_call_output"));
  });

  test("by a decision names the phase approval and the reason", async () => {
    const { group } = office();
    const world = await chatFixture({
      groups: [group],
      script: [[{ text: "May I?" }, { call: "ask_first", args: {} }]],
    });
    const chat = await newChat(world, withOffice);
    const sent = await world.chats.send(chat, { text: "Go" });
    await decide(world, sent, "abort", "Not today");
    expect(await ended(world, sent)).toMatchObject({
      status: "aborted",
      error: { phase: "approval", code: "aborted", message: "Not today" },
      output: [{ type: "message" }, { type: "tool_call" }, { type: "tool_result" }],
    });
  });
});

describe("error", () => {
  test("of a model that cannot be asked names the phase model", async () => {
    const world = await chatFixture({
      script: [[{ error: new ModelError("insufficient_quota", "pay first") }]],
    });
    const chat = await newChat(world);
    expect(await sendAndEnd(world, chat, "Go")).toMatchObject({
      status: "error",
      error: { phase: "model", code: "insufficient_quota", message: "pay first" },
      output: [],
      time_ms: expect.any(Number),
    });
  });

  test("of a reply that fails in the middle keeps what was said", async () => {
    const world = await chatFixture({
      script: [[{ text: "Half" }, { failed: { code: "content_policy", message: "stop it" } }]],
    });
    const chat = await newChat(world);
    expect(await sendAndEnd(world, chat, "Go")).toMatchObject({
      status: "error",
      error: { phase: "model", code: "content_policy" },
      output: [{ type: "message", block_list: [{ text: "Half" }] }],
    });
  });

  test("of a tool does not stop the answer: the model gets it, and nobody is asked", async () => {
    const { group } = office();
    const world = await chatFixture({
      groups: [group],
      script: [[{ call: "break", args: {} }], [{ text: "A pity." }]],
    });
    const answer = await sendAndEnd(world, await newChat(world, withOffice), "Go");
    expect(answer).toMatchObject({
      status: "completed",
      chain: { calls: [{ outcome: "failed" }], stats: { waited_ms: 0 } },
    });
    expect(answer.chain.calls[0]).not.toHaveProperty("decisions");
    expect(told(world).at(-1)).toMatch(/the lift is stuck/);
  });

  test("of a tool is shown to the person first if the chat says so", async () => {
    const { group } = office();
    const world = await chatFixture({
      groups: [group],
      script: [[{ call: "break", args: {} }], [{ text: "A pity." }]],
    });
    const chat = await newChat(world, { ...withOffice, results: "on error" });
    const sent = await world.chats.send(chat, { text: "Go" });
    expect((await question(world, sent)).kind).toBe("result");
    await decide(world, sent, "approve");
    expect(await ended(world, sent)).toMatchObject({
      status: "completed",
      chain: { calls: [{ outcome: "failed", decisions: ["approve"] }] },
    });
    expect(told(world).at(-1)).toMatch(/the lift is stuck/);
  });
});

describe("results", () => {
  test("are shown first where the agent wants to show all of them, in a chat too", async () => {
    const careful = defineAgent({
      name: "careful",
      instructions: "Be careful.",
      model: "talker",
      tools: [office().group],
      results: "always",
    });
    const world = await chatFixture({
      agents: [careful],
      script: [[{ call: "say", args: { text: "a" } }], [{ text: "Said." }]],
    });
    const sent = await world.chats.send(await newChat(world, { agent: "careful" }), { text: "Go" });
    expect((await question(world, sent)).kind).toBe("result");
    await decide(world, sent, "approve");
    expect((await ended(world, sent)).status).toBe("completed");
  });
});

describe("results", () => {
  const says: Script = [[{ call: "say", args: { text: "a" } }], [{ text: "Said." }]];

  test.each([
    { where: "the chat", settings: { results: "always" as const }, defaults: {} },
    { where: "the gateway", settings: {}, defaults: { results: "always" as const } },
  ])("are shown first if $where says so", async ({ settings, defaults }) => {
    const world = await chatFixture({
      groups: [office().group],
      defaults,
      script: says,
    });
    const chat = await newChat(world, { ...withOffice, ...settings });
    const sent = await world.chats.send(chat, { text: "Go" });
    expect((await question(world, sent)).kind).toBe("result");
    await decide(world, sent, "approve");
    expect((await ended(world, sent)).status).toBe("completed");
  });

  test("are not shown if the chat says never, whatever the gateway and the agent say", async () => {
    const careful = defineAgent({
      name: "careful",
      instructions: "Be careful.",
      model: "talker",
      tools: [office().group],
      results: "always",
    });
    const world = await chatFixture({
      agents: [careful],
      defaults: { results: "always" },
      script: says,
    });
    const chat = await newChat(world, { agent: "careful", results: "never" });
    expect((await sendAndEnd(world, chat, "Go")).status).toBe("completed");
  });

  test("can be set to three words, and no other", async () => {
    const world = await chatFixture();
    await expect(newChat(world, { results: "sometimes" as never })).rejects.toMatchObject({
      param: "settings.results",
    });
  });
});

describe("timeout", () => {
  const limits = { seconds: 0.3 };

  test("of the gateway ends an answer with an error that says which limit it was, also of an agent", async () => {
    const slow = defineAgent({ name: "slow", instructions: "", model: "talker" });
    const world = await chatFixture({
      agents: [slow],
      script: () => [{ text: "So far" }, { wait: never }],
      defaults: { limits: { rounds: 10, seconds: 1 } },
    });
    for (const settings of [{ model: "talker" }, { agent: "slow" }])
      expect(await sendAndEnd(world, await newChat(world, settings), "Go")).toMatchObject({
        status: "timeout",
        error: {
          phase: "model",
          code: "timeout",
          message:
            "the answer took longer than its time limit of 1 s; set another in the settings of the chat (limits.seconds)",
        },
        output: [{ type: "message", block_list: [{ text: "So far" }] }],
      });
  });

  test("of the gateway gives way to the limit of the chat", async () => {
    const world = await chatFixture({
      script: () => [{ text: "Done." }],
      defaults: { limits: { rounds: 10, seconds: 1 } },
    });
    const chat = await newChat(world, { limits: { seconds: 900 } });
    const { task_id } = await sendAndEnd(world, chat, "Go");
    const { tasks } = await world.runtime.state(task_id ?? "");
    expect(Object.values(tasks)[0]?.info.limits).toMatchObject({ seconds: 900 });
  });

  test("while the model speaks names the phase model, and keeps what it said", async () => {
    const world = await chatFixture({ script: [[{ text: "So far" }, { wait: never }]] });
    const chat = await newChat(world, { limits });
    const answer = await sendAndEnd(world, chat, "Go");
    expect(answer).toMatchObject({
      status: "timeout",
      error: { phase: "model", code: "timeout" },
      output: [{ type: "message", block_list: [{ text: "So far" }] }],
    });
    // A timer and the clock round on their own, so 300 ms of one may be 299 of the other.
    expect(answer.time_ms).toBeGreaterThan(290);
  });

  test("while a tool runs names the phase tool", async () => {
    const { group } = office();
    const world = await chatFixture({ groups: [group], script: [[{ call: "sleep", args: {} }]] });
    const chat = await newChat(world, { ...withOffice, limits });
    expect(await sendAndEnd(world, chat, "Go")).toMatchObject({
      status: "timeout",
      error: { phase: "tool" },
      output: [{ type: "tool_call" }, { type: "tool_result" }],
    });
  });

  test("while a person is asked names the phase approval", async () => {
    const { group } = office();
    const world = await chatFixture({
      groups: [group],
      script: [[{ call: "ask_first", args: {} }]],
    });
    const chat = await newChat(world, { ...withOffice, limits });
    const answer = await sendAndEnd(world, chat, "Go");
    expect(answer).toMatchObject({ status: "timeout", error: { phase: "approval" } });
    expect(answer.chain.calls).toMatchObject([{ name: "ask_first", decisions: ["expired"] }]);
  });
});

describe("an answer that asked another agent", () => {
  const helper = defineAgent({
    name: "helper",
    instructions: "Help.",
    model: "talker",
    tools: [office().group],
  });
  const askHelper = {
    call: "ask_for_help",
    args: { name: "helper", description: "", prompt: "Help!" },
  };

  test("waits for a person when that does", async () => {
    const world = await chatFixture({
      agents: [helper],
      script: [
        [askHelper],
        [{ call: "ask_first", args: {} }],
        [{ text: "Helped." }],
        [{ text: "Done." }],
      ],
    });
    const chat = await newChat(world, { tool_groups: ["agents"] });
    const sent = await world.chats.send(chat, { text: "Go" });
    await until(world, chat, ({ nodes }) => JSON.stringify(nodes).includes('"waiting":true'));
    await decide(world, sent, "approve");
    const { status, chain } = await ended(world, sent);
    expect(status).toBe("completed");
    expect(chain.calls).toMatchObject([
      { name: "ask_for_help", result: "Helped." },
      { name: "ask_first", task_id: expect.any(String), decisions: ["approve"] },
    ]);
  });

  test.each([
    ["model", [{ wait: never }]],
    ["tool", [{ call: "sleep", args: {} }]],
    ["approval", [{ call: "ask_first", args: {} }]],
  ] as const)("and whose time was up names the phase of that: %s", async (phase, sayings) => {
    const world = await chatFixture({ agents: [helper], script: [[askHelper], sayings] });
    const chat = await newChat(world, { tool_groups: ["agents"], limits: { seconds: 0.3 } });
    expect(await sendAndEnd(world, chat, "Go")).toMatchObject({
      status: "timeout",
      error: { phase },
    });
    expect(await world.store.unfinished()).toEqual([]);
  });

  test("and that was refused there keeps nothing of it", async () => {
    const world = await chatFixture({
      agents: [helper],
      script: [
        [askHelper],
        [{ call: "show_first", args: {} }],
        [{ text: "I saw nothing." }],
        [{ text: "Done." }],
      ],
    });
    const chat = await newChat(world, { tool_groups: ["agents"] });
    const sent = await world.chats.send(chat, { text: "Go" });
    await decide(world, sent, "deny");
    await ended(world, sent);
    const { text } = await world.chats.exportAs(chat, "json");
    const kept = [text, ...world.models.bodies, JSON.stringify(await world.store.chat(chat))];
    expect(kept.join("\n")).not.toContain("SECRET-RESULT");
  });
});

describe("a result that was refused", () => {
  test("is nowhere: not in the answer, the replays, the chain, the variables, an export or the store's bytes", async () => {
    const secret = "Refused-b1946ac92492d2347c6235b4d2611184";
    const { group } = office({ show_first: () => `${secret} `.repeat(200) });
    const world = await chatFixture({
      files: true,
      groups: [group],
      script: [[{ call: "show_first", args: {} }], [{ text: "As you wish." }], [{ text: "Yes" }]],
    });
    const chat = await newChat(world, withOffice);
    const sent = await world.chats.send(chat, { text: "Go" });
    await decide(world, sent, "deny");
    const answer = await ended(world, sent);
    expect(answer).toMatchObject({
      status: "completed",
      chain: { calls: [{ outcome: "denied", decisions: ["deny"] }] },
    });
    await sendAndEnd(world, chat, "Well?");
    const kept = JSON.stringify([
      await world.store.chat(chat),
      await world.store.replays(chat),
      await world.store.variables(chat),
      (await world.chats.exportAs(chat, "json")).text,
      world.models.bodies,
    ]);
    expect(kept).not.toContain(secret);
    const folder = world.folder ?? "";
    await world.close();
    const names = await readdir(folder, { recursive: true, withFileTypes: true });
    const files = names.filter((one) => one.isFile());
    expect(files.length).toBeGreaterThan(0);
    for (const { parentPath, name } of files)
      expect((await readFile(join(parentPath, name))).includes(secret)).toBe(false);
  });
});
