import { expect, onTestFinished, test, vi } from "vitest";
import { upstreamToml, type TestGateway } from "./test-gateway.ts";
import { testGateway, testUpstream, helloChat, waitUntil } from "./gateway-fixture.ts";
import { sendError, streamText, type UpstreamScript } from "./scripted-upstream.ts";
import { sendJson } from "./wire-replies.ts";

/* What GET /deltawire/upstreams, the log and errors report about an upstream after its last requests. */

interface Status {
  name: string;
  models: string[];
  key_error?: string;
  last_success_at?: string;
  last_failure_at?: string;
  last_error?: string;
  failing_models: { model: string; last_error: string; last_failure_at: string }[];
}

async function fetchStatus({ url }: TestGateway): Promise<Status> {
  const { upstreams } = (await (await fetch(`${url}/deltawire/upstreams`)).json()) as {
    upstreams: Status[];
  };
  const [first] = upstreams;
  if (first === undefined) throw new Error("no upstream");
  return first;
}

const key = "sk-of-the-upstream-0123456789";

async function statusFixture(script: UpstreamScript) {
  const upstream = await testUpstream(script);
  const gateway = await testGateway(
    `[server]\nport = 0\n${upstreamToml("up", upstream.url, { api_key: key, models: ["m", "other"], retries: 0 })}`,
  );
  const sendRequest = (model = "m", overrides = {}) =>
    gateway.post("/chat/completions", { ...helloChat, model, ...overrides });
  return { gateway, sendRequest };
}

test("a key that is rejected after a success is reported with the provider's message, without the key", async () => {
  let isRevoked = false;
  const { gateway, sendRequest } = await statusFixture((_request, response) => {
    if (isRevoked) sendError(response, 401, { message: `Key ${key} has been revoked` });
    else streamText(response, "Hello.");
  });
  await sendRequest();
  const before = await fetchStatus(gateway);
  expect(before).not.toHaveProperty("key_error");
  isRevoked = true;
  expect((await sendRequest()).status).toBe(401);
  const after = await fetchStatus(gateway);
  expect(after.key_error).toMatch(/rejected the key \(401\).*has been revoked/);
  expect(after.last_success_at).toBe(before.last_success_at);
  expect(JSON.stringify(after)).not.toContain(key);
  isRevoked = false;
  await sendRequest();
  expect(await fetchStatus(gateway)).toMatchObject({ failing_models: [] });
  expect(await fetchStatus(gateway)).not.toHaveProperty("key_error");
});

test("a key that is rejected when the models are listed again is reported, even after a success", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: new Date("2026-03-01T08:00:00Z") });
  onTestFinished(() => void vi.useRealTimers());
  let isRevoked = false;
  const upstream = await testUpstream((_request, response) => streamText(response, "Hello."), {
    listModels(response) {
      if (isRevoked) sendError(response, 401, { message: "this key has been revoked" });
      else sendJson(response, { data: [{ id: "m" }] });
    },
  });
  const gateway = await testGateway(
    `[server]\nport = 0\n${upstreamToml("up", upstream.url, { api_key: key })}`,
  );
  await waitUntil(
    "its models are known",
    async () => (await fetchStatus(gateway)).models.length > 0,
  );
  await gateway.post("/chat/completions", { ...helloChat, model: "up/m" });
  isRevoked = true;
  vi.setSystemTime(new Date("2026-03-01T08:10:00Z"));
  await waitUntil(
    "its key is rejected",
    async () => (await fetchStatus(gateway)).key_error !== undefined,
  );
  expect((await fetchStatus(gateway)).key_error).toContain("this key has been revoked");
});

test("a model that fails while another works is reported by name", async () => {
  const { gateway, sendRequest } = await statusFixture(({ body }, response) => {
    if (body["model"] === "other") sendError(response, 403, { message: "no access to other" });
    else streamText(response, "Hello.");
  });
  await sendRequest("other");
  expect((await fetchStatus(gateway)).key_error).toContain("no access to other");
  await sendRequest("m");
  const after = await fetchStatus(gateway);
  expect(after).not.toHaveProperty("key_error");
  expect(after.failing_models).toEqual([
    {
      model: "other",
      last_error: expect.stringContaining("no access to other"),
      last_failure_at: expect.stringMatching(/^\d{4}-/),
    },
  ]);
});

test("an error in a stream with status 200 counts as a failure, and is logged as a warning", async () => {
  const { gateway, sendRequest } = await statusFixture((_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end('data: {"error": {"message": "out of memory", "code": 500}}\n\n');
  });
  await sendRequest("m", { stream: true });
  const after = await fetchStatus(gateway);
  expect(after).not.toHaveProperty("last_success_at");
  expect(after.last_error).toContain("out of memory");
});

test("a stream that fails after its start counts as a failure, and is logged as a warning", async () => {
  const { gateway, sendRequest } = await statusFixture((_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write('data: {"choices": [{"index": 0, "delta": {"content": "Hel"}}]}\n\n');
    response.end('data: {"error": {"message": "out of memory", "type": "server_error"}}\n\n');
  });
  const reply = await sendRequest("m", { stream: true });
  expect(reply.status).toBe(200);
  await reply.text();
  await expect.poll(async () => (await fetchStatus(gateway)).last_error).toContain("out of memory");
  expect(await fetchStatus(gateway)).not.toHaveProperty("last_success_at");
  const lines = gateway.lines.map((line) => JSON.parse(line) as { msg: string; path?: string });
  expect(lines.find(({ path }) => path === "/v1/chat/completions")).toMatchObject({
    status: 200,
    level: 40,
  });
});

test("an invalid request does not affect the upstream's status", async () => {
  const { gateway, sendRequest } = await statusFixture((_request, response) =>
    sendError(response, 422, { message: "temperature is too hot" }),
  );
  await sendRequest();
  const after = await fetchStatus(gateway);
  expect(after).toMatchObject({ failing_models: [] });
  for (const field of ["last_success_at", "last_failure_at", "key_error"])
    expect(after).not.toHaveProperty(field);
});

test("a request for a model that the upstream does not have gets a suggestion", async () => {
  const { gateway, sendRequest } = await statusFixture((_request, response) =>
    sendError(response, 404, { message: "no such model" }),
  );
  const reply = await sendRequest("up/othr");
  expect(reply.status).toBe(404);
  const { error } = (await reply.json()) as { error: { message: string } };
  expect(error.message).toMatch(/no such model \(did you mean up\/other\?\)$/);
  const one = await fetch(`${gateway.url}/v1/models/up%2Fothr`);
  expect(one.status).toBe(404);
  expect(await one.text()).toContain("did you mean up/other?");
});

test("the demo suggests at most ten models, after the closest one", async () => {
  const gateway = await testGateway("[server]\nport = 0\ndemo = true\n");
  await (await fetch(`${gateway.url}/v1/models`)).text();
  const reply = await gateway.post("/responses", { model: "demo/cleann", input: "Hello" });
  const { error } = (await reply.json()) as { error: { message: string } };
  expect(error.message).toMatch(
    /The demo has: [^,]+(?:, [^, ]+){9}, and \d+ more; GET \/v1\/models lists all\. \(did you mean demo\/clean\?\)$/,
  );
});
