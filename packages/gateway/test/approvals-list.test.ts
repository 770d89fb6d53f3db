import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineAgent, defineTool } from "@deltawire/agent";
import type { TaskView } from "@deltawire/tasks";
import type { ChatClient, PendingApproval } from "@deltawire/tasks/chats";
import { expect, onTestFinished, test } from "vitest";
import { chatGatewayFixture, catchErrorFields, waitUntilSettled } from "./chat-fixture.ts";
import { waitUntil } from "./gateway-fixture.ts";

const message = (to: string): string => `please send_message to ${to}: "hello"`;

async function askQuestion(client: ChatClient, text: string, title = "A question") {
  const { chat } = await client.create({ title, settings: { agent: "demo-agent" } });
  const { node_id, version_id, task_id } = await client.send(chat.chat_id, { text });
  return { chat_id: chat.chat_id, title, opening_text: text, node_id, version_id, task_id };
}

async function waitForApprovals(client: ChatClient, count: number): Promise<PendingApproval[]> {
  let data: readonly PendingApproval[] = [];
  await waitUntil(
    `${count} pending approvals`,
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

test("the list has the approvals of all chats and tasks, oldest first, with everything needed to decide", async () => {
  const { client, url } = await chatGatewayFixture();
  expect(await client.approvals()).toEqual({ data: [] });
  const { task_id: first, ...chat } = await askQuestion(client, message("Ann"), "To Ann");
  await waitForApprovals(client, 1);
  const second = await startTask(url, { agent: "demo-agent", input: message("Bob") });
  await waitForApprovals(client, 2);
  const { task_id: third } = await askQuestion(client, message("Cleo"));
  const all = await waitForApprovals(client, 3);
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

test("the list omits decided approvals and has the current title of the chat", async () => {
  const { client } = await chatGatewayFixture();
  const { chat_id } = await askQuestion(client, message("Ann"), "Before");
  const [before] = await waitForApprovals(client, 1);
  expect(before?.chat?.title).toBe("Before");
  const { revision } = (await client.get(chat_id)).chat;
  await client.applyEdits(chat_id, { revision, edits: [{ type: "rename", title: "After" }] });
  const [after] = await waitForApprovals(client, 1);
  expect(after?.chat?.title).toBe("After");
  await client.decide(after?.approval.approval_id ?? "", { decision: "deny", reason: "not now" });
  expect(await client.approvals()).toEqual({ data: [] });
  await waitUntilSettled(client, chat_id);
});

test("a decision with changed arguments that do not match the schema is rejected, and the approval stays pending", async () => {
  const { client } = await chatGatewayFixture();
  await askQuestion(client, message("Ann"));
  const [one] = await waitForApprovals(client, 1);
  const id = one?.approval.approval_id ?? "";
  const decide = (changedArguments: string | { to: number }): Promise<unknown> =>
    client.decide(id, { decision: "approve", arguments: changedArguments });
  for (const invalid of [{ to: 7 }, '{"to":"Ann"}', "{"])
    expect(await catchErrorFields(decide(invalid))).toEqual([400, "invalid_request", "arguments"]);
  expect(await waitForApprovals(client, 1)).toEqual([one]);
});

test("the list has a held result with its blocks and without a schema, because nothing can be changed", async () => {
  const { client } = await chatGatewayFixture();
  await askQuestion(client, 'open_private_note "keys"');
  const [heldResult] = await waitForApprovals(client, 1);
  expect(heldResult).toMatchObject({
    approval: { kind: "result", choices: ["approve", "deny", "redact", "abort"] },
    call: { name: "open_private_note" },
  });
  expect(JSON.stringify(heldResult?.approval.block_list)).toContain("flower pot");
  expect(heldResult).not.toHaveProperty("input_schema");
});

test("the list has a reached limit without a call", async () => {
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
  const { client, url } = await chatGatewayFixture({ agents: [agent] });
  await startTask(url, { agent: "limited", input: "ping in 3 steps" });
  const [limit] = await waitForApprovals(client, 1);
  expect(limit).toMatchObject({
    approval: { kind: "limit", limit_name: "rounds" },
    agent: "limited",
  });
  expect(limit).not.toHaveProperty("call");
});

test("the list has the same approvals with their original times after a restart, even of a task that cannot be resumed", async () => {
  const dataFolder = await mkdtemp(join(tmpdir(), "approvals-"));
  onTestFinished(() => rm(dataFolder, { recursive: true }));
  const first = await chatGatewayFixture({ dataFolder });
  await askQuestion(first.client, message("Ann"));
  const before = await waitForApprovals(first.client, 1);
  await first.gateway.close();
  const second = await chatGatewayFixture({ dataFolder });
  expect(await waitForApprovals(second.client, 1)).toEqual(before);
  await second.gateway.close();
  // The agents of the task are missing, so it cannot be resumed, and the schemas of its tools are unknown.
  const third = await chatGatewayFixture({
    dataFolder,
    toml: '[agents.other]\nmodel = "demo/clean"\n',
  });
  const [{ input_schema: _schema, ...rest } = {}] = before;
  expect(await waitForApprovals(third.client, 1)).toEqual([rest]);
  expect(await waitForApprovals(third.client, 1)).toEqual([rest]);
});
