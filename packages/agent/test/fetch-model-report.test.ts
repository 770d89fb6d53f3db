import type { ServerResponse } from "node:http";
import { createFetchModel, ModelError, type RoundReport } from "@deltawire/agent";
import { afterEach, describe, expect, test } from "vitest";
import { parseRetryAfter } from "../src/model/fetch-model/upstream-errors.ts";
import {
  beginStream,
  chunk,
  event,
  modelServer,
  sendError,
  type ModelServer,
} from "./model-server.ts";

let server: ModelServer | undefined;
afterEach(() => server?.close());

/** Collects the reports of a model and its error. */
async function collectReports(
  script: (response: ServerResponse) => void,
  shouldStop: (type: unknown) => boolean = () => false,
) {
  server = await modelServer((_asked, response) => script(response));
  const model = createFetchModel({ baseUrl: server.url, speaks: "chat" });
  const reports: RoundReport[] = [];
  let failure: unknown;
  try {
    const { signal } = new AbortController();
    const stream = model.stream({ model: "m", input: "Hello" }, signal, (report) =>
      reports.push(report),
    );
    for await (const batch of stream) if (batch.some((one) => shouldStop(one["type"]))) break;
  } catch (error) {
    failure = error;
  }
  return { reports, failure, url: server.url };
}

const call = { index: 0, id: "call_1", function: { name: "look", arguments: "{}" } };
const sendIrregularReply = (response: ServerResponse): void => {
  beginStream(response);
  response.write(event(chunk({ tool_calls: [call] })));
  response.end(event(chunk({}, "stop")) + event("[DONE]"));
};

describe("createFetchModel sends one report", () => {
  test("with the repairs of the reply", async () => {
    const { reports, url } = await collectReports(sendIrregularReply);
    expect(reports).toEqual([
      { repairs: { finish_corrected: 1, usage_estimated: 1 }, upstream: url },
    ]);
  });

  test("if the consumer stops reading at the last event", async () => {
    const { reports } = await collectReports(
      sendIrregularReply,
      (type) => type === "response.completed",
    );
    expect(reports).toMatchObject([{ repairs: { finish_corrected: 1 } }]);
  });

  test("if the server rejects the request, and its error has the requested retry delay", async () => {
    const { reports, failure } = await collectReports((response) =>
      sendError(response, 429, { message: "slow" }, { "retry-after": "7" }),
    );
    expect(reports).toHaveLength(1);
    expect(failure).toBeInstanceOf(ModelError);
    expect(failure).toMatchObject({ retryable: true, retryAfterMs: 7000 });
  });
});

test("the retry delay is read from milliseconds, seconds or a date", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  const parseHeaders = (headers: Record<string, string>) =>
    parseRetryAfter(new Headers(headers), now);
  expect(parseHeaders({ "retry-after-ms": "1500", "retry-after": "9" })).toBe(1500);
  expect(parseHeaders({ "retry-after": "2" })).toBe(2000);
  expect(parseHeaders({ "retry-after": "0" })).toBe(0);
  expect(parseHeaders({ "retry-after": "Thu, 01 Jan 2026 00:01:00 GMT" })).toBe(60_000);
  for (const invalidValue of ["soon", "-1", "", "Thu, 01 Jan 2015 00:00:00 GMT"])
    expect(parseHeaders({ "retry-after": invalidValue })).toBeUndefined();
  expect(parseHeaders({})).toBeUndefined();
});
