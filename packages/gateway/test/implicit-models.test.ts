import type { JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { readEvents } from "./test-gateway.ts";
import { gatewayFixture } from "./gateway-fixture.ts";
import { beginStream } from "./scripted-upstream.ts";
import { sendJson, formatStream, buildReply } from "./wire-replies.ts";

/* An upstream without model names in its replies: the client receives the name that it requested. */

const requests = {
  chat: { model: "up/m", messages: [{ role: "user", content: "Go" }] },
  responses: { model: "up/m", input: "Go" },
  messages: { model: "up/m", max_tokens: 100, messages: [{ role: "user", content: "Go" }] },
};
const paths = { chat: "/chat/completions", responses: "/responses", messages: "/messages" };
const wires = ["chat", "responses", "messages"] as const;

/** Returns every `model` in a value, in order. */
function listModels(value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    name === "model" ? [inner] : listModels(inner),
  );
}

describe.each(wires.flatMap((client) => wires.map((speaks) => ({ client, speaks }))))(
  "a $client client on a $speaks upstream",
  ({ client, speaks }) => {
    test.each([
      ["streamed", true, undefined],
      ["streamed, with an empty name", true, ""],
      ["complete", false, undefined],
      ["complete, with an empty name", false, ""],
    ])("receives the requested name, reply: %s", async (_title, stream, model) => {
      const withModel = (text: string) =>
        text.replaceAll('"model":"some-model",', model === undefined ? "" : `"model":"${model}",`);
      const { gateway } = await gatewayFixture(
        (_request, response) => {
          const reply = { reasoning: ["Hm"], text: ["Hi"] };
          if (!stream) {
            const body = withModel(JSON.stringify(buildReply(speaks, reply)));
            return sendJson(response, JSON.parse(body) as JsonObject);
          }
          beginStream(response);
          for (const each of formatStream(speaks, reply)) response.write(withModel(each));
          response.end();
        },
        { upstream: { speaks } },
      );
      const response = await gateway.post(paths[client], { ...requests[client], stream });
      expect(response.status).toBe(200);
      const models = listModels(stream ? await readEvents(response) : await response.json());
      expect(models.length).toBeGreaterThan(0);
      expect([...new Set(models)]).toEqual(["up/m"]);
    });
  },
);
