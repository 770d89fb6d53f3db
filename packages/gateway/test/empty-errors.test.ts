import type { JsonValue } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { hello, helloChat, gatewayFixture } from "./gateway-fixture.ts";
import { beginStream, chatChunk, formatEvent } from "./scripted-upstream.ts";
import { formatNamedEvent, sendJson, formatStream, buildReply } from "./wire-replies.ts";

const empty: JsonValue[] = ["", " ", false, 0, null, {}, [], { code: 0, message: "" }, [null]];
const meaningful: JsonValue[] = ["broken", true, 7, { message: "broken" }, ["broken"], { code: 1 }];
const wires = [
  ["chat", "/chat/completions"],
  ["chat", "/responses"],
  ["responses", "/chat/completions"],
  ["responses", "/responses"],
] as const;

/** Requests a good reply that has this value wherever an error may be, several times. Returns the last reply. */
async function requestRepeatedly(
  speaks: "chat" | "responses",
  path: string,
  error: JsonValue,
  stream: boolean,
): Promise<{ status: number; text: string; circuit: string | undefined }> {
  const { gateway } = await gatewayFixture(
    ({ body }, response) => {
      if (body["stream"] !== true) {
        const goodReply = buildReply(speaks, { text: ["Good", "bye"] });
        return sendJson(response, { ...goodReply, error });
      }
      beginStream(response);
      if (speaks === "chat") {
        for (const content of ["Good", "bye"]) {
          const { choices, ...rest } = chatChunk({ content });
          const [choice] = choices as object[];
          response.write(formatEvent({ error, ...rest, choices: [{ ...choice, error }] }));
        }
        response.write(formatEvent({ ...chatChunk({}, "stop"), error }));
        return void response.end(formatEvent("[DONE]"));
      }
      for (const text of formatStream("responses", { text: ["Good", "bye"] })) {
        const data = JSON.parse(text.slice(text.indexOf("data: ") + 6)) as { response?: object };
        const within = data.response === undefined ? {} : { response: { ...data.response, error } };
        response.write(formatNamedEvent({ ...data, error, ...within } as never));
      }
      response.end();
    },
    { upstream: { speaks, retries: 0 } },
  );
  const body = path === "/responses" ? hello : helloChat;
  let last = { status: 0, text: "" };
  // Five failures would pause the model.
  for (let nth = 0; nth < 6; nth += 1) {
    const reply = await gateway.post(path, { ...body, stream });
    last = { status: reply.status, text: await reply.text() };
  }
  return { ...last, circuit: gateway.relay.upstreams.get("up")?.health.state };
}

describe.each(wires)("a %s upstream, requested on %s", (speaks, path) => {
  test.each(empty)("an error of %j in a good reply is ignored", async (error) => {
    for (const stream of [true, false]) {
      const { status, text, circuit } = await requestRepeatedly(speaks, path, error, stream);
      expect([status, circuit]).toEqual([200, "closed"]);
      expect(text).toMatch(stream ? /Good[^]*bye[^]*(?:\[DONE\]|response\.completed)/ : /Goodbye/);
      expect(text).not.toMatch(/response\.failed|"error":(?!null)/);
    }
  });
});

describe.each(wires.slice(0, 2))("a %s upstream, requested on %s", (speaks, path) => {
  test.each(meaningful)("an error of %j makes the reply fail", async (error) => {
    const { text } = await requestRepeatedly(speaks, path, error, true);
    expect(text).toMatch(/"error":\s*[{"]|response\.failed/);
  });
});

test.each([{}, [], { message: "" }])(
  "a chunk that contains only an error of %j makes the request fail",
  async (error) => {
    const { gateway } = await gatewayFixture(
      (_request, response) => {
        beginStream(response);
        response.end(formatEvent({ error }));
      },
      { upstream: { retries: 0 } },
    );
    expect((await gateway.post("/chat/completions", helloChat)).status).toBe(502);
  },
);
