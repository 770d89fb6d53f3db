import OpenAI from "openai";
import { ResponsesWS } from "openai/resources/responses/ws";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startCodex } from "./codex-fixture.ts";
import { demoFixture, type DemoFixture } from "./demo-fixture.ts";

let fixture: DemoFixture;

beforeAll(async () => {
  fixture = await demoFixture();
});

afterAll(() => fixture.close());

describe.each(["overChat", "overResponses"] as const)(
  "the openai SDK's WebSocket, %s",
  (upstream) => {
    test("receives a response, and continues it from memory", async () => {
      const client = new OpenAI({ baseURL: `${fixture[upstream].url}/v1`, apiKey: "local" });
      const socket = new ResponsesWS(client);
      const ask = (input: string, previousId?: string): Promise<OpenAI.Responses.Response> =>
        new Promise((resolve, reject) => {
          socket.on("response.completed", (event) => resolve(event.response));
          socket.on("error", reject);
          socket.send({
            type: "response.create",
            model: "clean",
            input,
            store: false,
            ...(previousId === undefined ? {} : { previous_response_id: previousId }),
          });
        });
      const first = await ask("Good morning");
      expect(JSON.stringify(first.output)).toContain("> Good morning");
      const second = await ask("Good evening", first.id);
      expect(second.previous_response_id).toBe(first.id);
      socket.close();
    });
  },
);

test.each(["overChat", "overResponses"] as const)(
  "Codex runs a tool turn over a WebSocket, and continues it, %s",
  async (upstream) => {
    const { lines } = fixture[upstream];
    const codex = await startCodex(fixture[upstream], "clean", {
      provider: "supports_websockets = true",
    });
    const firstLine = lines.length;
    const turn = await codex.exec("run `echo apples`");
    expect(turn.messages.at(-1)).toContain("apples");
    expect(turn.commands).toEqual([expect.objectContaining({ exit_code: 0 })]);
    expect(turn.errors).toEqual([]);
    const next = await codex.resume("run `echo pears`");
    expect([next.messages.at(-1), next.errors]).toEqual([expect.stringContaining("pears"), []]);
    const methods = lines
      .slice(firstLine)
      .map((line) => JSON.parse(line) as { method?: string; path?: string; status?: number })
      .filter(({ path = "" }) => path.endsWith("/responses"));
    expect(methods.length).toBeGreaterThanOrEqual(4);
    expect(methods.filter(({ method, status }) => method !== "WS" || status !== 200)).toEqual([]);
  },
);
