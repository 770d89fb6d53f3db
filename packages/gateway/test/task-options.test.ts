import { describe, expect, test } from "vitest";
import { gatewayFixture, waitUntil } from "./gateway-fixture.ts";
import { streamText } from "./scripted-upstream.ts";

/* Options of tasks, as received by an upstream. */

const toml = `
[agents.helper]
model = "up/m"
instructions = "Help."
options = { temperature = 0.2, top_k = 5, metadata = { a = "1" } }
`;

async function runAndGetRequest(body: object) {
  const { gateway, upstream } = await gatewayFixture(
    (_request, response) => streamText(response, "Yes."),
    {
      upstream: { models: ["m"] },
      toml,
    },
  );
  const reply = await fetch(`${gateway.url}/api/tasks`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ input: "Go", ...body }),
  });
  expect(reply.status).toBe(201);
  await waitUntil("the upstream gets the request", () => upstream.requests.length > 0);
  return upstream.requests[0]?.body;
}

describe("a task", () => {
  test("of a configured agent sends the options of the agent", async () => {
    const body = await runAndGetRequest({ agent: "helper" });
    expect(body).toMatchObject({ temperature: 0.2, top_k: 5, metadata: { a: "1" } });
  });

  test("has options that override those of the agent, and null removes one", async () => {
    const options = { temperature: 0.9, top_k: null, metadata: { b: "2" }, enable_thinking: true };
    const body = await runAndGetRequest({ agent: "helper", options });
    expect(body).toMatchObject({
      temperature: 0.9,
      metadata: { a: "1", b: "2" },
      enable_thinking: true,
    });
    expect(body).not.toHaveProperty("top_k");
  });

  test("of a model sends the options of its request", async () => {
    const body = await runAndGetRequest({ model: "up/m", options: { max_output_tokens: 9 } });
    expect(body).toMatchObject({ max_tokens: 9 });
  });
});
