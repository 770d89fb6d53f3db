import { expect, test, vi } from "vitest";
import { getChosenVersion, type Chat } from "@deltawire/tasks/chats";
import { upstreamToml, type TestGateway } from "./test-gateway.ts";
import { testGateway, testUpstream } from "./gateway-fixture.ts";
import { sendError, streamText } from "./scripted-upstream.ts";

/* Tasks and chats while their upstream is unavailable: they retry, show that, and eventually fail. */

vi.setConfig({ testTimeout: 60_000 });

interface TaskBody {
  status: string;
  retry?: { attempt: number; message: string; retry_in_ms: number; failed_at: string };
  error?: { code: string; message: string };
}

async function json<Body>(gateway: TestGateway, path: string, body?: object): Promise<Body> {
  const post = body && { method: "POST", body: JSON.stringify(body) };
  return (await (await fetch(gateway.url + path, post)).json()) as Body;
}

const fetchTask = (gateway: TestGateway, id: string) => json<TaskBody>(gateway, `/api/tasks/${id}`);

async function runTask(gateway: TestGateway, model: string) {
  const { chat } = await json<{ chat: Chat }>(gateway, "/api/chats", { settings: { model } });
  const path = `/api/chats/${chat.chat_id}`;
  const { task_id: taskId } = await json<{ task_id: string }>(gateway, `${path}/send`, {
    text: "Hello",
  });
  const status = async (): Promise<string | undefined> => {
    const { chat: now } = await json<{ chat: Chat }>(gateway, path);
    const node = Object.values(now.nodes).find(({ kind }) => kind === "answer");
    return node?.kind === "answer" ? getChosenVersion(node).status : undefined;
  };
  return { taskId, status };
}

test("with an unavailable upstream, a task reports attempt, cause and wait, then fails within its time limit", async () => {
  const gateway = await testGateway(
    `[server]\nport = 0\n[chats]\nretry_seconds = 3\n${upstreamToml("dead", "http://127.0.0.1:9/v1")}`,
  );
  const startedAt = performance.now();
  const { taskId, status } = await runTask(gateway, "dead/m");
  const retryingTask = await vi.waitFor(
    async () => {
      const body = await fetchTask(gateway, taskId);
      expect(body.retry?.attempt).toBeGreaterThan(1);
      return body;
    },
    { timeout: 20_000, interval: 50 },
  );
  expect(retryingTask.retry).toMatchObject({
    message: expect.stringContaining("dead"),
    retry_in_ms: expect.any(Number),
    failed_at: expect.stringMatching(/^\d{4}-/),
  });
  await vi.waitFor(async () => expect(await status()).toBe("error"), {
    timeout: 40_000,
    interval: 100,
  });
  // Not immediately, and much earlier than after ten minutes.
  expect(performance.now() - startedAt).toBeGreaterThan(2_000);
  const ended = await fetchTask(gateway, taskId);
  expect(ended).not.toHaveProperty("retry");
  expect(ended.error?.message).toMatch(/dead/);
});

test("a failed chat names the error of the upstream, not the pause of the gateway, as the cause", async () => {
  const gateway = await testGateway(
    `[server]\nport = 0\n[chats]\nretry_seconds = 1\n${upstreamToml("gone", "http://127.0.0.1:9/v1")}`,
  );
  const hello = { model: "gone/m", input: "Hello" };
  for (let round = 0; round < 5; round += 1) await gateway.post("/responses", hello);
  expect((await gateway.post("/responses", hello)).status).toBe(503);
  const { taskId, status } = await runTask(gateway, "gone/m");
  await vi.waitFor(async () => expect(await status()).toBe("error"), {
    timeout: 40_000,
    interval: 100,
  });
  const { error } = await fetchTask(gateway, taskId);
  expect(error?.message).toMatch(
    /^upstream "gone" at http:\S+ cannot be reached: .*refused.* \(upstream "gone" is paused for \d+ s after repeated failures\)$/,
  );
});

test("an upstream that sends a web page is not retried, and base_url is named as the likely cause", async () => {
  const upstream = await testUpstream((_request, response) => {
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
    response.end("<!doctype html><title>A router</title>");
  });
  const gateway = await testGateway(
    `[server]\nport = 0\n[chats]\ntitles = false\n${upstreamToml("html", upstream.url)}`,
  );
  const { taskId, status } = await runTask(gateway, "html/m");
  await vi.waitFor(async () => expect(await status()).toBe("error"), {
    timeout: 20_000,
    interval: 50,
  });
  expect((await fetchTask(gateway, taskId)).error).toMatchObject({
    code: "upstream_web_page",
    message:
      'upstream "html" answered with a web page (text/html) instead of JSON; is base_url right? The page starts with: <!doctype html><title>A router</title>',
  });
  expect(upstream.requests).toHaveLength(1);
});

test("an upstream that recovers within the time limit answers, and the retries leave no trace", async () => {
  let failures = 0;
  const upstream = await testUpstream((_request, response) => {
    failures += 1;
    if (failures <= 4) sendError(response, 503, { message: "starting" });
    else streamText(response, "Back.");
  });
  const gateway = await testGateway(
    `[server]\nport = 0\n[chats]\ntitles = false\n${upstreamToml("up", upstream.url)}`,
  );
  const { taskId, status } = await runTask(gateway, "up/m");
  await vi.waitFor(async () => expect(await status()).toBe("completed"), {
    timeout: 40_000,
    interval: 100,
  });
  expect(await fetchTask(gateway, taskId)).not.toHaveProperty("retry");
});

test("retry_seconds = 0 fails at the first failure", async () => {
  const gateway = await testGateway(
    `[server]\nport = 0\n[chats]\nretry_seconds = 0\n${upstreamToml("dead", "http://127.0.0.1:9/v1")}`,
  );
  const { taskId, status } = await runTask(gateway, "dead/m");
  await vi.waitFor(async () => expect(await status()).toBe("error"), {
    timeout: 20_000,
    interval: 50,
  });
  const events = await (await fetch(`${gateway.url}/api/tasks/${taskId}/events`)).text();
  expect(events).not.toContain("model_retry_scheduled");
});
