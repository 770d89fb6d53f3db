import type { ServerResponse } from "node:http";
import { fetchModel, ModelError, type RoundNotes } from "@deltawire/agent";
import { afterEach, describe, expect, test } from "vitest";
import { retryAfter } from "../src/model/fetch-model/refusal.ts";
import {
  beginStream,
  chunk,
  event,
  modelServer,
  refuse,
  type ModelServer,
} from "./model-server.ts";

let open: ModelServer | undefined;
afterEach(() => open?.close());

/** What a model tells of its reply, and what it failed with. */
async function notesOf(
  script: (response: ServerResponse) => void,
  enough: (type: unknown) => boolean = () => false,
) {
  open = await modelServer((_asked, response) => script(response));
  const model = fetchModel({ baseUrl: open.url, speaks: "chat" });
  const notes: RoundNotes[] = [];
  let failure: unknown;
  try {
    const { signal } = new AbortController();
    const stream = model.stream({ model: "m", input: "Hello" }, signal, (told) => notes.push(told));
    for await (const batch of stream) if (batch.some((one) => enough(one["type"]))) break;
  } catch (error) {
    failure = error;
  }
  return { notes, failure, url: open.url };
}

const call = { index: 0, id: "call_1", function: { name: "look", arguments: "{}" } };
const mended = (response: ServerResponse): void => {
  beginStream(response);
  response.write(event(chunk({ tool_calls: [call] })));
  response.end(event(chunk({}, "stop")) + event("[DONE]"));
};

describe("a model that is fetched tells once", () => {
  test("what was mended in its reply", async () => {
    const { notes, url } = await notesOf(mended);
    expect(notes).toEqual([
      { repairs: { finish_corrected: 1, usage_estimated: 1 }, upstream: url },
    ]);
  });

  test("also when nobody reads behind the last event", async () => {
    const { notes } = await notesOf(mended, (type) => type === "response.completed");
    expect(notes).toMatchObject([{ repairs: { finish_corrected: 1 } }]);
  });

  test("also when the server refused, and how long it asks to be left alone", async () => {
    const { notes, failure } = await notesOf((response) =>
      refuse(response, 429, { message: "slow" }, { "retry-after": "7" }),
    );
    expect(notes).toHaveLength(1);
    expect(failure).toBeInstanceOf(ModelError);
    expect(failure).toMatchObject({ retryable: true, retryAfterMs: 7000 });
  });
});

test("how long to wait is told in milliseconds, in seconds or as a date", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  const after = (headers: Record<string, string>) => retryAfter(new Headers(headers), now);
  expect(after({ "retry-after-ms": "1500", "retry-after": "9" })).toBe(1500);
  expect(after({ "retry-after": "2" })).toBe(2000);
  expect(after({ "retry-after": "0" })).toBe(0);
  expect(after({ "retry-after": "Thu, 01 Jan 2026 00:01:00 GMT" })).toBe(60_000);
  for (const odd of ["soon", "-1", "", "Thu, 01 Jan 2015 00:00:00 GMT"])
    expect(after({ "retry-after": odd })).toBeUndefined();
  expect(after({})).toBeUndefined();
});
