import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openStore } from "@deltawire/store";
import { describe, expect, onTestFinished, test } from "vitest";
import { createAccessKey, revokeAccessKey } from "../src/security/manage-access-keys.ts";
import { createKeyClient } from "./access-key-fixture.ts";
import { answerText, callClock, scriptedAgentFixture } from "./agent-fixture.ts";
import { testGateway, waitUntil } from "./gateway-fixture.ts";

/** Deleted after the hooks that close the gateways, because an open store still writes to its folder. */
async function createTestFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "task-endpoints-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

describe("a store that another process uses", () => {
  test("affects only tasks and chats, is reported, and is opened as soon as it is free", async () => {
    const folder = await createTestFolder();
    const lockingStore = await openStore({ path: join(folder, "tasks.db") });
    const gateway = await testGateway(
      `[server]\nport = 0\ndemo = true\n[store]\npath = ${JSON.stringify(join(folder, "tasks.db"))}`,
      { storeRetryMs: 20 },
    );
    const start = () =>
      fetch(`${gateway.url}/api/tasks`, {
        method: "POST",
        body: JSON.stringify({ agent: "demo-agent", input: "Hello" }),
      });
    const rejected = await start();
    expect([rejected.status, await rejected.json()]).toMatchObject([
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
    await lockingStore.close();
    await waitUntil("the store is open", () =>
      gateway.lines.some((line) => line.includes("tasks and chats are available")),
    );
    expect((await start()).status).toBe(201);
  });
});

describe("access keys in a store that another process uses", () => {
  const token = "token-of-the-configuration-0123456789";

  async function startSecondGateway(settings = "") {
    const path = join(await createTestFolder(), "tasks.db");
    const store = await openStore({ path });
    const start = () =>
      testGateway(
        `[server]\nport = 0\ndemo = true\n${settings}\n[store]\npath = ${JSON.stringify(path)}`,
        { storeRetryMs: 20 },
      );
    const ask = async (url: string, bearer?: string) => {
      const { status, headers, body } = await createKeyClient(url, bearer ?? "none").request(
        "POST",
        "/v1/responses",
        { model: "demo/clean", input: "Hello" },
      );
      const { error } = body as { error?: { code: string } | null };
      return [status, error?.code, headers.get("retry-after")];
    };
    return { store, start, ask };
  }

  test("are required by this gateway too, from the first request on", async () => {
    const { store, start, ask } = await startSecondGateway();
    const { key } = await createAccessKey({ name: "ann" }, store);
    const gateway = await start();
    gateway.sentSecrets.add(key);
    expect(await ask(gateway.url)).toEqual([401, "missing_token", null]);
    // Its limits could not be enforced.
    expect(await ask(gateway.url, key)).toEqual([503, "store_unavailable", "5"]);
    expect(await ask(gateway.url, gateway.localToken)).toEqual([200, undefined, null]);
    await store.close();
    await waitUntil(
      "the key is accepted",
      async () => (await ask(gateway.url, key))[0] === 200,
      5000,
    );
  });

  test("are required within two seconds after the first one was created, and not after the last was removed", async () => {
    const { store, start, ask } = await startSecondGateway();
    const { url } = await start();
    expect(await ask(url)).toEqual([200, undefined, null]);
    const { id } = await createAccessKey({ name: "ann" }, store);
    await waitUntil("a key is required", async () => (await ask(url))[0] === 401, 5000);
    await revokeAccessKey("ann", store);
    await store.removeAccessKey(id);
    await waitUntil("no key is required", async () => (await ask(url))[0] === 200, 5000);
    await store.close();
  });

  test("do not affect tokens of the configuration", async () => {
    const { store, start, ask } = await startSecondGateway(`tokens = ["${token}"]`);
    await createAccessKey({ name: "ann" }, store);
    const { url } = await start();
    expect(await ask(url, token)).toEqual([200, undefined, null]);
    expect(await ask(url)).toEqual([401, "missing_token", null]);
    await store.close();
  });
});

describe("a store that cannot be read", () => {
  const start = (path: string, settings = "") =>
    testGateway(
      `[server]\nport = 0\ndemo = true\n${settings}\n[store]\npath = ${JSON.stringify(path)}`,
    );
  const listModels = async (url: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${url}/v1/models`, { headers });
    const { error } = (await response.json()) as { error?: { code: string; message: string } };
    return [response.status, response.headers.get("retry-after"), error?.code, error?.message];
  };

  test("may contain access keys, so that only tokens of the configuration are accepted", async () => {
    const path = join(await createTestFolder(), "tasks.db");
    await writeFile(path, "no database".repeat(1000));
    const { url } = await start(path);
    const message =
      "the store cannot be read, so it is unknown whether requests need an access key; try again, or send a token of the configuration";
    expect(await listModels(url)).toEqual([503, "5", "store_unavailable", message]);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    const token = "token-of-the-configuration-0123456789";
    const withToken = await start(path, `tokens = ["${token}"]`);
    const headers = { authorization: `Bearer ${token}` };
    expect((await listModels(withToken.url, headers))[0]).toBe(200);
  });

  test("contains no keys if it has never been opened", async () => {
    const folder = await createTestFolder();
    const { url, storeProblem } = await start(join(folder, "folder", "tasks.db"));
    expect([storeProblem, (await listModels(url))[0]]).toEqual([undefined, 200]);
    // It cannot be locked.
    await mkdir(join(folder, "tasks.db-lock"));
    const locked = await start(join(folder, "tasks.db"));
    expect(locked.storeProblem).toContain("tasks.db");
    expect((await listModels(locked.url))[0]).toBe(200);
  });
});

describe("a task that cannot be read", () => {
  test("does not affect the others", async () => {
    const folder = await createTestFolder();
    const path = join(folder, "tasks.db");
    const toml = `[server]\nport = 0\ndemo = true\n[store]\npath = ${JSON.stringify(path)}`;
    const first = await testGateway(toml);
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
    const second = await testGateway(toml);
    expect((await start(second.url)).status).toBe(201);
    await waitUntil("the failure is logged", () =>
      second.lines.some((line) => line.includes(`could not resume task ${id}`)),
    );
  });
});

test("the state of an ended task is stored, so that its log is not reduced again", async () => {
  const store = await openStore({ path: ":memory:" });
  const gateway = await testGateway("[server]\nport = 0\ndemo = true\n", { store });
  const body = JSON.stringify({ agent: "demo-agent", input: "Hello" });
  const started = await fetch(`${gateway.url}/api/tasks`, { method: "POST", body });
  const { task_id: id } = (await started.json()) as { task_id: string };
  await waitUntil("the snapshot", async () => (await store.snapshot(id)) !== undefined);
  const snapshot = await store.snapshot(id);
  expect(snapshot?.as_of).toBe((await store.head(id))?.head);
  expect(snapshot?.json).toContain('"status":"completed"');
});

describe("the task of an agent that was used as a model", () => {
  test("continues after a restart of the gateway, and answers the same request", async () => {
    const folder = await createTestFolder();
    const toml = `[server]\nport = 0\ndrain_seconds = 0.05\ndemo = true\n[store]\npath = ${JSON.stringify(join(folder, "tasks.db"))}`;
    const first = await testGateway(toml);
    const requestBody = { model: "demo-agent", stream: true, input: "ask forecaster about Paris" };
    const reply = await first.post("/responses", requestBody);
    const id = reply.headers.get("x-deltawire-task");
    reply.text().catch(() => undefined);
    await first.drain();
    const second = await testGateway(toml);
    const repeated = await second.post("/responses", { ...requestBody, stream: false });
    expect(repeated.headers.get("x-deltawire-task")).toBe(id);
    expect(await repeated.json()).toMatchObject({ status: "completed" });
  });
});

describe("a task", () => {
  test("is logged when it starts and ends, and contains its request with include=task", async () => {
    const { gateway } = await scriptedAgentFixture([callClock, answerText("It is noon.")]);
    const started = await fetch(`${gateway.url}/api/tasks`, {
      method: "POST",
      body: JSON.stringify({ agent: "clerk", input: "What time is it?" }),
    });
    const { task_id: id } = (await started.json()) as { task_id: string };
    const ended = () =>
      gateway.lines
        .map((line) => JSON.parse(line) as { msg: string; task?: string; status?: string })
        .filter(({ msg, task }) => msg === "task" && task === id);
    await waitUntil("the end is in the log", () => ended().at(-1)?.status === "completed");
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

  test("may call every other agent if its request allows that", async () => {
    const { gateway, upstream } = await scriptedAgentFixture([answerText("Hello.")]);
    await fetch(`${gateway.url}/api/tasks`, {
      method: "POST",
      body: JSON.stringify({ agent: "aide", input: "Hello", tool_groups: ["agents"] }),
    });
    await waitUntil("the model gets the request", () => upstream.requests.length === 1);
    const tools = (upstream.requests[0]?.body["tools"] ?? []) as { function: { name: string } }[];
    expect(tools.map((tool) => tool.function.name)).toContain("ask_for_help");
    expect(JSON.stringify(tools)).toContain('"enum":["clerk"]');
  });
});
