import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineAgent, defineTool } from "@deltawire/agent";
import type { TaskView } from "@deltawire/tasks";
import type { ChatClient, PendingApproval } from "@deltawire/tasks/chats";
import { expect, onTestFinished, test } from "vitest";
import { chatScene, refusalOf, whenSettled } from "./chat-scene.ts";
import { until } from "./scene.ts";

const message = (to: string): string => `please send_message to ${to}: "hello"`;

async function asked(client: ChatClient, text: string, title = "A question") {
  const { chat } = await client.create({ title, settings: { agent: "demo-agent" } });
  const { node_id, version_id, task_id } = await client.send(chat.chat_id, { text });
  return { chat_id: chat.chat_id, title, first_words: text, node_id, version_id, task_id };
}

async function waiting(client: ChatClient, count: number): Promise<PendingApproval[]> {
  let data: readonly PendingApproval[] = [];
  await until(
    `${count} to wait`,
    async () => {
      ({ data } = await client.approvals());
      return data.length === count;
    },
    5000,
  );
  return [...data];
}

async function startTask(url: string, body: object): Promise<string> {
  const reply = await fetch(`${url}/api/tasks`, { method: "POST", body: JSON.stringify(body) });
  return ((await reply.json()) as TaskView).task_id;
}

test("what waits in all chats and outside of them is told, the oldest first, with all that a person needs", async () => {
  const { client, url } = await chatScene();
  expect(await client.approvals()).toEqual({ data: [] });
  const { task_id: first, ...chat } = await asked(client, message("Ann"), "To Ann");
  await waiting(client, 1);
  const second = await startTask(url, { agent: "demo-agent", input: message("Bob") });
  await waiting(client, 2);
  const { task_id: third } = await asked(client, message("Cleo"));
  const all = await waiting(client, 3);
  expect(all.map(({ root_task_id }) => root_task_id)).toEqual([first, second, third]);
  const [ann, bob] = all;
  expect(ann).toEqual({
    approval: expect.objectContaining({
      kind: "call",
      tool: "send_message",
      task_id: first,
      status: "pending",
      choices: ["approve", "deny", "abort"],
    }),
    root_task_id: first,
    requested_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    agent: "demo-agent",
    depth: 0,
    call: { name: "send_message", arguments: '{"to":"Ann","text":"hello"}' },
    input_schema: {
      type: "object",
      properties: { to: { type: "string" }, text: { type: "string" } },
      required: ["to", "text"],
      additionalProperties: false,
    },
    chat,
  });
  expect(bob).not.toHaveProperty("chat");
});

test("who has decided is not asked again, and a title is told as it is now", async () => {
  const { client } = await chatScene();
  const { chat_id } = await asked(client, message("Ann"), "Before");
  const [before] = await waiting(client, 1);
  expect(before?.chat?.title).toBe("Before");
  const { revision } = (await client.open(chat_id)).chat;
  await client.edits(chat_id, { revision, edits: [{ type: "rename", title: "After" }] });
  const [after] = await waiting(client, 1);
  expect(after?.chat?.title).toBe("After");
  await client.decide(after?.approval.approval_id ?? "", { decision: "deny", reason: "not now" });
  expect(await client.approvals()).toEqual({ data: [] });
  await whenSettled(client, chat_id);
});

test("changed arguments that do not fit are refused in words, and nothing is decided", async () => {
  const { client } = await chatScene();
  await asked(client, message("Ann"));
  const [one] = await waiting(client, 1);
  const id = one?.approval.approval_id ?? "";
  const decide = (changed: string | { to: number }): Promise<unknown> =>
    client.decide(id, { decision: "approve", arguments: changed });
  for (const wrong of [{ to: 7 }, '{"to":"Ann"}', "{"])
    expect(await refusalOf(decide(wrong))).toEqual([400, "invalid_request", "arguments"]);
  expect(await waiting(client, 1)).toEqual([one]);
});

test("a result that is held is there with its blocks, and no schema: there is nothing to change", async () => {
  const { client } = await chatScene();
  await asked(client, 'open_private_note "keys"');
  const [held] = await waiting(client, 1);
  expect(held).toMatchObject({
    approval: { kind: "result", choices: ["approve", "deny", "redact", "abort"] },
    call: { name: "open_private_note" },
  });
  expect(JSON.stringify(held?.approval.block_list)).toContain("flower pot");
  expect(held).not.toHaveProperty("input_schema");
});

test("a limit that is reached is asked about, without a call", async () => {
  const ping = defineTool({
    name: "ping",
    description: "Pings.",
    effect: "pure",
    run: () => "pong",
  });
  const agent = defineAgent({
    name: "limited",
    instructions: "You ping.",
    model: "demo/clean",
    tools: [ping],
    limits: { rounds: 1 },
    atLimit: "ask",
  });
  const { client, url } = await chatScene({ agents: [agent] });
  await startTask(url, { agent: "limited", input: "ping in 3 steps" });
  const [limit] = await waiting(client, 1);
  expect(limit).toMatchObject({
    approval: { kind: "limit", limit_name: "rounds" },
    agent: "limited",
  });
  expect(limit).not.toHaveProperty("call");
});

test("after a restart the same is asked, since the same time; of a task that cannot be taken up, too", async () => {
  const dataFolder = await mkdtemp(join(tmpdir(), "approvals-"));
  onTestFinished(() => rm(dataFolder, { recursive: true }));
  const first = await chatScene({ dataFolder });
  await asked(first.client, message("Ann"));
  const before = await waiting(first.client, 1);
  await first.gateway.close();
  const second = await chatScene({ dataFolder });
  expect(await waiting(second.client, 1)).toEqual(before);
  await second.gateway.close();
  // Its agents are gone: nobody can go on with it, and nobody knows what its tools took.
  const third = await chatScene({ dataFolder, toml: '[agents.other]\nmodel = "demo/clean"\n' });
  const [{ input_schema: _schema, ...rest } = {}] = before;
  expect(await waiting(third.client, 1)).toEqual([rest]);
  expect(await waiting(third.client, 1)).toEqual([rest]);
});
