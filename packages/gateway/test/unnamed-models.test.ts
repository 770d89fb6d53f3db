import type { JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { eventsOf } from "./running-gateway.ts";
import { scene } from "./scene.ts";
import { beginStream } from "./scripted-upstream.ts";
import { sendJson, streamed, wholeReply } from "./wire-replies.ts";

/* An upstream that names no model: the client sees the name that it asked for. */

const requests = {
  chat: { model: "up/m", messages: [{ role: "user", content: "Go" }] },
  responses: { model: "up/m", input: "Go" },
};
const paths = { chat: "/chat/completions", responses: "/responses" };
const wires = ["chat", "responses"] as const;

/** Every `model` in a value, in order. */
function modelsIn(value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    name === "model" ? [inner] : modelsIn(inner),
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
    ])("%s", async (_how, stream, given) => {
      const named = (text: string) =>
        text.replaceAll('"model":"some-model",', given === undefined ? "" : `"model":"${given}",`);
      const { gateway } = await scene(
        (_request, response) => {
          const reply = { reasoning: ["Hm"], text: ["Hi"] };
          if (!stream) {
            const body = named(JSON.stringify(wholeReply(speaks, reply)));
            return sendJson(response, JSON.parse(body) as JsonObject);
          }
          beginStream(response);
          for (const each of streamed(speaks, reply)) response.write(named(each));
          response.end();
        },
        { upstream: { speaks } },
      );
      const response = await gateway.post(paths[client], { ...requests[client], stream });
      expect(response.status).toBe(200);
      const models = modelsIn(stream ? await eventsOf(response) : await response.json());
      expect(models.length).toBeGreaterThan(0);
      expect([...new Set(models)]).toEqual(["up/m"]);
    });
  },
);
