import type { ServerResponse } from "node:http";
import type { TaskEventBody } from "@deltawire/tasks";
import { describe, expect, test } from "vitest";
import { NeedsPerson } from "../src/tasks/needs-person.ts";
import { historyItems } from "../src/tasks/ui-messages/ui-history.ts";
import type { TestGateway } from "./running-gateway.ts";
import { pause, scene, until } from "./scene.ts";
import { beginStream, chunk, event, refuse, says } from "./scripted-upstream.ts";

/* With the SDK itself: clients/use-chat.test.ts. */

const toml = '[agents.clerk]\nmodel = "up/m"\n';

const said = (text: string, id = "chat_1") => ({
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

async function endless(_request: unknown, response: ServerResponse): Promise<void> {
  beginStream(response);
  while (!response.destroyed) {
    response.write(event(chunk({ content: "word " })));
    await pause(2);
  }
}

async function tasksOf({ url }: TestGateway): Promise<{ task_id: string; status: string }[]> {
  const list = (await (await fetch(`${url}/api/tasks`)).json()) as { data: [] };
  return list.data;
}

/** Reads until there are words. */
async function begun(reply: Response): Promise<ReadableStreamDefaultReader<Uint8Array>> {
  const reader = (reply.body as ReadableStream<Uint8Array>).getReader();
  for (let text = ""; !text.includes("word");)
    text += new TextDecoder().decode((await reader.read()).value);
  return reader;
}

test("a chat's message is answered with a stream of its version, whose message is a task of the session", async () => {
  const { gateway } = await scene((_request, response) => says(response, "Hi."), { toml });
  const reply = await post(gateway, said("Hello"));
  expect(reply.status).toBe(200);
  expect(reply.headers.get("x-vercel-ai-ui-message-stream")).toBe("v1");
  expect(reply.headers.get("content-type")).toMatch(/^text\/event-stream/);
  const taskId = reply.headers.get("x-deltawire-task");
  const text = await reply.text();
  expect(text).toContain(`"messageId":"${taskId}"`);
  expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
  expect(await tasksOf(gateway)).toMatchObject([{ task_id: taskId, session_id: "chat_1" }]);
});

test.each([
  [{}, "messages"],
  [{ messages: 7 }, "messages"],
  [{ messages: [7] }, "messages[0]"],
  [{ messages: [{ role: "user", parts: 5 }] }, "messages[0].parts"],
  [{ messages: [{ role: "user", parts: [] }] }, "messages[0].parts"],
  [{ ...said("Hi"), id: 7 }, "id"],
  [{ ...said("Hi"), id: "x".repeat(301) }, "id"],
  [{ ...said("Hi"), trigger: 7 }, "trigger"],
  [{ ...said("Hi"), messageId: {} }, "messageId"],
  [{ ...said("Hi"), tool_groups: "web" }, "tool_groups"],
  [{ messages: [{ role: "assistant", parts: [] }] }, "messages"],
  [{ ...said("Hi"), agent: "clerk", model: "up/m" }, "model"],
  [{ ...said("Hi"), agent: "clerk", limits: { rounds: 0 } }, "limits.rounds"],
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
])("%j is refused for its %s", async (body, param) => {
  const { gateway } = await scene((_request, response) => says(response, "Hi."), { toml });
  const reply = await post(gateway, body);
  expect([reply.status, await reply.json()]).toMatchObject([
    400,
    { error: { code: "invalid_request", param } },
  ]);
});

test("fields that an application adds are allowed, and null is absent", async () => {
  const { gateway } = await scene((_request, response) => says(response, "Hi."), { toml });
  const body = { ...said("Hi"), messageId: null, limits: null, tenant: { id: 7 }, empty: null };
  const reply = await post(gateway, body);
  expect(reply.status).toBe(200);
  await reply.text();
});

test("a chat without an agent or a model, and an answer to nothing, are refused", async () => {
  const { gateway } = await scene((_request, response) => says(response, "Hi."), { toml });
  const nobody = await post(gateway, said("Hello"), { query: "" });
  expect([nobody.status, await nobody.json()]).toMatchObject([400, { error: { param: "agent" } }]);
  const taskId = (await post(gateway, said("Hello"))).headers.get("x-deltawire-task");
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
  const unknown = await post(gateway, answer({ task_id: "task_0", sequence_number: 1 }));
  expect([unknown.status, await unknown.json()]).toMatchObject([
    404,
    { error: { code: "task_not_found" } },
  ]);
  const nothing = await post(gateway, answer({ task_id: taskId, sequence_number: 1 }));
  expect([nothing.status, await nothing.json()]).toMatchObject([
    404,
    { error: { code: "approval_not_found" } },
  ]);
});

test("a failure of the model is an error chunk, and the stream ends", async () => {
  const { gateway } = await scene(
    (_request, response) => refuse(response, 400, { message: "no" }),
    { toml },
  );
  const text = await (await post(gateway, said("Hello"))).text();
  expect(text).toContain('"type":"error"');
  expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
});

describe("a task that is under way", () => {
  test("goes on when its reader leaves, is told to who resumes, and ends when it is cancelled", async () => {
    const { gateway, upstream } = await scene(endless, { toml });
    const leaving = new AbortController();
    const first = await post(gateway, said("Hello"), { signal: leaving.signal });
    await begun(first);
    leaving.abort();
    await pause(30);
    expect(upstream.open()).toBe(1);
    const address = `${gateway.url}/api/ui-messages/chat_1/stream`;
    expect((await fetch(address, { method: "HEAD" })).status).toBe(200);
    const resumed = await fetch(address);
    expect(resumed.headers.get("x-vercel-ai-ui-message-stream")).toBe("v1");
    const reader = await begun(resumed);
    const [task] = await tasksOf(gateway);
    await fetch(`${gateway.url}/api/tasks/${task?.task_id}/cancel`, { method: "POST" });
    let text = "";
    for (let read = await reader.read(); !read.done; read = await reader.read())
      text += new TextDecoder().decode(read.value);
    expect(text).toContain('"type":"abort"');
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    expect((await fetch(address)).status).toBe(204);
  });

  test("is ended by the next message of its chat, and not by one of another", async () => {
    const { gateway } = await scene(endless, { toml });
    const leaving = new AbortController();
    const { signal } = leaving;
    for (const [text, chat] of [
      ["one", "a"],
      ["two", "b"],
      ["three", "a"],
    ] as const)
      await begun(await post(gateway, said(text, chat), { signal }));
    const statuses = async () => (await tasksOf(gateway)).map(({ status }) => status);
    await until("one to be cancelled", async () => (await statuses()).includes("canceled"));
    expect(await statuses()).toEqual(["working", "working", "canceled"]);
    leaving.abort();
  });

  test("does not hold up a gateway that stops: its reader is cut off, and can tell", async () => {
    const { gateway } = await scene(endless, { toml });
    const reader = await begun(await post(gateway, said("Hello")));
    const readToTheEnd = async (): Promise<void> => {
      while (!(await reader.read()).done);
    };
    const failure = readToTheEnd().catch((error: unknown) => error);
    const began = performance.now();
    await gateway.drain();
    expect(performance.now() - began).toBeLessThan(5000);
    expect(await failure).toBeInstanceOf(TypeError);
  });

  test("is kept alive by comments while nothing is said", async () => {
    const silent = async (_request: unknown, response: ServerResponse): Promise<void> => {
      await pause(600);
      says(response, "Late.");
    };
    const { gateway } = await scene(silent, { toml, beatMs: 3 });
    const text = await (await post(gateway, said("Hello"))).text();
    expect(text.match(/^: /gm)?.length).toBeGreaterThan(1);
    await until("it is logged", () => gateway.lines.length > 0);
  });
});

describe("whether a person is needed", () => {
  const after = (...bodies: (TaskEventBody & { in?: string })[]): boolean => {
    const needs = new NeedsPerson();
    [working(), ...bodies].forEach((body, at) => {
      const { in: taskId = "root", ...rest } = body;
      needs.push({ ...rest, task_id: taskId, sequence_number: at });
    });
    return needs.isSo;
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

  test("it is when the root says so, and not before", () => {
    expect(after(requested("a"))).toBe(false);
    expect(after(requested("a"), required("a"))).toBe(true);
    expect(after(requested("a"), required("a"), resolved("a"), working())).toBe(false);
  });

  test("it is not between an answer and what the task does with it", () => {
    const asked = [requested("a"), requested("b"), required("a", "b")];
    expect(after(...asked, resolved("a"))).toBe(false);
    expect(after(...asked, resolved("a"), working(), required("b"))).toBe(true);
    expect(after(...asked, resolved("a"), resolved("b"))).toBe(false);
  });

  test("it still is when one of two sub-agents was answered and works, while the other waits", () => {
    const asked = [requested("a", "one"), requested("b", "two"), required("a", "b")];
    expect(after(...asked, resolved("a", "one"))).toBe(false);
    expect(after(...asked, resolved("a", "one"), working("one"))).toBe(true);
  });
});

test("what was shown in a chat before is told to the model as a task's own input is", () => {
  const shown = (url: string) => [
    { type: "audio_url" as const, audio_url: { url } },
    { type: "file_url" as const, file_url: { url }, filename: "a.txt" },
  ];
  const partsOf = (url: string): unknown => {
    const [item] = historyItems([{ role: "user", parts: shown(url) }]);
    return item !== undefined && "content" in item ? item["content"] : undefined;
  };
  // No server fetches a sound.
  const address = "https://example.com/a";
  expect(partsOf(address)).toEqual([
    { type: "input_text", text: `[audio: ${address}]` },
    { type: "input_file", file_url: address, filename: "a.txt" },
  ]);
  const data = "data:text/plain,hello";
  expect(partsOf(data)).toEqual([
    { type: "input_audio", input_audio: { url: data } },
    { type: "input_file", filename: "a.txt", file_data: data },
  ]);
});
