import { expect, test } from "vitest";
import { helloChat, hello, gatewayFixture } from "./gateway-fixture.ts";
import { sendError, streamText } from "./scripted-upstream.ts";
import type { ReceivedRequest } from "./scripted-upstream.ts";

const roles = ({ body }: ReceivedRequest): unknown[] =>
  (body["messages"] as { role: string }[]).map(({ role }) => role);

const rejectsLateSystem = (request: ReceivedRequest): boolean =>
  roles(request).lastIndexOf("system") > 0;

const conversation = {
  ...hello,
  input: [
    { role: "user", content: "Hello" },
    { role: "developer", content: "Be brief" },
    { role: "user", content: "Go on" },
  ],
};

test("a request that is rejected for a known reason is retried with a change, and the lesson is stored", async () => {
  const { gateway, upstream } = await gatewayFixture((request, response) => {
    if (rejectsLateSystem(request))
      sendError(response, 400, { message: "System message must be at the beginning." });
    else streamText(response, "fine");
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

test("a lesson applies only to its model, can be listed, and can be deleted", async () => {
  const { gateway, upstream } = await gatewayFixture((request, response) => {
    if (rejectsLateSystem(request))
      sendError(response, 400, { message: "System message must be at the beginning." });
    else streamText(response, "fine");
  });
  await gateway.post("/responses", conversation);
  const lessonsReply = await fetch(`${gateway.url}/deltawire/lessons`);
  expect(await lessonsReply.json()).toMatchObject({
    lessons: [
      {
        upstream: "up",
        model: "m",
        code: "system_first",
        provider_message: "System message must be at the beginning.",
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

test("one request can teach several lessons, also for a Chat client", async () => {
  const { gateway, upstream } = await gatewayFixture(({ body }, response) => {
    if (body["seed"] !== undefined)
      return sendError(response, 400, { message: "Unsupported parameter: 'seed'", param: "seed" });
    if (body["max_tokens"] !== undefined)
      return sendError(response, 400, {
        message:
          "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        param: "max_tokens",
        code: "unsupported_parameter",
      });
    streamText(response, "fine");
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

test("the number of retries is limited if the upstream rejects every change", async () => {
  const { gateway, upstream } = await gatewayFixture((_request, response) => {
    sendError(response, 400, { message: "System message must be at the beginning." });
  });
  const response = await gateway.post("/responses", conversation);
  expect(response.status).toBe(400);
  expect(upstream.requests.length).toBeLessThan(5);
});

test("an error that teaches no lesson is reported with the provider's message", async () => {
  const { gateway, upstream } = await gatewayFixture((_request, response) => {
    sendError(response, 422, { message: "your prompt is against our policy" });
  });
  const response = await gateway.post("/responses", hello);
  expect(response.status).toBe(422);
  expect(await response.text()).toContain("against our policy");
  expect(upstream.requests).toHaveLength(1);
});
