import type { ServerResponse } from "node:http";
import type { TaskEventBody } from "@deltawire/tasks";
import { describe, expect, test } from "vitest";
import { PendingApprovalTracker } from "../src/tasks/pending-approval-tracker.ts";
import { toModelHistoryItems } from "../src/tasks/ui-messages/ui-history.ts";
import type { TestGateway } from "./test-gateway.ts";
import { sleep, gatewayFixture, waitUntil } from "./gateway-fixture.ts";
import { beginStream, chatChunk, formatEvent, sendError, streamText } from "./scripted-upstream.ts";

/* clients/use-chat.test.ts tests the SDK itself. */

const toml = '[agents.clerk]\nmodel = "up/m"\n';

const chatRequest = (text: string, id = "chat_1") => ({
  id,
  trigger: "submit-message",
  messages: [{ id: "u1", role: "user", parts: [{ type: "text", text }] }],
});

function post(
  { url }: TestGateway,
  body: unknown,
  { query = "?agent=clerk", ...more }: { query?: string; signal?: AbortSignal } = {},
): Promise<Response> {
  const headers = { "content-type": "application/json" };
  const text = JSON.stringify(body);
  return fetch(`${url}/api/ui-messages${query}`, { method: "POST", headers, body: text, ...more });
}

async function sendEndlessText(_request: unknown, response: ServerResponse): Promise<void> {
  beginStream(response);
  while (!response.destroyed) {
    response.write(formatEvent(chatChunk({ content: "word " })));
    await sleep(2);
  }
}

async function listTasks({ url }: TestGateway): Promise<{ task_id: string; status: string }[]> {
  const list = (await (await fetch(`${url}/api/tasks`)).json()) as { data: [] };
  return list.data;
}

/** Reads the stream until it contains text, and returns its reader. */
async function readUntilText(reply: Response): Promise<ReadableStreamDefaultReader<Uint8Array>> {
  const reader = (reply.body as ReadableStream<Uint8Array>).getReader();
  for (let text = ""; !text.includes("word");)
    text += new TextDecoder().decode((await reader.read()).value);
  return reader;
}

test("a chat's message is answered with a stream in the SDK's version; the answer is a task of the session", async () => {
  const { gateway } = await gatewayFixture((_request, response) => streamText(response, "Hi."), {
    toml,
  });
  const reply = await post(gateway, chatRequest("Hello"));
  expect(reply.status).toBe(200);
  expect(reply.headers.get("x-vercel-ai-ui-message-stream")).toBe("v1");
  expect(reply.headers.get("content-type")).toMatch(/^text\/event-stream/);
  const taskId = reply.headers.get("x-deltawire-task");
  const text = await reply.text();
  expect(text).toContain(`"messageId":"${taskId}"`);
  expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
  expect(await listTasks(gateway)).toMatchObject([{ task_id: taskId, session_id: "chat_1" }]);
});

test.each([
  [{}, "messages"],
  [{ messages: 7 }, "messages"],
  [{ messages: [7] }, "messages[0]"],
  [{ messages: [{ role: "user", parts: 5 }] }, "messages[0].parts"],
  [{ messages: [{ role: "user", parts: [] }] }, "messages[0].parts"],
  [{ ...chatRequest("Hi"), id: 7 }, "id"],
  [{ ...chatRequest("Hi"), id: "x".repeat(301) }, "id"],
  [{ ...chatRequest("Hi"), trigger: 7 }, "trigger"],
  [{ ...chatRequest("Hi"), messageId: {} }, "messageId"],
  [{ ...chatRequest("Hi"), tool_groups: "web" }, "tool_groups"],
  [{ messages: [{ role: "assistant", parts: [] }] }, "messages"],
  [{ ...chatRequest("Hi"), agent: "clerk", model: "up/m" }, "model"],
  [{ ...chatRequest("Hi"), agent: "clerk", limits: { rounds: 0 } }, "limits.rounds"],
  [
    {
      messages: [
        {
          role: "user",
          parts: [
            { type: "text", text: "" },
            { type: "file", mediaType: "image/png", url: "file:///etc/passwd" },
          ],
        },
      ],
    },
    "messages[0].parts[1].url",
  ],
  [
    {
      messages: [
        {
          role: "user",
          parts: [{ type: "file", mediaType: `text/${"x".repeat(300)}`, url: "data:," }],
        },
      ],
    },
    "messages[0].parts[0].mediaType",
  ],
  [
    {
      messages: [
        {
          role: "assistant",
          parts: [
            {
              type: "dynamic-tool",
              state: "approval-responded",
              approval: { id: "a", approved: true },
            },
          ],
        },
      ],
    },
    "messages[0].parts[0].toolCallId",
  ],
  [
    {
      messages: [
        {
          role: "assistant",
          parts: [
            {
              type: "dynamic-tool",
              toolCallId: "c",
              toolName: "t",
              state: "approval-responded",
              approval: { id: "a", approved: true },
            },
          ],
        },
      ],
    },
    "messages",
  ],
])("%j is rejected for its %s", async (body, param) => {
  const { gateway } = await gatewayFixture((_request, response) => streamText(response, "Hi."), {
    toml,
  });
  const reply = await post(gateway, body);
  expect([reply.status, await reply.json()]).toMatchObject([
    400,
    { error: { code: "invalid_request", param } },
  ]);
});

test("additional fields of an application are allowed, and null is the same as absent", async () => {
  const { gateway } = await gatewayFixture((_request, response) => streamText(response, "Hi."), {
    toml,
  });
  const body = {
    ...chatRequest("Hi"),
    messageId: null,
    limits: null,
    tenant: { id: 7 },
    empty: null,
  };
  const reply = await post(gateway, body);
  expect(reply.status).toBe(200);
  await reply.text();
});

test("a chat without an agent or model, and a decision without a pending approval, are rejected", async () => {
  const { gateway } = await gatewayFixture((_request, response) => streamText(response, "Hi."), {
    toml,
  });
  const unaddressed = await post(gateway, chatRequest("Hello"), { query: "" });
  expect([unaddressed.status, await unaddressed.json()]).toMatchObject([
    400,
    { error: { param: "agent" } },
  ]);
  const taskId = (await post(gateway, chatRequest("Hello"))).headers.get("x-deltawire-task");
  const answer = (metadata: object) => ({
    id: "chat_1",
    messages: [
      {
        role: "assistant",
        metadata,
        parts: [
          {
            type: "dynamic-tool",
            toolCallId: "c",
            toolName: "t",
            state: "approval-responded",
            approval: { id: "apr_0", approved: true },
          },
        ],
      },
    ],
  });
  const unknownTask = await post(gateway, answer({ task_id: "task_0", sequence_number: 1 }));
  expect([unknownTask.status, await unknownTask.json()]).toMatchObject([
    404,
    { error: { code: "task_not_found" } },
  ]);
  const unknownApproval = await post(gateway, answer({ task_id: taskId, sequence_number: 1 }));
  expect([unknownApproval.status, await unknownApproval.json()]).toMatchObject([
    404,
    { error: { code: "approval_not_found" } },
  ]);
});

test("a model failure is an error chunk, and the stream ends", async () => {
  const { gateway } = await gatewayFixture(
    (_request, response) => sendError(response, 400, { message: "no" }),
    { toml },
  );
  const text = await (await post(gateway, chatRequest("Hello"))).text();
  expect(text).toContain('"type":"error"');
  expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
});

describe("a running task", () => {
  test("continues when its client disconnects, can be resumed, and ends when it is canceled", async () => {
    const { gateway, upstream } = await gatewayFixture(sendEndlessText, { toml });
    const controller = new AbortController();
    const first = await post(gateway, chatRequest("Hello"), { signal: controller.signal });
    await readUntilText(first);
    controller.abort();
    await sleep(30);
    expect(upstream.openCount()).toBe(1);
    const address = `${gateway.url}/api/ui-messages/chat_1/stream`;
    expect((await fetch(address, { method: "HEAD" })).status).toBe(200);
    const resumed = await fetch(address);
    expect(resumed.headers.get("x-vercel-ai-ui-message-stream")).toBe("v1");
    const reader = await readUntilText(resumed);
    const [task] = await listTasks(gateway);
    await fetch(`${gateway.url}/api/tasks/${task?.task_id}/cancel`, { method: "POST" });
    let text = "";
    for (let read = await reader.read(); !read.done; read = await reader.read())
      text += new TextDecoder().decode(read.value);
    expect(text).toContain('"type":"abort"');
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    expect((await fetch(address)).status).toBe(204);
  });

  test("is canceled by the next message of its chat, and not by one of another chat", async () => {
    const { gateway } = await gatewayFixture(sendEndlessText, { toml });
    const controller = new AbortController();
    const { signal } = controller;
    for (const [text, chat] of [
      ["one", "a"],
      ["two", "b"],
      ["three", "a"],
    ] as const)
      await readUntilText(await post(gateway, chatRequest(text, chat), { signal }));
    const statuses = async () => (await listTasks(gateway)).map(({ status }) => status);
    await waitUntil("the first task to be canceled", async () =>
      (await statuses()).includes("canceled"),
    );
    expect(await statuses()).toEqual(["working", "working", "canceled"]);
    controller.abort();
  });

  test("does not delay the shutdown of the gateway: its client is disconnected in a detectable way", async () => {
    const { gateway } = await gatewayFixture(sendEndlessText, { toml });
    const reader = await readUntilText(await post(gateway, chatRequest("Hello")));
    const readToTheEnd = async (): Promise<void> => {
      while (!(await reader.read()).done);
    };
    const failure = readToTheEnd().catch((error: unknown) => error);
    const startedAt = performance.now();
    await gateway.drain();
    expect(performance.now() - startedAt).toBeLessThan(5000);
    expect(await failure).toBeInstanceOf(TypeError);
  });

  test("is kept alive by comments during a silence", async () => {
    const silent = async (_request: unknown, response: ServerResponse): Promise<void> => {
      await sleep(600);
      streamText(response, "Late.");
    };
    const { gateway } = await gatewayFixture(silent, { toml, tickMs: 3 });
    const text = await (await post(gateway, chatRequest("Hello"))).text();
    expect(text.match(/^: /gm)?.length).toBeGreaterThan(1);
    await waitUntil("the request to be logged", () => gateway.lines.length > 0);
  });
});

describe("a task that is waiting for the user", () => {
  const isWaitingAfter = (...bodies: (TaskEventBody & { in?: string })[]): boolean => {
    const tracker = new PendingApprovalTracker();
    [working(), ...bodies].forEach((body, index) => {
      const { in: taskId = "root", ...rest } = body;
      tracker.push({ ...rest, task_id: taskId, sequence_number: index });
    });
    return tracker.isWaiting;
  };
  const requested = (id: string, task = "root") => ({
    type: "task.approval.requested" as const,
    in: task,
    approval: { approval_id: id, kind: "call" as const, choices: ["approve" as const] },
  });
  const required = (...ids: string[]) => ({
    type: "task.input_required" as const,
    approval_ids: ids,
    reason: "approval" as const,
  });
  const resolved = (id: string, task = "root") => ({
    type: "task.approval.resolved" as const,
    in: task,
    approval_id: id,
    decision: "approve" as const,
    by: "me",
    scope: "once" as const,
  });
  const working = (task = "root") => ({ type: "task.working" as const, in: task });

  test("as soon as the root task requires input", () => {
    expect(isWaitingAfter(requested("a"))).toBe(false);
    expect(isWaitingAfter(requested("a"), required("a"))).toBe(true);
    expect(isWaitingAfter(requested("a"), required("a"), resolved("a"), working())).toBe(false);
  });

  test("but not between a decision and the task's next event", () => {
    const events = [requested("a"), requested("b"), required("a", "b")];
    expect(isWaitingAfter(...events, resolved("a"))).toBe(false);
    expect(isWaitingAfter(...events, resolved("a"), working(), required("b"))).toBe(true);
    expect(isWaitingAfter(...events, resolved("a"), resolved("b"))).toBe(false);
  });

  test("as long as one of its sub-agents waits, even if another one continues", () => {
    const events = [requested("a", "one"), requested("b", "two"), required("a", "b")];
    expect(isWaitingAfter(...events, resolved("a", "one"))).toBe(false);
    expect(isWaitingAfter(...events, resolved("a", "one"), working("one"))).toBe(true);
  });
});

test("the history of a chat is sent to the model like a task's own input", () => {
  const createParts = (url: string) => [
    { type: "audio_url" as const, audio_url: { url } },
    { type: "file_url" as const, file_url: { url }, filename: "a.txt" },
  ];
  const convertParts = (url: string): unknown => {
    const [item] = toModelHistoryItems([{ role: "user", parts: createParts(url) }]);
    return item !== undefined && "content" in item ? item["content"] : undefined;
  };
  // Audio URLs are sent as text: no server fetches them.
  const address = "https://example.com/a";
  expect(convertParts(address)).toEqual([
    { type: "input_text", text: `[audio: ${address}]` },
    { type: "input_file", file_url: address, filename: "a.txt" },
  ]);
  const data = "data:text/plain,hello";
  expect(convertParts(data)).toEqual([
    { type: "input_audio", input_audio: { url: data } },
    { type: "input_file", filename: "a.txt", file_data: data },
  ]);
});
