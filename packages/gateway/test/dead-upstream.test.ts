import { expect, test, vi } from "vitest";
import { chosenVersion, type Chat } from "@deltawire/tasks/chats";
import { upstreamToml, type TestGateway } from "./running-gateway.ts";
import { aGateway, anUpstream } from "./scene.ts";
import { refuse, says } from "./scripted-upstream.ts";

/* What a chat does while its upstream is away: it asks again, shows that it does, and gives up. */

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

const task = (gateway: TestGateway, id: string) => json<TaskBody>(gateway, `/api/tasks/${id}`);

async function asked(gateway: TestGateway, model: string) {
  const { chat } = await json<{ chat: Chat }>(gateway, "/api/chats", { settings: { model } });
  const path = `/api/chats/${chat.chat_id}`;
  const { task_id: taskId } = await json<{ task_id: string }>(gateway, `${path}/send`, {
    text: "Hello",
  });
  const status = async (): Promise<string | undefined> => {
    const { chat: now } = await json<{ chat: Chat }>(gateway, path);
    const node = Object.values(now.nodes).find(({ kind }) => kind === "answer");
    return node?.kind === "answer" ? chosenVersion(node).status : undefined;
  };
  return { taskId, status };
}

test("a dead upstream: the task says attempt, cause and wait, then fails within the time set", async () => {
  const gateway = await aGateway(
    `[server]\nport = 0\n[chats]\nretry_seconds = 3\n${upstreamToml("dead", "http://127.0.0.1:9/v1")}`,
  );
  const began = performance.now();
  const { taskId, status } = await asked(gateway, "dead/m");
  const seen = await vi.waitFor(
    async () => {
      const body = await task(gateway, taskId);
      expect(body.retry?.attempt).toBeGreaterThan(1);
      return body;
    },
    { timeout: 20_000, interval: 50 },
  );
  expect(seen.retry).toMatchObject({
    message: expect.stringContaining("dead"),
    retry_in_ms: expect.any(Number),
    failed_at: expect.stringMatching(/^\d{4}-/),
  });
  await vi.waitFor(async () => expect(await status()).toBe("error"), {
    timeout: 40_000,
    interval: 100,
  });
  // Not at once, and nothing like ten minutes.
  expect(performance.now() - began).toBeGreaterThan(2_000);
  const ended = await task(gateway, taskId);
  expect(ended).not.toHaveProperty("retry");
  expect(ended.error?.message).toMatch(/dead/);
});

test("a pause of the gateway's is not what a chat that gives up names as the cause", async () => {
  const gateway = await aGateway(
    `[server]\nport = 0\n[chats]\nretry_seconds = 1\n${upstreamToml("gone", "http://127.0.0.1:9/v1")}`,
  );
  const hello = { model: "gone/m", input: "Hello" };
  for (let round = 0; round < 5; round += 1) await gateway.post("/responses", hello);
  expect((await gateway.post("/responses", hello)).status).toBe(503);
  const { taskId, status } = await asked(gateway, "gone/m");
  await vi.waitFor(async () => expect(await status()).toBe("error"), {
    timeout: 40_000,
    interval: 100,
  });
  const { error } = await task(gateway, taskId);
  expect(error?.message).toMatch(
    /^upstream "gone" at http:\S+ cannot be reached: .*refused.* \(upstream "gone" is paused for \d+ s after repeated failures\)$/,
  );
});

test("an upstream that answers a web page is not asked again, and the address is named as the likely cause", async () => {
  const upstream = await anUpstream((_request, response) => {
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
    response.end("<!doctype html><title>A router</title>");
  });
  const gateway = await aGateway(
    `[server]\nport = 0\n[chats]\ntitles = false\n${upstreamToml("html", upstream.url)}`,
  );
  const { taskId, status } = await asked(gateway, "html/m");
  await vi.waitFor(async () => expect(await status()).toBe("error"), {
    timeout: 20_000,
    interval: 50,
  });
  expect((await task(gateway, taskId)).error).toMatchObject({
    code: "upstream_web_page",
    message:
      'upstream "html" answered a web page (text/html), not an API; is base_url right? It begins: <!doctype html><title>A router</title>',
  });
  expect(upstream.requests).toHaveLength(1);
});

test("an upstream that comes back within the time answers, and nothing is left of the retries", async () => {
  let failures = 0;
  const upstream = await anUpstream((_request, response) => {
    failures += 1;
    if (failures <= 4) refuse(response, 503, { message: "starting" });
    else says(response, "Back.");
  });
  const gateway = await aGateway(
    `[server]\nport = 0\n[chats]\ntitles = false\n${upstreamToml("up", upstream.url)}`,
  );
  const { taskId, status } = await asked(gateway, "up/m");
  await vi.waitFor(async () => expect(await status()).toBe("completed"), {
    timeout: 40_000,
    interval: 100,
  });
  expect(await task(gateway, taskId)).not.toHaveProperty("retry");
});

test("retry_seconds = 0 gives up at the first failure", async () => {
  const gateway = await aGateway(
    `[server]\nport = 0\n[chats]\nretry_seconds = 0\n${upstreamToml("dead", "http://127.0.0.1:9/v1")}`,
  );
  const { taskId, status } = await asked(gateway, "dead/m");
  await vi.waitFor(async () => expect(await status()).toBe("error"), {
    timeout: 20_000,
    interval: 50,
  });
  const events = await (await fetch(`${gateway.url}/api/tasks/${taskId}/events`)).text();
  expect(events).not.toContain("model_asked_again");
});
