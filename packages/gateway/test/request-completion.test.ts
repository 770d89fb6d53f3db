import type { ServerResponse } from "node:http";
import type { JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { readEvents, type TestGateway } from "./test-gateway.ts";
import { findMessagesStreamFaults } from "../check/attack/judge-events.ts";
import { helloBodies, wirePaths, wires, type Wire } from "../check/attack/wires.ts";
import { gatewayFixture } from "./gateway-fixture.ts";
import { beginStream, chatChunk, formatEvent } from "./scripted-upstream.ts";
import { formatNamedEvent, sendJson, formatStream, buildReply } from "./wire-replies.ts";

type Ending = (response: ServerResponse) => void;

const text = chatChunk({ content: "Hi" });
const finish = chatChunk({}, "stop");
const done = "[DONE]";

const sendAll =
  (chunks: readonly string[], close: "close" | "stay open" | "destroy" = "close"): Ending =>
  (response) => {
    beginStream(response);
    response.write(chunks.join(""));
    if (close === "close") response.end();
    // After this turn of the event loop, so that everything is sent first.
    else if (close === "destroy") setImmediate(() => response.destroy());
  };
const sendChunks = (events: readonly unknown[], close?: Parameters<typeof sendAll>[1]): Ending =>
  sendAll(events.map(formatEvent), close);

/** Sends the same chunk endlessly. */
const sendEndlessly =
  (chunk: string, first = ""): Ending =>
  (response) => {
    beginStream(response);
    response.write(first);
    const timer = setInterval(() => response.write(chunk), 20);
    response.on("close", () => clearInterval(timer));
  };

const chatEndings: Record<string, Ending> = {
  "the sentinel": sendChunks([text, finish, done]),
  "no sentinel": sendChunks([text, finish]),
  "no finish": sendChunks([text, done]),
  "no finish and no sentinel": sendChunks([text]),
  "nothing at all": sendChunks([]),
  "only the sentinel": sendChunks([done]),
  "only comments": sendAll([": one\n\n", ": two\n\n"]),
  "only empty deltas": sendChunks([chatChunk({}), chatChunk({ content: "" }), chatChunk({})]),
  "only empty deltas and the sentinel": sendChunks([
    chatChunk({}),
    chatChunk({ content: "" }),
    done,
  ]),
  "chunks of an unknown kind": sendChunks([
    { object: "surprise" },
    { type: "response.debug" },
    7,
    null,
  ]),
  "an unknown finish": sendChunks([text, chatChunk({}, "surprise"), done]),
  "more after the sentinel": sendChunks([text, finish, done, text, { error: { message: "late" } }]),
  "an error": sendChunks([text, { error: { message: "broken" } }]),
  "a broken connection": sendChunks([text], "destroy"),
  "a finish, and the connection stays open": sendChunks([text, finish], "stay open"),
  "the sentinel, and the connection stays open": sendChunks([text, finish, done], "stay open"),
  "an error, and the connection stays open": sendChunks(
    [text, { error: { message: "broken" } }],
    "stay open",
  ),
  silence: sendChunks([text], "stay open"),
  "silence from the start": sendChunks([], "stay open"),
  "comments for ever": sendEndlessly(": working\n\n", formatEvent(text)),
  "comments for ever, from the start": sendEndlessly(": working\n\n"),
  "empty deltas for ever": sendEndlessly(
    formatEvent(chatChunk({ content: "" })),
    formatEvent(text),
  ),
  "text after the sentinel, for ever": sendEndlessly(
    formatEvent(text),
    [text, finish, done].map(formatEvent).join(""),
  ),
  "a complete reply": (response) => sendJson(response, buildReply("chat", { text: ["Hi"] })),
  "a complete reply without choices": (response) => sendJson(response, { choices: [] }),
  "half a complete reply": (response) => response.end('{"choices":[{"message":{"content":"H'),
  "an empty object": (response) => sendJson(response, {}),
  "an empty body": (response) => response.end(),
  "no body": (response) => response.writeHead(204).end(),
};

const firstEvents = formatStream("responses", { text: ["Hi"] }).slice(0, 5);
const buildResponse = (status: string): JsonObject => ({
  ...buildReply("responses", { text: ["Hi"] }),
  status,
});
const endWith = (
  type: string,
  response: JsonObject,
  close?: Parameters<typeof sendAll>[1],
): Ending => sendAll([...firstEvents, formatNamedEvent({ type, response })], close);
const statuses = [
  "completed",
  "incomplete",
  "failed",
  "cancelled",
  "canceled",
  "queued",
  "in_progress",
  "surprise",
  "",
];

const responsesEndings: Record<string, Ending> = {
  ...Object.fromEntries(
    [...statuses, "done", "finished"].flatMap((status) => [
      [`the event response.${status}`, endWith(`response.${status}`, buildResponse(status))],
      [
        `the event response.${status}, and the connection stays open`,
        endWith(`response.${status}`, buildResponse(status), "stay open"),
      ],
      [
        `the event response.${status} first`,
        sendAll([formatNamedEvent({ type: `response.${status}` })]),
      ],
    ]),
  ),
  ...Object.fromEntries(
    statuses.flatMap((status) => [
      [
        `a complete reply of status "${status}"`,
        (response: ServerResponse) => sendJson(response, buildResponse(status)),
      ],
      [
        `a complete reply of status "${status}" without output`,
        (response: ServerResponse) => sendJson(response, { id: "resp_1", status }),
      ],
      [
        `response.done with the status "${status}"`,
        endWith("response.done", buildResponse(status)),
      ],
    ]),
  ),
  "a complete reply without a status": (response) => {
    const { status: _status, ...rest } = buildResponse("");
    sendJson(response, rest);
  },
  "no terminal event": sendAll(firstEvents),
  "only the sentinel": sendAll([...firstEvents, formatEvent(done)]),
  "nothing at all": sendAll([]),
  "only comments": sendAll([": one\n\n", ": two\n\n"]),
  "events of unknown types": sendAll([
    formatNamedEvent({ type: "surprise" }),
    formatNamedEvent({ type: "response.surprise.delta", delta: "x" }),
  ]),
  "empty deltas": sendAll([
    ...firstEvents.slice(0, 4),
    formatNamedEvent({
      type: "response.output_text.delta",
      output_index: 0,
      content_index: 0,
      delta: "",
    }),
  ]),
  "an error event": sendAll([
    ...firstEvents,
    formatNamedEvent({ type: "error", message: "broken" }),
  ]),
  "an error event, and the connection stays open": sendAll(
    [...firstEvents, formatNamedEvent({ type: "error", message: "broken" })],
    "stay open",
  ),
  "more after the terminal event": sendAll([
    ...formatStream("responses", { text: ["Hi"] }),
    ...formatStream("responses", { text: ["again"] }),
  ]),
  "events after the terminal event, for ever": sendEndlessly(
    firstEvents[4] ?? "",
    formatStream("responses", { text: ["Hi"] }).join(""),
  ),
  "a broken connection": sendAll(firstEvents, "destroy"),
  silence: sendAll(firstEvents, "stay open"),
  "silence from the start": sendAll([], "stay open"),
  "comments for ever": sendEndlessly(": working\n\n", firstEvents.join("")),
  "response.in_progress for ever": sendEndlessly(
    formatNamedEvent({ type: "response.in_progress", response: buildResponse("in_progress") }),
    firstEvents.join(""),
  ),
  "an empty object": (response) => sendJson(response, {}),
  "an empty body": (response) => response.end(),
};

const messageEvents = formatStream("messages", { text: ["Hi"], usage: { input: 1, output: 1 } });
/** The start, the block and its text; the end of the block; the stop reason; the end. */
const [openMessage, closedBlock, messageDelta, messageStop] = [
  messageEvents.slice(0, 3),
  messageEvents.slice(3, 4),
  messageEvents.slice(4, 5),
  messageEvents.slice(5),
];
const pingEvent = formatNamedEvent({ type: "ping" });
const messageError = formatNamedEvent({
  type: "error",
  error: { type: "overloaded_error", message: "broken" },
});
const endWithStopReason = (stop_reason: string | null): Ending =>
  sendAll([
    ...openMessage,
    ...closedBlock,
    formatNamedEvent({ type: "message_delta", delta: { stop_reason, stop_sequence: null } }),
    ...messageStop,
  ]);
const stopReasons = [
  "end_turn",
  "tool_use",
  "max_tokens",
  "stop_sequence",
  "refusal",
  "model_context_window_exceeded",
  "surprise",
  "",
];

const messagesEndings: Record<string, Ending> = {
  ...Object.fromEntries(
    stopReasons.flatMap((stop_reason) => [
      [`the stop reason "${stop_reason}"`, endWithStopReason(stop_reason)],
      [
        `a complete reply with the stop reason "${stop_reason}"`,
        (response: ServerResponse) =>
          sendJson(response, { ...buildReply("messages", { text: ["Hi"] }), stop_reason }),
      ],
    ]),
  ),
  "no stop reason": sendAll([...openMessage, ...closedBlock, ...messageStop]),
  "an open block at the end": sendAll([...openMessage, ...messageDelta, ...messageStop]),
  "no message_stop": sendAll([...openMessage, ...closedBlock, ...messageDelta]),
  "no end of the block": sendAll(openMessage),
  "nothing at all": sendAll([]),
  "only message_stop": sendAll(messageStop),
  "only the start": sendAll(messageEvents.slice(0, 1)),
  "only pings": sendAll([pingEvent, pingEvent]),
  "only comments": sendAll([": one\n\n", ": two\n\n"]),
  "no content": sendAll([...messageEvents.slice(0, 1), ...messageDelta, ...messageStop]),
  "events of unknown types": sendAll([formatNamedEvent({ type: "surprise" })]),
  "the sentinel of another API": sendAll([...openMessage, formatEvent(done)]),
  "an error": sendAll([...openMessage, messageError]),
  "an error first": sendAll([messageError]),
  "an error, and the connection stays open": sendAll([...openMessage, messageError], "stay open"),
  "message_stop, and the connection stays open": sendAll(messageEvents, "stay open"),
  "more after message_stop": sendAll([...messageEvents, ...messageEvents]),
  "events after message_stop, for ever": sendEndlessly(pingEvent, messageEvents.join("")),
  "a broken connection": sendAll(openMessage, "destroy"),
  silence: sendAll(openMessage, "stay open"),
  "silence from the start": sendAll([], "stay open"),
  "pings for ever": sendEndlessly(pingEvent, openMessage.join("")),
  "pings for ever, from the start": sendEndlessly(pingEvent),
  "comments for ever": sendEndlessly(": working\n\n", openMessage.join("")),
  "half a complete reply": (response) => response.end('{"type":"message","content":[{"type":"te'),
  "a complete reply without content": (response) => sendJson(response, { type: "message" }),
  "an empty object": (response) => sendJson(response, {}),
  "an empty body": (response) => response.end(),
  "no body": (response) => response.writeHead(204).end(),
};

const endingsByWire = {
  chat: chatEndings,
  responses: responsesEndings,
  messages: messagesEndings,
} as const;

const pairs = wires.flatMap((speaks) => wires.map((client) => [speaks, client] as const));

describe.each(pairs)("a %s upstream, a %s client", (speaks, client) => {
  const endings = endingsByWire[speaks];

  test.each([true, false])(
    "every request ends with a valid reply or error; stream: %s",
    async (stream) => {
      const { gateway } = await gatewayFixture(
        ({ body }, response) => endings[body["model"] as string]?.(response),
        {
          upstream: { speaks, retries: 0, idle_timeout_seconds: 1 },
          // An hour without content is 3,600 ticks.
          tickMs: 1,
        },
      );
      const failures: string[] = [];
      await Promise.all(
        Object.keys(endings).map(async (name) => {
          const outcome = await requestOutcome(gateway, client, name, stream).catch(String);
          if (outcome !== "valid") failures.push(`${name}: ${outcome}`);
        }),
      );
      expect(failures).toEqual([]);
    },
    30_000,
  );
});

async function requestOutcome(
  gateway: TestGateway,
  client: Wire,
  name: string,
  stream: boolean,
): Promise<string> {
  const path = wirePaths[client].slice("/v1".length);
  const body = helloBodies[client];
  const signal = AbortSignal.timeout(20_000);
  const response = await gateway.post(path, { ...body, model: `up/${name}`, stream }, { signal });
  if (response.status !== 200) {
    const { error } = (await response.json()) as { error?: { message?: unknown; code?: unknown } };
    if (error?.code === "upstream_circuit_open" || /paused for/.test(String(error?.message)))
      return "the circuit was open";
    return typeof error?.message === "string" ? "valid" : `${response.status} without a message`;
  }
  if (!stream) {
    const completeReply = (await response.json()) as JsonObject;
    const { status } = completeReply;
    const hasEnded = status === "completed" || status === "incomplete" || status === "failed";
    if (client === "messages")
      return typeof completeReply["stop_reason"] === "string" ? "valid" : "no stop reason";
    return (client === "chat" ? Array.isArray(completeReply["choices"]) : hasEnded)
      ? "valid"
      : "no complete reply";
  }
  const events = await readEvents(response);
  if (client === "messages") return findMessagesStreamFaults(events).join(", ") || "valid";
  const last = events.at(-1) ?? {};
  const terminals = events.filter((event) => isTerminal(event));
  return isTerminal(last) && terminals.length === 1 ? "valid" : JSON.stringify(last);
}

function isTerminal(event: JsonObject): boolean {
  const { type } = event;
  return (
    event["done"] === true ||
    (type === undefined && event["error"] !== undefined) ||
    type === "response.completed" ||
    type === "response.incomplete" ||
    type === "response.failed"
  );
}
