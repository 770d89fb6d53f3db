import { describe, expect, test } from "vitest";
import { scene, until } from "./scene.ts";
import { says } from "./scripted-upstream.ts";

/* Options of tasks, by the requests that came to an upstream. */

const toml = `
[agents.helper]
model = "up/m"
instructions = "Help."
options = { temperature = 0.2, top_k = 5, metadata = { a = "1" } }
`;

async function sentFor(body: object) {
  const { gateway, upstream } = await scene((_request, response) => says(response, "Yes."), {
    upstream: { models: ["m"] },
    toml,
  });
  const reply = await fetch(`${gateway.url}/api/tasks`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ input: "Go", ...body }),
  });
  expect(reply.status).toBe(201);
  await until("the upstream is asked", () => upstream.requests.length > 0);
  return upstream.requests[0]?.body;
}

describe("a task", () => {
  test("of a configured agent is asked with the options of the agent", async () => {
    const body = await sentFor({ agent: "helper" });
    expect(body).toMatchObject({ temperature: 0.2, top_k: 5, metadata: { a: "1" } });
  });

  test("has options of its own over those of the agent, and null takes one out", async () => {
    const options = { temperature: 0.9, top_k: null, metadata: { b: "2" }, enable_thinking: true };
    const body = await sentFor({ agent: "helper", options });
    expect(body).toMatchObject({
      temperature: 0.9,
      metadata: { a: "1", b: "2" },
      enable_thinking: true,
    });
    expect(body).not.toHaveProperty("top_k");
  });

  test("of a model has the options of its request", async () => {
    const body = await sentFor({ model: "up/m", options: { max_output_tokens: 9 } });
    expect(body).toMatchObject({ max_tokens: 9 });
  });
});
