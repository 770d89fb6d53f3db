import { request as httpRequest, type IncomingMessage } from "node:http";
import type { JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import {
  answers,
  ask,
  askChat,
  asksFirst,
  calls,
  clock,
  decide,
  lastResponse,
  office,
  streamed,
  tasksOf,
  textsOf,
  typesOf,
  viewOf,
  type Round,
} from "./agent-office.ts";
import { eventsOf } from "./running-gateway.ts";
import { pause, until, type Scene } from "./scene.ts";
import { beginStream, chunk, event, says } from "./scripted-upstream.ts";

describe("when a person is needed", () => {
  const waits = (rounds: readonly Round[] = [clock, answers("It is noon.")]) =>
    office(rounds, { toml: asksFirst });

  test("a streamed response fails with approval_required and the task's address, and the task waits", async () => {
    const { gateway } = await waits();
    const reply = await gateway.post("/responses", { ...ask, ...streamed });
    const taskId = reply.headers.get("x-deltawire-task");
    const events = await eventsOf(reply);
    expect(typesOf(events).at(-1)).toBe("response.failed");
    const task = `${gateway.url}/api/tasks/${taskId}`;
    const response = lastResponse(events);
    expect(response).toMatchObject({
      status: "failed",
      error: { code: "approval_required", task, message: expect.stringContaining(task) },
      usage: { total_tokens: 120 },
    });
    expect(textsOf(response)).toEqual(["One moment."]);
    await pause(50);
    expect((await viewOf(gateway, taskId)).status).toBe("input_required");
  });

  test("a whole response is a failed one; on the Chat wire it is a 409, or an error in the stream", async () => {
    const { gateway } = await waits([clock]);
    const response = (await (await gateway.post("/responses", ask)).json()) as JsonObject;
    expect(response).toMatchObject({ status: "failed", error: { code: "approval_required" } });
    const whole = await gateway.post("/chat/completions", askChat);
    expect([whole.status, whole.headers.get("x-should-retry")]).toEqual([409, "false"]);
    expect(await whole.json()).toMatchObject({
      error: { code: "approval_required", task: expect.stringContaining("/api/tasks/task_") },
    });
    const events = await eventsOf(
      await gateway.post("/chat/completions", { ...askChat, ...streamed }),
    );
    expect(events.at(-1)).toMatchObject({
      error: { code: "approval_required", task: expect.stringContaining("/api/tasks/task_") },
    });
    expect(events.some((each) => "done" in each)).toBe(false);
  });

  test("the same request again is about the same task, and has its answer once that is decided", async () => {
    const { gateway, upstream } = await waits();
    const failed = await gateway.post("/chat/completions", askChat);
    const taskId = failed.headers.get("x-deltawire-task");
    for (const body of [askChat, { ...askChat, ...streamed }]) {
      const again = await gateway.post("/chat/completions", body);
      expect(again.headers.get("x-deltawire-task")).toBe(taskId);
      expect(await again.text()).toContain("approval_required");
    }
    expect(upstream.requests).toHaveLength(1);
    await decide(gateway, await viewOf(gateway, taskId), "approve");
    const decided = await gateway.post("/chat/completions", askChat);
    expect([decided.status, decided.headers.get("x-deltawire-task")]).toEqual([200, taskId]);
    expect(await decided.json()).toMatchObject({
      choices: [{ message: { content: "One moment.\n\nIt is noon." } }],
    });
    // That was the answer: who asks once more asks anew.
    const anew = await gateway.post("/chat/completions", askChat);
    expect(anew.headers.get("x-deltawire-task")).not.toBe(taskId);
  });

  test("ids that a client gives its items anew do not make it another request", async () => {
    const { gateway } = await waits();
    const said = (id: string) => ({
      model: "clerk",
      input: [{ type: "message", id, role: "user", content: "What time is it?" }],
    });
    const first = await gateway.post("/responses", said("msg_a"));
    const again = await gateway.post("/responses", said("msg_b"));
    expect(again.headers.get("x-deltawire-task")).toBe(first.headers.get("x-deltawire-task"));
  });

  test("Codex is told in the word with which it stops and shows what it was told", async () => {
    const { gateway } = await waits();
    const headers = { originator: "codex_exec" };
    const events = await eventsOf(
      await gateway.post("/responses", { ...ask, ...streamed }, { headers }),
    );
    expect(lastResponse(events)).toMatchObject({
      error: { code: "invalid_prompt", message: expect.stringContaining("/api/approvals/") },
    });
    // It is the same to the gateway.
    const again = await gateway.post("/responses", { ...ask, ...streamed }, { headers });
    expect(await again.text()).toContain("invalid_prompt");
    expect(await tasksOf(gateway)).toHaveLength(1);
  });

  test("a sub-agent's question is one to the client too", async () => {
    const help = calls("ask_for_help", { name: "aide", prompt: "The time?" }, "I ask the aide.");
    const { gateway } = await waits([help, clock, answers("Noon."), answers("It is noon.")]);
    const failed = (await (await gateway.post("/responses", ask)).json()) as JsonObject;
    expect(failed).toMatchObject({ error: { code: "approval_required" } });
    const [task] = await tasksOf(gateway);
    await decide(gateway, await viewOf(gateway, task?.task_id ?? ""), "deny");
    const response = (await (await gateway.post("/responses", ask)).json()) as JsonObject;
    expect(response["status"]).toBe("completed");
    expect(textsOf(response)).toEqual(["I ask the aide.", "It is noon."]);
  });
});

describe("a client that leaves", () => {
  const endless: Round = async (response) => {
    beginStream(response);
    while (!response.destroyed) {
      response.write(event(chunk({ content: "word " })));
      await pause(2);
    }
  };

  /** What became of the tasks, once the upstream's connection has closed. */
  async function ends({ gateway, upstream }: Scene): Promise<string[]> {
    await until("the model to be asked", () => upstream.requests.length > 0);
    await upstream.requests[0]?.closed;
    const statuses = async () => (await tasksOf(gateway)).map(({ status }) => status);
    const limit = Date.now() + 30_000;
    while (Date.now() < limit && (await statuses()).includes("working")) await pause(5);
    return statuses();
  }

  test.each([
    ["/responses", { ...ask, ...streamed }],
    ["/chat/completions", { ...askChat, ...streamed }],
  ])("%s in mid-stream: its task is cancelled and the upstream is free", async (path, body) => {
    const staged = await office([endless]);
    const leaving = new AbortController();
    const reply = await staged.gateway.post(path, body, { signal: leaving.signal });
    const reader = reply.body?.getReader();
    while (!new TextDecoder().decode((await reader?.read())?.value).includes("word"));
    leaving.abort();
    await reader?.closed.catch(() => undefined);
    expect(await ends(staged)).toEqual(["canceled"]);
  });

  test("while it waits for the whole: the same", async () => {
    const staged = await office([endless]);
    const leaving = new AbortController();
    const reply = staged.gateway.post("/responses", ask, { signal: leaving.signal });
    await until("the model to be asked", () => staged.upstream.requests.length === 1);
    leaving.abort();
    await reply.catch(() => undefined);
    expect(await ends(staged)).toEqual(["canceled"]);
  });

  test("by never reading: it is let go, and its task is cancelled", async () => {
    // Six bytes a character on the wire: more than sockets buffer, and fewer characters than a reply may have.
    const text = "\u0001".repeat(32 * 1024);
    const flood: Round = async (response) => {
      beginStream(response);
      for (let sent = 0; !response.destroyed; sent += 1) {
        response.write(event(chunk({ content: sent < 60 ? text : "x" })));
        await pause(1);
      }
    };
    const staged = await office([flood], { beatMs: 5 });
    const client = httpRequest(`${staged.gateway.url}/v1/responses`, { method: "POST" });
    client.end(JSON.stringify({ ...ask, ...streamed }));
    const reply = await new Promise<IncomingMessage>((resolve) => client.on("response", resolve));
    reply.on("error", () => undefined);
    reply.pause();
    expect(await ends(staged)).toEqual(["canceled"]);
    const line = staged.gateway.lines.find((each) => each.includes("/v1/responses"));
    expect(JSON.parse(line ?? "{}")).toMatchObject({ left: true, model: "clerk" });
    client.destroy();
  });
});

describe("a long silence", () => {
  const silent: Round = async (response) => {
    await pause(600);
    says(response, "Late.");
  };

  test("is filled with events for a Responses client", async () => {
    const { gateway } = await office([silent], { beatMs: 3 });
    const events = await eventsOf(await gateway.post("/responses", { ...ask, ...streamed }));
    expect(
      typesOf(events).filter((type) => type === "response.in_progress").length,
    ).toBeGreaterThan(2);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at));
    expect(textsOf(lastResponse(events))).toEqual(["Late."]);
  });

  test("is filled with comments for a Chat client", async () => {
    const { gateway } = await office([silent], { beatMs: 3 });
    const reply = await gateway.post("/chat/completions", { ...askChat, ...streamed });
    const text = await reply.text();
    expect(text.match(/^: /gm)?.length).toBeGreaterThan(2);
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
  });
});
