import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { defineAgent, ModelError } from "@deltawire/agent";
import { describe, expect, test } from "vitest";
import {
  decideQuestion,
  waitForAnswerEnd,
  createTestChat,
  waitForQuestion,
  waitForAnswerText,
  sendAndWait,
  waitForTask,
  listSentItems,
  waitForChat,
} from "../../../../test/chats/chat-helpers.ts";
import type { ModelScript } from "../../../../test/chats/scripted-models.ts";
import { chatFixture } from "./chat-fixture.ts";
import { createOfficeTools } from "../../../../test/chats/office-tools.ts";
import { neverResolves } from "../../../../test/chats/scripted-models.ts";

const withOffice = { tool_groups: ["office"] };

describe("an answer", () => {
  test("has the arguments, results, times and decisions of every call", async () => {
    const { group } = createOfficeTools();
    const fixture = await chatFixture({
      groups: [group],
      script: [
        [
          { call: "say", args: { text: "a" } },
          { call: "ask_first", args: { why: "b" } },
        ],
        [{ text: "Done." }],
      ],
    });
    const chat = await createTestChat(fixture, withOffice);
    const sent = await fixture.chats.send(chat, { text: "Go" });
    await decideQuestion(fixture, sent, "approve");
    const { status, chain, time_ms } = await waitForAnswerEnd(fixture, sent);
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

  test("has the usage of its own task, and separately that including sub-agents", async () => {
    const helper = defineAgent({ name: "helper", instructions: "Help.", model: "talker" });
    const fixture = await chatFixture({
      agents: [helper],
      script: [
        [{ call: "ask_for_help", args: { name: "helper", description: "", prompt: "Help!" } }],
        [{ text: "Here is help." }],
        [{ text: "Helped." }],
      ],
    });
    const chat = await createTestChat(fixture, { tool_groups: ["agents"] });
    const answer = await sendAndWait(fixture, chat, "Get help");
    expect(answer.usage).toMatchObject({ total_tokens: 30 });
    expect(answer.tree_usage).toMatchObject({ total_tokens: 45 });
    expect(answer.chain.calls).toMatchObject([
      { name: "ask_for_help", result: "Here is help.", usage: { total_tokens: 15 } },
    ]);
    const [summary] = await fixture.store.listChats({ owner: "", limit: 1 });
    expect(summary?.usage.total_tokens).toBe(45);
  });

  test("is marked as waiting in its chat and in the list while an approval is pending", async () => {
    const { group } = createOfficeTools();
    const fixture = await chatFixture({
      groups: [group],
      script: [[{ call: "ask_first", args: {} }], [{ wait: neverResolves }]],
    });
    const chat = await createTestChat(fixture, withOffice);
    const sent = await fixture.chats.send(chat, { text: "Go" });
    const countWaitingAnswers = async (): Promise<number | undefined> =>
      (await fixture.store.listChats({ owner: "", limit: 1 }))[0]?.waiting;
    await waitForChat(fixture, chat, ({ nodes }) =>
      JSON.stringify(nodes).includes('"waiting":true'),
    );
    expect(await countWaitingAnswers()).toBe(1);
    await decideQuestion(fixture, sent, "approve");
    await waitForChat(
      fixture,
      chat,
      ({ nodes }) => !JSON.stringify(nodes).includes('"waiting":true'),
    );
    expect(await countWaitingAnswers()).toBe(0);
    await fixture.chats.stop(chat);
  });
});

describe("an answer that is aborted", () => {
  test("by a user retains its text and calls", async () => {
    const { group } = createOfficeTools();
    const fixture = await chatFixture({
      groups: [group],
      script: [
        [{ call: "say", args: { text: "a" } }],
        [{ reasoning: "hm" }, { text: ["It is ", "said"] }, { wait: neverResolves }],
      ],
    });
    const chat = await createTestChat(fixture, withOffice);
    const sent = await fixture.chats.send(chat, { text: "Go" });
    await waitForAnswerText(fixture, sent, "It is said");
    await fixture.chats.stop(chat);
    const answer = await waitForAnswerEnd(fixture, sent);
    expect(answer).toMatchObject({ status: "aborted", usage: { estimated: true } });
    // The first round has reported its usage, 15.
    expect(answer.usage?.total_tokens).toBeGreaterThan(15);
    expect(answer.error).toBeUndefined();
    expect(answer.output.map(({ type }) => type)).toEqual([
      "tool_call",
      "tool_result",
      "reasoning",
      "message",
    ]);
    fixture.models.setScript([[{ text: "Yes" }]]);
    await sendAndWait(fixture, chat, "Was it?");
    expect(listSentItems(fixture).filter((one) => !one.startsWith("reasoning"))).toEqual([
      "user: Go",
      'say {"text":"a"}',
      '=> "said: a"',
      "assistant: It is said",
      "user: Was it?",
    ]);
  });

  test("in the middle of a call leaves no call without a result in the history", async () => {
    const { group } = createOfficeTools();
    const fixture = await chatFixture({ groups: [group], script: [[{ call: "sleep", args: {} }]] });
    const chat = await createTestChat(fixture, withOffice);
    const sent = await fixture.chats.send(chat, { text: "Sleep" });
    await waitForTask(fixture, sent.task_id, ({ tasks }) =>
      Boolean(tasks[sent.task_id]?.executions.length),
    );
    await fixture.chats.stop(chat);
    expect((await waitForAnswerEnd(fixture, sent)).status).toBe("aborted");
    fixture.models.setScript([[{ text: "Yes" }]]);
    await sendAndWait(fixture, chat, "Awake?");
    const input = fixture.models.requests.at(-1)?.input ?? [];
    const ids = (type: string) =>
      input.filter((item) => item.type === type).map((item) => item.call_id);
    expect(ids("function_call")).toEqual(ids("function_call_output"));
  });

  test("by a decision has the phase approval and the reason", async () => {
    const { group } = createOfficeTools();
    const fixture = await chatFixture({
      groups: [group],
      script: [[{ text: "May I?" }, { call: "ask_first", args: {} }]],
    });
    const chat = await createTestChat(fixture, withOffice);
    const sent = await fixture.chats.send(chat, { text: "Go" });
    await decideQuestion(fixture, sent, "abort", "Not today");
    expect(await waitForAnswerEnd(fixture, sent)).toMatchObject({
      status: "aborted",
      error: { phase: "approval", code: "aborted", message: "Not today" },
      output: [{ type: "message" }, { type: "tool_call" }, { type: "tool_result" }],
    });
  });
});

describe("an error", () => {
  test("of an unavailable model has the phase model", async () => {
    const fixture = await chatFixture({
      script: [[{ error: new ModelError("insufficient_quota", "pay first") }]],
    });
    const chat = await createTestChat(fixture);
    expect(await sendAndWait(fixture, chat, "Go")).toMatchObject({
      status: "error",
      error: { phase: "model", code: "insufficient_quota", message: "pay first" },
      output: [],
      time_ms: expect.any(Number),
    });
  });

  test("of a reply that fails in the middle retains the partial text", async () => {
    const fixture = await chatFixture({
      script: [[{ text: "Half" }, { failed: { code: "content_policy", message: "stop it" } }]],
    });
    const chat = await createTestChat(fixture);
    expect(await sendAndWait(fixture, chat, "Go")).toMatchObject({
      status: "error",
      error: { phase: "model", code: "content_policy" },
      output: [{ type: "message", block_list: [{ text: "Half" }] }],
    });
  });

  test("of a tool does not stop the answer: the model receives it without an approval", async () => {
    const { group } = createOfficeTools();
    const fixture = await chatFixture({
      groups: [group],
      script: [[{ call: "break", args: {} }], [{ text: "A pity." }]],
    });
    const answer = await sendAndWait(fixture, await createTestChat(fixture, withOffice), "Go");
    expect(answer).toMatchObject({
      status: "completed",
      chain: { calls: [{ outcome: "failed" }], stats: { waited_ms: 0 } },
    });
    expect(answer.chain.calls[0]).not.toHaveProperty("decisions");
    expect(listSentItems(fixture).at(-1)).toMatch(/the lift is stuck/);
  });

  test("of a tool needs approval if the chat is configured so", async () => {
    const { group } = createOfficeTools();
    const fixture = await chatFixture({
      groups: [group],
      script: [[{ call: "break", args: {} }], [{ text: "A pity." }]],
    });
    const chat = await createTestChat(fixture, { ...withOffice, results: "on_error" });
    const sent = await fixture.chats.send(chat, { text: "Go" });
    expect((await waitForQuestion(fixture, sent)).kind).toBe("result");
    await decideQuestion(fixture, sent, "approve");
    expect(await waitForAnswerEnd(fixture, sent)).toMatchObject({
      status: "completed",
      chain: { calls: [{ outcome: "failed", decisions: ["approve"] }] },
    });
    expect(listSentItems(fixture).at(-1)).toMatch(/the lift is stuck/);
  });
});

describe("results", () => {
  test("need approval if the agent's policy requires it, in a chat too", async () => {
    const careful = defineAgent({
      name: "careful",
      instructions: "Be careful.",
      model: "talker",
      tools: [createOfficeTools().group],
      resultApproval: "always",
    });
    const fixture = await chatFixture({
      agents: [careful],
      script: [[{ call: "say", args: { text: "a" } }], [{ text: "Said." }]],
    });
    const sent = await fixture.chats.send(await createTestChat(fixture, { agent: "careful" }), {
      text: "Go",
    });
    expect((await waitForQuestion(fixture, sent)).kind).toBe("result");
    await decideQuestion(fixture, sent, "approve");
    expect((await waitForAnswerEnd(fixture, sent)).status).toBe("completed");
  });
});

describe("results", () => {
  const sayScript: ModelScript = [[{ call: "say", args: { text: "a" } }], [{ text: "Said." }]];

  test.each([
    { where: "the chat", settings: { result_approval: "always" as const }, defaults: {} },
    {
      where: "the chat, by the former name,",
      settings: { results: "always" as const },
      defaults: {},
    },
    { where: "the gateway", settings: {}, defaults: { resultApproval: "always" as const } },
  ])("need approval if $where requires it", async ({ settings, defaults }) => {
    const fixture = await chatFixture({
      groups: [createOfficeTools().group],
      defaults,
      script: sayScript,
    });
    const chat = await createTestChat(fixture, { ...withOffice, ...settings });
    const sent = await fixture.chats.send(chat, { text: "Go" });
    expect((await waitForQuestion(fixture, sent)).kind).toBe("result");
    await decideQuestion(fixture, sent, "approve");
    expect((await waitForAnswerEnd(fixture, sent)).status).toBe("completed");
  });

  test("need no approval if the policy of the chat is never, regardless of the gateway and the agent", async () => {
    const careful = defineAgent({
      name: "careful",
      instructions: "Be careful.",
      model: "talker",
      tools: [createOfficeTools().group],
      resultApproval: "always",
    });
    const fixture = await chatFixture({
      agents: [careful],
      defaults: { resultApproval: "always" },
      script: sayScript,
    });
    const chat = await createTestChat(fixture, { agent: "careful", result_approval: "never" });
    expect((await sendAndWait(fixture, chat, "Go")).status).toBe("completed");
  });

  test("accept no unknown policy", async () => {
    const fixture = await chatFixture();
    await expect(
      createTestChat(fixture, { result_approval: "sometimes" as never }),
    ).rejects.toMatchObject({
      param: "settings.result_approval",
    });
  });
});

describe("the timeout", () => {
  const limits = { seconds: 0.3 };

  test("of the gateway ends an answer with an error that names the limit, even for a configured agent", async () => {
    const slow = defineAgent({ name: "slow", instructions: "", model: "talker" });
    const fixture = await chatFixture({
      agents: [slow],
      script: () => [{ text: "So far" }, { wait: neverResolves }],
      defaults: { limits: { rounds: 10, seconds: 1 } },
    });
    for (const settings of [{ model: "talker" }, { agent: "slow" }])
      expect(
        await sendAndWait(fixture, await createTestChat(fixture, settings), "Go"),
      ).toMatchObject({
        status: "timeout",
        error: {
          phase: "model",
          code: "timeout",
          message:
            "the answer exceeded its time limit of 1 s; change it in the chat settings (limits.seconds)",
        },
        output: [{ type: "message", block_list: [{ text: "So far" }] }],
      });
  });

  test("of the gateway is overridden by the limit of the chat", async () => {
    const fixture = await chatFixture({
      script: () => [{ text: "Done." }],
      defaults: { limits: { rounds: 10, seconds: 1 } },
    });
    const chat = await createTestChat(fixture, { limits: { seconds: 900 } });
    const { task_id } = await sendAndWait(fixture, chat, "Go");
    const { tasks } = await fixture.runtime.state(task_id ?? "");
    expect(Object.values(tasks)[0]?.info.limits).toMatchObject({ seconds: 900 });
  });

  test("during a reply has the phase model and retains the partial text", async () => {
    const fixture = await chatFixture({ script: [[{ text: "So far" }, { wait: neverResolves }]] });
    const chat = await createTestChat(fixture, { limits });
    const answer = await sendAndWait(fixture, chat, "Go");
    expect(answer).toMatchObject({
      status: "timeout",
      error: { phase: "model", code: "timeout" },
      output: [{ type: "message", block_list: [{ text: "So far" }] }],
    });
    // The timer and the clock are rounded independently, so 300 ms may be measured as 299.
    expect(answer.time_ms).toBeGreaterThan(290);
  });

  test("while a tool runs has the phase tool", async () => {
    const { group } = createOfficeTools();
    const fixture = await chatFixture({ groups: [group], script: [[{ call: "sleep", args: {} }]] });
    const chat = await createTestChat(fixture, { ...withOffice, limits });
    expect(await sendAndWait(fixture, chat, "Go")).toMatchObject({
      status: "timeout",
      error: { phase: "tool" },
      output: [{ type: "tool_call" }, { type: "tool_result" }],
    });
  });

  test("while an approval is pending has the phase approval", async () => {
    const { group } = createOfficeTools();
    const fixture = await chatFixture({
      groups: [group],
      script: [[{ call: "ask_first", args: {} }]],
    });
    const chat = await createTestChat(fixture, { ...withOffice, limits });
    const answer = await sendAndWait(fixture, chat, "Go");
    expect(answer).toMatchObject({ status: "timeout", error: { phase: "approval" } });
    expect(answer.chain.calls).toMatchObject([{ name: "ask_first", decisions: ["expired"] }]);
  });
});

describe("an answer with a sub-agent", () => {
  const helper = defineAgent({
    name: "helper",
    instructions: "Help.",
    model: "talker",
    tools: [createOfficeTools().group],
  });
  const askHelper = {
    call: "ask_for_help",
    args: { name: "helper", description: "", prompt: "Help!" },
  };

  test("is marked as waiting while an approval of the sub-agent is pending", async () => {
    const fixture = await chatFixture({
      agents: [helper],
      script: [
        [askHelper],
        [{ call: "ask_first", args: {} }],
        [{ text: "Helped." }],
        [{ text: "Done." }],
      ],
    });
    const chat = await createTestChat(fixture, { tool_groups: ["agents"] });
    const sent = await fixture.chats.send(chat, { text: "Go" });
    await waitForChat(fixture, chat, ({ nodes }) =>
      JSON.stringify(nodes).includes('"waiting":true'),
    );
    await decideQuestion(fixture, sent, "approve");
    const { status, chain } = await waitForAnswerEnd(fixture, sent);
    expect(status).toBe("completed");
    expect(chain.calls).toMatchObject([
      { name: "ask_for_help", result: "Helped." },
      { name: "ask_first", task_id: expect.any(String), decisions: ["approve"] },
    ]);
  });

  test.each([
    ["model", [{ wait: neverResolves }]],
    ["tool", [{ call: "sleep", args: {} }]],
    ["approval", [{ call: "ask_first", args: {} }]],
  ] as const)("that times out has the phase of the sub-agent: %s", async (phase, helperSteps) => {
    const fixture = await chatFixture({ agents: [helper], script: [[askHelper], helperSteps] });
    const chat = await createTestChat(fixture, {
      tool_groups: ["agents"],
      limits: { seconds: 0.3 },
    });
    expect(await sendAndWait(fixture, chat, "Go")).toMatchObject({
      status: "timeout",
      error: { phase },
    });
    expect(await fixture.store.listUnfinished()).toEqual([]);
  });

  test("contains nothing of a result that was denied in the sub-agent", async () => {
    const fixture = await chatFixture({
      agents: [helper],
      script: [
        [askHelper],
        [{ call: "show_first", args: {} }],
        [{ text: "I saw nothing." }],
        [{ text: "Done." }],
      ],
    });
    const chat = await createTestChat(fixture, { tool_groups: ["agents"] });
    const sent = await fixture.chats.send(chat, { text: "Go" });
    await decideQuestion(fixture, sent, "deny");
    await waitForAnswerEnd(fixture, sent);
    const { text } = await fixture.chats.exportAs(chat, "json");
    const stored = [
      text,
      ...fixture.models.bodies,
      JSON.stringify(await fixture.store.getChat(chat)),
    ];
    expect(stored.join("\n")).not.toContain("SECRET-RESULT");
  });
});

describe("a denied result", () => {
  test("is removed everywhere: from the answer, replays, tool chain, variables, exports and the store's files", async () => {
    const secret = "Denied-b1946ac92492d2347c6235b4d2611184";
    const { group } = createOfficeTools({ show_first: () => `${secret} `.repeat(200) });
    const fixture = await chatFixture({
      files: true,
      groups: [group],
      script: [[{ call: "show_first", args: {} }], [{ text: "As you wish." }], [{ text: "Yes" }]],
    });
    const chat = await createTestChat(fixture, withOffice);
    const sent = await fixture.chats.send(chat, { text: "Go" });
    await decideQuestion(fixture, sent, "deny");
    const answer = await waitForAnswerEnd(fixture, sent);
    expect(answer).toMatchObject({
      status: "completed",
      chain: { calls: [{ outcome: "denied", decisions: ["deny"] }] },
    });
    await sendAndWait(fixture, chat, "Well?");
    const stored = JSON.stringify([
      await fixture.store.getChat(chat),
      await fixture.store.getReplays(chat),
      await fixture.store.listVariables(chat),
      (await fixture.chats.exportAs(chat, "json")).text,
      fixture.models.bodies,
    ]);
    expect(stored).not.toContain(secret);
    const folder = fixture.folder ?? "";
    await fixture.close();
    const names = await readdir(folder, { recursive: true, withFileTypes: true });
    const files = names.filter((one) => one.isFile());
    expect(files.length).toBeGreaterThan(0);
    for (const { parentPath, name } of files)
      expect((await readFile(join(parentPath, name))).includes(secret)).toBe(false);
  });
});
