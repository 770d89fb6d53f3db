import type { JsonObject, JsonValue } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { gatewayFixture } from "./gateway-fixture.ts";
import { openConnection } from "./raw-http.ts";
import { readEvents } from "./test-gateway.ts";
import { formatStream, sendJson, sendReply, type ScriptedReply } from "./wire-replies.ts";

/* The HTTP checks of Open Responses (2026-04-24), on both kinds of upstreams. */

const requiredFields =
  "background completed_at created_at error frequency_penalty id incomplete_details instructions max_output_tokens max_tool_calls metadata model object output parallel_tool_calls presence_penalty previous_response_id prompt_cache_key reasoning safety_identifier service_tier status store temperature text tool_choice tools top_logprobs top_p truncation usage".split(
    " ",
  );
const nullableFields = new Set(
  "completed_at error incomplete_details instructions max_output_tokens max_tool_calls previous_response_id prompt_cache_key safety_identifier usage".split(
    " ",
  ),
);

/** Returns the required fields that a response object lacks, or that are null. */
function findMissingFields(response: unknown): string[] {
  const fields = response as JsonObject;
  return requiredFields.filter((name) => {
    const value = fields[name];
    return value === undefined || (value === null && !nullableFields.has(name));
  });
}

const user = (content: JsonValue): JsonObject => ({ type: "message", role: "user", content });
const weather = {
  type: "function",
  name: "get_weather",
  parameters: { type: "object", properties: { location: { type: "string" } } },
};
const image = { type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=" };
const requests: Record<string, JsonObject> = {
  "a text": { input: [user("Say hello.")] },
  "messages with a phase": {
    input: [
      { type: "message", role: "assistant", phase: "commentary", content: "I should answer." },
      { type: "message", role: "assistant", phase: "final_answer", content: "Four." },
      user("Repeat only the number."),
    ],
  },
  "a system message": {
    input: [{ type: "message", role: "system", content: "Rules." }, user("Hi")],
  },
  "a tool": { input: [user("What is the weather?")], tools: [weather] },
  "an image": { input: [user([{ type: "input_text", text: "What is it?" }, image])] },
};
const call = { id: "call_weather1", name: "get_weather", arguments: ["{}"] };
const usage = { input: 3, output: 4 };

describe.each(["chat", "responses"] as const)("on a %s upstream", (speaks) => {
  const reply = ({ tools }: JsonObject): ScriptedReply =>
    tools === undefined ? { text: ["1 ", "2 ", "3"], usage } : { calls: [call], usage };

  test.each(Object.keys(requests))("a request with %s has a complete response", async (title) => {
    const { gateway } = await gatewayFixture(
      ({ body }, response) => sendReply(speaks, response, body, reply(body)),
      { upstream: { speaks } },
    );
    const request = { ...requests[title], model: "up/m" };
    const complete = (await (await gateway.post("/responses", request)).json()) as JsonObject;
    const events = await readEvents(await gateway.post("/responses", { ...request, stream: true }));
    const responses = events.flatMap(({ response }) => (response === undefined ? [] : [response]));
    expect([complete, ...responses].flatMap(findMissingFields)).toEqual([]);
    expect(responses.length).toBeGreaterThan(1);
    const { status, completed_at, output, tools } = complete;
    expect([status, typeof completed_at]).toEqual(["completed", "number"]);
    expect(output).toMatchObject([
      "tools" in request ? { type: "function_call", status: "completed" } : { type: "message" },
    ]);
    const echoed = { ...weather, description: null, strict: null };
    const isEchoedHere = speaks === "chat" && "tools" in request;
    expect(tools).toEqual(isEchoedHere ? [echoed] : []);
  });

  test("no event is split between two chunks of the connection, however the upstream splits them", async () => {
    const { gateway } = await gatewayFixture(
      async (_request, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        const bytes = Buffer.from(formatStream(speaks, reply({})).join(""));
        for (let index = 0; index < bytes.length; index += 97) {
          response.write(bytes.subarray(index, index + 97));
          await new Promise((resolve) => setImmediate(resolve));
        }
        response.end();
      },
      { upstream: { speaks } },
    );
    const body = JSON.stringify({ model: "up/m", input: "Hi", stream: true });
    const { socket, received, ended } = await openConnection(gateway.url);
    socket.write(
      `POST /v1/responses HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await ended;
    const [, encoded = ""] = received().split(/\r\n\r\n([^]*)/);
    const chunks = encoded.split(/[\da-f]+\r\n([^]*?)\r\n(?=[\da-f]+\r\n)/).filter(Boolean);
    const contents = chunks.filter((chunk) => !chunk.startsWith("0\r\n"));
    expect(contents.length).toBeGreaterThan(3);
    for (const chunk of contents) expect(chunk).toMatch(/^(?:event|data): [^]*\n\n$/);
  });
});

test.each([{}, { model: null }, { model: "" }])(
  "a request without a model is a 400: %j",
  async (fields) => {
    const { gateway } = await gatewayFixture((_request, response) => sendJson(response, {}));
    const reply = await gateway.post("/responses", { input: "Hi", ...fields });
    expect(reply.status).toBe(400);
    expect(await reply.json()).toMatchObject({ error: { param: "model" } });
  },
);
