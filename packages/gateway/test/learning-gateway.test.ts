import { expect, test } from "vitest";
import { helloChat, hello, scene } from "./scene.ts";
import { refuse, says } from "./scripted-upstream.ts";
import type { Received } from "./scripted-upstream.ts";

const roles = ({ body }: Received): unknown[] =>
  (body["messages"] as { role: string }[]).map(({ role }) => role);

const refusesLateSystem = (request: Received): boolean => roles(request).lastIndexOf("system") > 0;

const conversation = {
  ...hello,
  input: [
    { role: "user", content: "Hello" },
    { role: "developer", content: "Be brief" },
    { role: "user", content: "Go on" },
  ],
};

test("an upstream that refuses for a known reason is asked again with the repair, and the lesson is kept", async () => {
  const { gateway, upstream } = await scene((request, response) => {
    if (refusesLateSystem(request))
      refuse(response, 400, { message: "System message must be at the beginning." });
    else says(response, "fine");
  });
  expect((await gateway.post("/responses", conversation)).status).toBe(200);
  expect(upstream.requests.map(roles)).toEqual([
    ["user", "system", "user"],
    ["system", "user", "user"],
  ]);
  expect((await gateway.post("/responses", conversation)).status).toBe(200);
  expect(upstream.requests).toHaveLength(3);
  expect(JSON.parse(gateway.lines[0] ?? "")).toMatchObject({
    attempts: 2,
    lessons: ["system_first"],
  });
});

test("a lesson holds for its model only, can be seen, and can be forgotten", async () => {
  const { gateway, upstream } = await scene((request, response) => {
    if (refusesLateSystem(request))
      refuse(response, 400, { message: "System message must be at the beginning." });
    else says(response, "fine");
  });
  await gateway.post("/responses", conversation);
  const seen = await fetch(`${gateway.url}/deltawire/lessons`);
  expect(await seen.json()).toMatchObject({
    lessons: [
      {
        upstream: "up",
        model: "m",
        code: "system_first",
        said: "System message must be at the beginning.",
      },
    ],
  });
  await gateway.post("/responses", { ...conversation, model: "up/other" });
  expect(upstream.requests).toHaveLength(4);
  const forgotten = await fetch(`${gateway.url}/deltawire/lessons?upstream=up&model=m`, {
    method: "DELETE",
  });
  expect(((await forgotten.json()) as { lessons: unknown[] }).lessons).toHaveLength(1);
  await gateway.post("/responses", conversation);
  expect(upstream.requests).toHaveLength(6);
});

test("several things can be learned from one request, also for a Chat client", async () => {
  const { gateway, upstream } = await scene(({ body }, response) => {
    if (body["seed"] !== undefined)
      return refuse(response, 400, { message: "Unsupported parameter: 'seed'", param: "seed" });
    if (body["max_tokens"] !== undefined)
      return refuse(response, 400, {
        message:
          "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        param: "max_tokens",
        code: "unsupported_parameter",
      });
    says(response, "fine");
  });
  const response = await gateway.post("/chat/completions", {
    ...helloChat,
    seed: 1,
    max_tokens: 9,
  });
  expect(response.status).toBe(200);
  expect(upstream.requests.at(-1)?.body).toMatchObject({ max_completion_tokens: 9 });
  expect(upstream.requests).toHaveLength(3);
});

test("an upstream that refuses whatever is done is not asked for ever", async () => {
  const { gateway, upstream } = await scene((_request, response) => {
    refuse(response, 400, { message: "System message must be at the beginning." });
  });
  const response = await gateway.post("/responses", conversation);
  expect(response.status).toBe(400);
  expect(upstream.requests.length).toBeLessThan(5);
});

test("a refusal that teaches nothing is told in the provider's words", async () => {
  const { gateway, upstream } = await scene((_request, response) => {
    refuse(response, 422, { message: "your prompt is against our policy" });
  });
  const response = await gateway.post("/responses", hello);
  expect(response.status).toBe(422);
  expect(await response.text()).toContain("against our policy");
  expect(upstream.requests).toHaveLength(1);
});
