import { expect, onTestFinished, test, vi } from "vitest";
import { upstreamToml, type TestGateway } from "./running-gateway.ts";
import { aGateway, anUpstream, helloChat, until } from "./scene.ts";
import { refuse, says, type Script } from "./scripted-upstream.ts";
import { sendJson } from "./wire-replies.ts";

/* What GET /deltawire/upstreams, the log and errors say of an upstream, by what its last requests came to. */

interface Status {
  name: string;
  models: string[];
  key_problem?: string;
  last_good_at?: string;
  last_bad_at?: string;
  last_problem?: string;
  failing_models: { model: string; last_problem: string; last_bad_at: string }[];
}

async function status({ url }: TestGateway): Promise<Status> {
  const { upstreams } = (await (await fetch(`${url}/deltawire/upstreams`)).json()) as {
    upstreams: Status[];
  };
  const [first] = upstreams;
  if (first === undefined) throw new Error("no upstream");
  return first;
}

const key = "sk-of-the-upstream-0123456789";

async function staged(script: Script) {
  const upstream = await anUpstream(script);
  const gateway = await aGateway(
    `[server]\nport = 0\n${upstreamToml("up", upstream.url, { api_key: key, models: ["m", "other"], retries: 0 })}`,
  );
  const ask = (model = "m", more = {}) =>
    gateway.post("/chat/completions", { ...helloChat, model, ...more });
  return { gateway, ask };
}

test("a key that is rejected after a success is told with the provider's words, without the key", async () => {
  let isRevoked = false;
  const { gateway, ask } = await staged((_request, response) => {
    if (isRevoked) refuse(response, 401, { message: `Key ${key} has been revoked` });
    else says(response, "Hello.");
  });
  await ask();
  const before = await status(gateway);
  expect(before).not.toHaveProperty("key_problem");
  isRevoked = true;
  expect((await ask()).status).toBe(401);
  const after = await status(gateway);
  expect(after.key_problem).toMatch(/refused its key \(401\).*has been revoked/);
  expect(after.last_good_at).toBe(before.last_good_at);
  expect(JSON.stringify(after)).not.toContain(key);
  isRevoked = false;
  await ask();
  expect(await status(gateway)).toMatchObject({ failing_models: [] });
  expect(await status(gateway)).not.toHaveProperty("key_problem");
});

test("a key that is rejected when the models are listed again is told, also after a success", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: new Date("2026-03-01T08:00:00Z") });
  onTestFinished(() => void vi.useRealTimers());
  let isRevoked = false;
  const upstream = await anUpstream((_request, response) => says(response, "Hello."), {
    listModels(response) {
      if (isRevoked) refuse(response, 401, { message: "this key has been revoked" });
      else sendJson(response, { data: [{ id: "m" }] });
    },
  });
  const gateway = await aGateway(
    `[server]\nport = 0\n${upstreamToml("up", upstream.url, { api_key: key })}`,
  );
  await until("its models are known", async () => (await status(gateway)).models.length > 0);
  await gateway.post("/chat/completions", { ...helloChat, model: "up/m" });
  isRevoked = true;
  vi.setSystemTime(new Date("2026-03-01T08:10:00Z"));
  await until("its key is rejected", async () => (await status(gateway)).key_problem !== undefined);
  expect((await status(gateway)).key_problem).toContain("this key has been revoked");
});

test("a model that fails while another works is told by its name", async () => {
  const { gateway, ask } = await staged(({ body }, response) => {
    if (body["model"] === "other") refuse(response, 403, { message: "no access to other" });
    else says(response, "Hello.");
  });
  await ask("other");
  expect((await status(gateway)).key_problem).toContain("no access to other");
  await ask("m");
  const after = await status(gateway);
  expect(after).not.toHaveProperty("key_problem");
  expect(after.failing_models).toEqual([
    {
      model: "other",
      last_problem: expect.stringContaining("no access to other"),
      last_bad_at: expect.stringMatching(/^\d{4}-/),
    },
  ]);
});

test("an error in a stream with the status 200 is no good reply, and a warning in the log", async () => {
  const { gateway, ask } = await staged((_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end('data: {"error": {"message": "out of memory", "code": 500}}\n\n');
  });
  await ask("m", { stream: true });
  const after = await status(gateway);
  expect(after).not.toHaveProperty("last_good_at");
  expect(after.last_problem).toContain("out of memory");
});

test("a stream that fails after its beginning is no good reply, and a warning in the log", async () => {
  const { gateway, ask } = await staged((_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write('data: {"choices": [{"index": 0, "delta": {"content": "Hel"}}]}\n\n');
    response.end('data: {"error": {"message": "out of memory", "type": "server_error"}}\n\n');
  });
  const reply = await ask("m", { stream: true });
  expect(reply.status).toBe(200);
  await reply.text();
  await expect.poll(async () => (await status(gateway)).last_problem).toContain("out of memory");
  expect(await status(gateway)).not.toHaveProperty("last_good_at");
  const lines = gateway.lines.map((line) => JSON.parse(line) as { msg: string; path?: string });
  expect(lines.find(({ path }) => path === "/v1/chat/completions")).toMatchObject({
    status: 200,
    level: 40,
  });
});

test("a request that was wrong says nothing of the upstream", async () => {
  const { gateway, ask } = await staged((_request, response) =>
    refuse(response, 422, { message: "temperature is too hot" }),
  );
  await ask();
  const after = await status(gateway);
  expect(after).toMatchObject({ failing_models: [] });
  for (const field of ["last_good_at", "last_bad_at", "key_problem"])
    expect(after).not.toHaveProperty(field);
});

test("a model that the upstream does not have is answered with the one that was meant", async () => {
  const { gateway, ask } = await staged((_request, response) =>
    refuse(response, 404, { message: "no such model" }),
  );
  const reply = await ask("up/othr");
  expect(reply.status).toBe(404);
  const { error } = (await reply.json()) as { error: { message: string } };
  expect(error.message).toMatch(/^did you mean up\/other\? .*no such model$/);
  const one = await fetch(`${gateway.url}/v1/models/up%2Fothr`);
  expect(one.status).toBe(404);
  expect(await one.text()).toContain("did you mean up/other?");
});

test("the demo names ten of its models at the most, behind the one that was meant", async () => {
  const gateway = await aGateway("[server]\nport = 0\ndemo = true\n");
  await (await fetch(`${gateway.url}/v1/models`)).text();
  const reply = await gateway.post("/responses", { model: "demo/cleann", input: "Hello" });
  const { error } = (await reply.json()) as { error: { message: string } };
  expect(error.message).toMatch(
    /^did you mean demo\/clean\? .* The demo has: [^,]+(?:, [^, ]+){9}, and \d+ more: npm start -- models$/,
  );
});
