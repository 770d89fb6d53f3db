import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openStore } from "@deltawire/store";
import { afterEach, describe, expect, test } from "vitest";
import { answers, clock, office } from "./agent-office.ts";
import { aGateway, until } from "./scene.ts";

const folders: string[] = [];

afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

async function aFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "task-endpoints-"));
  folders.push(folder);
  return folder;
}

describe("a store that another process holds", () => {
  test("costs the tasks and nothing else, says so, and is taken as soon as it is free", async () => {
    const folder = await aFolder();
    const held = await openStore({ path: join(folder, "tasks.db") });
    const gateway = await aGateway(
      `[server]\nport = 0\ndemo = true\n[store]\npath = ${JSON.stringify(join(folder, "tasks.db"))}`,
      { storeAgainMs: 20 },
    );
    const start = () =>
      fetch(`${gateway.url}/api/tasks`, {
        method: "POST",
        body: JSON.stringify({ agent: "demo-agent", input: "Hello" }),
      });
    const refused = await start();
    expect([refused.status, await refused.json()]).toMatchObject([
      503,
      { error: { code: "store_unavailable", message: expect.stringContaining("is in use by") } },
    ]);
    const asModel = await gateway.post("/responses", { model: "demo-agent", input: "Hello" });
    expect([asModel.status, await asModel.json()]).toMatchObject([
      503,
      { error: { code: "store_unavailable" } },
    ]);
    const model = await gateway.post("/responses", { model: "demo/clean", input: "Hello" });
    expect(model.status).toBe(200);
    await held.close();
    await until("the store is open", () =>
      gateway.lines.some((line) => line.includes("there are tasks again")),
    );
    expect((await start()).status).toBe(201);
  });
});

describe("a task that cannot be read", () => {
  test("costs the others nothing", async () => {
    const folder = await aFolder();
    const path = join(folder, "tasks.db");
    const toml = `[server]\nport = 0\ndemo = true\n[store]\npath = ${JSON.stringify(path)}`;
    const first = await aGateway(toml);
    const start = (url: string) =>
      fetch(`${url}/api/tasks`, {
        method: "POST",
        body: JSON.stringify({ agent: "demo-agent", input: 'send_message to Bob: "hello"' }),
      });
    const { task_id: id } = (await (await start(first.url)).json()) as { task_id: string };
    await first.close();
    const db = new DatabaseSync(path);
    db.exec("UPDATE events SET private = '{no JSON' WHERE sequence_number = 0");
    db.close();
    const second = await aGateway(toml);
    expect((await start(second.url)).status).toBe(201);
    expect(second.lines.some((line) => line.includes(`task ${id} cannot be read`))).toBe(true);
  });
});

describe("the task of an agent that was asked as a model", () => {
  test("goes on after the gateway's end, and has its answer for the same request", async () => {
    const folder = await aFolder();
    const toml = `[server]\nport = 0\ndrain_seconds = 0.05\ndemo = true\n[store]\npath = ${JSON.stringify(join(folder, "tasks.db"))}`;
    const first = await aGateway(toml);
    const ask = { model: "demo-agent", stream: true, input: "ask forecaster about Paris" };
    const reply = await first.post("/responses", ask);
    const id = reply.headers.get("x-deltawire-task");
    reply.text().catch(() => undefined);
    await first.drain();
    const second = await aGateway(toml);
    const again = await second.post("/responses", { ...ask, stream: false });
    expect(again.headers.get("x-deltawire-task")).toBe(id);
    expect(await again.json()).toMatchObject({ status: "completed" });
  });
});

describe("a task", () => {
  test("is in the log when it begins and ends, and tells with include=task what it was asked", async () => {
    const { gateway } = await office([clock, answers("It is noon.")]);
    const started = await fetch(`${gateway.url}/api/tasks`, {
      method: "POST",
      body: JSON.stringify({ agent: "clerk", input: "What time is it?" }),
    });
    const { task_id: id } = (await started.json()) as { task_id: string };
    const ended = () =>
      gateway.lines
        .map((line) => JSON.parse(line) as { msg: string; task?: string; status?: string })
        .filter(({ msg, task }) => msg === "task" && task === id);
    await until("the end is in the log", () => ended().at(-1)?.status === "completed");
    expect(ended()[0]).toMatchObject({ status: "working", agent: "clerk" });
    const view = await (await fetch(`${gateway.url}/api/tasks/${id}?include=task`)).json();
    expect(view).toMatchObject({
      status: "completed",
      task: {
        agent: "clerk",
        model: "up/m",
        input: [{ type: "text", text: "What time is it?" }],
        limits: { rounds: 10 },
      },
    });
    const wrong = await fetch(`${gateway.url}/api/tasks/${id}?include=all`);
    expect(wrong.status).toBe(400);
  });

  test("may ask every other agent where its request says so", async () => {
    const { gateway, upstream } = await office([answers("Hello.")]);
    await fetch(`${gateway.url}/api/tasks`, {
      method: "POST",
      body: JSON.stringify({ agent: "aide", input: "Hello", tool_groups: ["agents"] }),
    });
    await until("the model is asked", () => upstream.requests.length === 1);
    const tools = (upstream.requests[0]?.body["tools"] ?? []) as { function: { name: string } }[];
    expect(tools.map((tool) => tool.function.name)).toContain("ask_for_help");
    expect(JSON.stringify(tools)).toContain('"enum":["clerk"]');
  });
});
