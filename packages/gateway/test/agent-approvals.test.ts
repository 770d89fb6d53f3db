import { request as httpRequest, type IncomingMessage } from "node:http";
import type { JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import {
  answerText,
  agentResponsesRequest,
  agentChatRequest,
  approvalToml,
  callTool,
  callClock,
  decide,
  getFinalResponse,
  scriptedAgentFixture,
  streamOption,
  fetchTasks,
  getOutputTexts,
  listEventTypes,
  fetchTaskView,
  type ScriptedRound,
} from "./agent-fixture.ts";
import { readEvents } from "./test-gateway.ts";
import { sleep, waitUntil, type GatewayFixture } from "./gateway-fixture.ts";
import { beginStream, chatChunk, formatEvent, streamText } from "./scripted-upstream.ts";

describe("when a task needs an approval", () => {
  const waits = (rounds: readonly ScriptedRound[] = [callClock, answerText("It is noon.")]) =>
    scriptedAgentFixture(rounds, { toml: approvalToml });

  test("a streamed response fails with approval_required and the task's URL, and the task waits", async () => {
    const { gateway } = await waits();
    const reply = await gateway.post("/responses", { ...agentResponsesRequest, ...streamOption });
    const taskId = reply.headers.get("x-deltawire-task");
    const events = await readEvents(reply);
    expect(listEventTypes(events).at(-1)).toBe("response.failed");
    const task = `${gateway.url}/api/tasks/${taskId}`;
    const response = getFinalResponse(events);
    expect(response).toMatchObject({
      status: "failed",
      error: { code: "approval_required", task, message: expect.stringContaining(task) },
      usage: { total_tokens: 120 },
    });
    expect(getOutputTexts(response)).toEqual(["One moment."]);
    await sleep(50);
    expect((await fetchTaskView(gateway, taskId)).status).toBe("input_required");
  });

  test("a non-streaming response fails; on Chat it is a 409, or an error in the stream", async () => {
    const { gateway } = await waits([callClock]);
    const response = (await (
      await gateway.post("/responses", agentResponsesRequest)
    ).json()) as JsonObject;
    expect(response).toMatchObject({ status: "failed", error: { code: "approval_required" } });
    const complete = await gateway.post("/chat/completions", agentChatRequest);
    expect([complete.status, complete.headers.get("x-should-retry")]).toEqual([409, "false"]);
    expect(await complete.json()).toMatchObject({
      error: { code: "approval_required", task: expect.stringContaining("/api/tasks/task_") },
    });
    const events = await readEvents(
      await gateway.post("/chat/completions", { ...agentChatRequest, ...streamOption }),
    );
    expect(events.at(-1)).toMatchObject({
      error: { code: "approval_required", task: expect.stringContaining("/api/tasks/task_") },
    });
    expect(events.some((each) => "done" in each)).toBe(false);
  });

  test("repeating the same request continues the same task and returns its answer after the decision", async () => {
    const { gateway, upstream } = await waits();
    const failed = await gateway.post("/chat/completions", agentChatRequest);
    const taskId = failed.headers.get("x-deltawire-task");
    for (const body of [agentChatRequest, { ...agentChatRequest, ...streamOption }]) {
      const repeated = await gateway.post("/chat/completions", body);
      expect(repeated.headers.get("x-deltawire-task")).toBe(taskId);
      expect(await repeated.text()).toContain("approval_required");
    }
    expect(upstream.requests).toHaveLength(1);
    await decide(gateway, await fetchTaskView(gateway, taskId), "approve");
    const decided = await gateway.post("/chat/completions", agentChatRequest);
    expect([decided.status, decided.headers.get("x-deltawire-task")]).toEqual([200, taskId]);
    expect(await decided.json()).toMatchObject({
      choices: [{ message: { content: "One moment.\n\nIt is noon." } }],
    });
    // The reply is complete now: repeating the request starts a new task.
    const repeatedLater = await gateway.post("/chat/completions", agentChatRequest);
    expect(repeatedLater.headers.get("x-deltawire-task")).not.toBe(taskId);
  });

  test("new item ids from the client do not make it a different request", async () => {
    const { gateway } = await waits();
    const buildRequest = (id: string) => ({
      model: "clerk",
      input: [{ type: "message", id, role: "user", content: "What time is it?" }],
    });
    const first = await gateway.post("/responses", buildRequest("msg_a"));
    const repeated = await gateway.post("/responses", buildRequest("msg_b"));
    expect(repeated.headers.get("x-deltawire-task")).toBe(first.headers.get("x-deltawire-task"));
  });

  test("Codex gets the error code that makes it stop and show the message", async () => {
    const { gateway } = await waits();
    const headers = { originator: "codex_exec" };
    const events = await readEvents(
      await gateway.post("/responses", { ...agentResponsesRequest, ...streamOption }, { headers }),
    );
    expect(getFinalResponse(events)).toMatchObject({
      error: { code: "invalid_prompt", message: expect.stringContaining("/api/approvals/") },
    });
    // To the gateway it is the same request.
    const repeated = await gateway.post(
      "/responses",
      { ...agentResponsesRequest, ...streamOption },
      { headers },
    );
    expect(await repeated.text()).toContain("invalid_prompt");
    expect(await fetchTasks(gateway)).toHaveLength(1);
  });

  test("a sub-agent's approval is reported to the client too", async () => {
    const help = callTool("ask_for_help", { name: "aide", prompt: "The time?" }, "I ask the aide.");
    const { gateway } = await waits([
      help,
      callClock,
      answerText("Noon."),
      answerText("It is noon."),
    ]);
    const failed = (await (
      await gateway.post("/responses", agentResponsesRequest)
    ).json()) as JsonObject;
    expect(failed).toMatchObject({ error: { code: "approval_required" } });
    const [task] = await fetchTasks(gateway);
    await decide(gateway, await fetchTaskView(gateway, task?.task_id ?? ""), "deny");
    const response = (await (
      await gateway.post("/responses", agentResponsesRequest)
    ).json()) as JsonObject;
    expect(response["status"]).toBe("completed");
    expect(getOutputTexts(response)).toEqual(["I ask the aide.", "It is noon."]);
  });
});

describe("when a client disconnects", () => {
  const sendEndlessly: ScriptedRound = async (response) => {
    beginStream(response);
    while (!response.destroyed) {
      response.write(formatEvent(chatChunk({ content: "word " })));
      await sleep(2);
    }
  };

  /** Waits until the upstream's connection has closed and no task is running. Returns the statuses of the tasks. */
  async function waitForStatuses({ gateway, upstream }: GatewayFixture): Promise<string[]> {
    await waitUntil("the model to get the request", () => upstream.requests.length > 0);
    await upstream.requests[0]?.closed;
    const readStatuses = async () => (await fetchTasks(gateway)).map(({ status }) => status);
    const limit = Date.now() + 30_000;
    while (Date.now() < limit && (await readStatuses()).includes("working")) await sleep(5);
    return readStatuses();
  }

  test.each([
    ["/responses", { ...agentResponsesRequest, ...streamOption }],
    ["/chat/completions", { ...agentChatRequest, ...streamOption }],
  ])(
    "in the middle of a stream from %s, its task is canceled and the upstream request is aborted",
    async (path, body) => {
      const scripted = await scriptedAgentFixture([sendEndlessly]);
      const controller = new AbortController();
      const reply = await scripted.gateway.post(path, body, { signal: controller.signal });
      const reader = reply.body?.getReader();
      while (!new TextDecoder().decode((await reader?.read())?.value).includes("word"));
      controller.abort();
      await reader?.closed.catch(() => undefined);
      expect(await waitForStatuses(scripted)).toEqual(["canceled"]);
    },
  );

  test("while it waits for a non-streaming reply, its task is canceled too", async () => {
    const scripted = await scriptedAgentFixture([sendEndlessly]);
    const controller = new AbortController();
    const reply = scripted.gateway.post("/responses", agentResponsesRequest, {
      signal: controller.signal,
    });
    await waitUntil("the model to get the request", () => scripted.upstream.requests.length === 1);
    controller.abort();
    await reply.catch(() => undefined);
    expect(await waitForStatuses(scripted)).toEqual(["canceled"]);
  });

  test("or stops reading, its connection is closed and its task is canceled", async () => {
    // Six bytes per character: more than sockets buffer, with fewer characters than a reply may have.
    const text = "\u0001".repeat(32 * 1024);
    const flood: ScriptedRound = async (response) => {
      beginStream(response);
      for (let sent = 0; !response.destroyed; sent += 1) {
        response.write(formatEvent(chatChunk({ content: sent < 60 ? text : "x" })));
        await sleep(1);
      }
    };
    const scripted = await scriptedAgentFixture([flood], { tickMs: 5 });
    const client = httpRequest(`${scripted.gateway.url}/v1/responses`, { method: "POST" });
    client.end(JSON.stringify({ ...agentResponsesRequest, ...streamOption }));
    const reply = await new Promise<IncomingMessage>((resolve) => client.on("response", resolve));
    reply.on("error", () => undefined);
    reply.pause();
    expect(await waitForStatuses(scripted)).toEqual(["canceled"]);
    const line = scripted.gateway.lines.find((each) => each.includes("/v1/responses"));
    expect(JSON.parse(line ?? "{}")).toMatchObject({ client_disconnected: true, model: "clerk" });
    client.destroy();
  });
});

describe("a long silence of the model", () => {
  const answerLate: ScriptedRound = async (response) => {
    await sleep(600);
    streamText(response, "Late.");
  };

  test("is filled with events for a Responses client", async () => {
    const { gateway } = await scriptedAgentFixture([answerLate], { tickMs: 3 });
    const events = await readEvents(
      await gateway.post("/responses", { ...agentResponsesRequest, ...streamOption }),
    );
    expect(
      listEventTypes(events).filter((type) => type === "response.in_progress").length,
    ).toBeGreaterThan(2);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(
      events.map((_, index) => index),
    );
    expect(getOutputTexts(getFinalResponse(events))).toEqual(["Late."]);
  });

  test("is filled with comments for a Chat client", async () => {
    const { gateway } = await scriptedAgentFixture([answerLate], { tickMs: 3 });
    const reply = await gateway.post("/chat/completions", { ...agentChatRequest, ...streamOption });
    const text = await reply.text();
    expect(text.match(/^: /gm)?.length).toBeGreaterThan(2);
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
  });
});
