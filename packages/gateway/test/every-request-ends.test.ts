import type { ServerResponse } from "node:http";
import type { JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { eventsOf, type TestGateway } from "./running-gateway.ts";
import { hello, helloChat, scene } from "./scene.ts";
import { beginStream, chunk, event } from "./scripted-upstream.ts";
import { namedEvent, sendJson, streamed, wholeReply } from "./wire-replies.ts";

type Ending = (response: ServerResponse) => void;

const text = chunk({ content: "Hi" });
const finish = chunk({}, "stop");
const done = "[DONE]";

const sends =
  (pieces: readonly string[], close: "close" | "stay open" | "destroy" = "close"): Ending =>
  (response) => {
    beginStream(response);
    response.write(pieces.join(""));
    if (close === "close") response.end();
    // What was written has to leave first.
    else if (close === "destroy") setImmediate(() => response.destroy());
  };
const chats = (events: readonly unknown[], close?: Parameters<typeof sends>[1]): Ending =>
  sends(events.map(event), close);

/** Sends the same for ever. */
const forEver =
  (piece: string, first = ""): Ending =>
  (response) => {
    beginStream(response);
    response.write(first);
    const timer = setInterval(() => response.write(piece), 20);
    response.on("close", () => clearInterval(timer));
  };

const chatEndings: Record<string, Ending> = {
  "the sentinel": chats([text, finish, done]),
  "no sentinel": chats([text, finish]),
  "no finish": chats([text, done]),
  "no finish and no sentinel": chats([text]),
  "nothing at all": chats([]),
  "only the sentinel": chats([done]),
  "only comments": sends([": one\n\n", ": two\n\n"]),
  "only empty deltas": chats([chunk({}), chunk({ content: "" }), chunk({})]),
  "only empty deltas and the sentinel": chats([chunk({}), chunk({ content: "" }), done]),
  "chunks of an unknown kind": chats([{ object: "surprise" }, { type: "response.debug" }, 7, null]),
  "an unknown finish": chats([text, chunk({}, "surprise"), done]),
  "more after the sentinel": chats([text, finish, done, text, { error: { message: "late" } }]),
  "an error": chats([text, { error: { message: "broken" } }]),
  "a broken connection": chats([text], "destroy"),
  "a finish, and the connection stays open": chats([text, finish], "stay open"),
  "the sentinel, and the connection stays open": chats([text, finish, done], "stay open"),
  "an error, and the connection stays open": chats(
    [text, { error: { message: "broken" } }],
    "stay open",
  ),
  silence: chats([text], "stay open"),
  "silence from the start": chats([], "stay open"),
  "comments for ever": forEver(": working\n\n", event(text)),
  "comments for ever, from the start": forEver(": working\n\n"),
  "empty deltas for ever": forEver(event(chunk({ content: "" })), event(text)),
  "text after the sentinel, for ever": forEver(
    event(text),
    [text, finish, done].map(event).join(""),
  ),
  "a complete reply": (response) => sendJson(response, wholeReply("chat", { text: ["Hi"] })),
  "a complete reply without choices": (response) => sendJson(response, { choices: [] }),
  "half a complete reply": (response) => response.end('{"choices":[{"message":{"content":"H'),
  "an empty object": (response) => sendJson(response, {}),
  "an empty body": (response) => response.end(),
  "no body": (response) => response.writeHead(204).end(),
};

const begun = streamed("responses", { text: ["Hi"] }).slice(0, 5);
const replyOf = (status: string): JsonObject => ({
  ...wholeReply("responses", { text: ["Hi"] }),
  status,
});
const ends = (type: string, response: JsonObject, close?: Parameters<typeof sends>[1]): Ending =>
  sends([...begun, namedEvent({ type, response })], close);
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
      [`the event response.${status}`, ends(`response.${status}`, replyOf(status))],
      [
        `the event response.${status}, and the connection stays open`,
        ends(`response.${status}`, replyOf(status), "stay open"),
      ],
      [`the event response.${status} first`, sends([namedEvent({ type: `response.${status}` })])],
    ]),
  ),
  ...Object.fromEntries(
    statuses.flatMap((status) => [
      [
        `a complete reply of status "${status}"`,
        (response: ServerResponse) => sendJson(response, replyOf(status)),
      ],
      [
        `a complete reply of status "${status}" without output`,
        (response: ServerResponse) => sendJson(response, { id: "resp_1", status }),
      ],
      [`response.done with the status "${status}"`, ends("response.done", replyOf(status))],
    ]),
  ),
  "a complete reply without a status": (response) => {
    const { status: _status, ...rest } = replyOf("");
    sendJson(response, rest);
  },
  "no terminal event": sends(begun),
  "only the sentinel": sends([...begun, event(done)]),
  "nothing at all": sends([]),
  "only comments": sends([": one\n\n", ": two\n\n"]),
  "events of unknown types": sends([
    namedEvent({ type: "surprise" }),
    namedEvent({ type: "response.surprise.delta", delta: "x" }),
  ]),
  "empty deltas": sends([
    ...begun.slice(0, 4),
    namedEvent({
      type: "response.output_text.delta",
      output_index: 0,
      content_index: 0,
      delta: "",
    }),
  ]),
  "an error event": sends([...begun, namedEvent({ type: "error", message: "broken" })]),
  "an error event, and the connection stays open": sends(
    [...begun, namedEvent({ type: "error", message: "broken" })],
    "stay open",
  ),
  "more after the terminal event": sends([
    ...streamed("responses", { text: ["Hi"] }),
    ...streamed("responses", { text: ["again"] }),
  ]),
  "events after the terminal event, for ever": forEver(
    begun[4] ?? "",
    streamed("responses", { text: ["Hi"] }).join(""),
  ),
  "a broken connection": sends(begun, "destroy"),
  silence: sends(begun, "stay open"),
  "silence from the start": sends([], "stay open"),
  "comments for ever": forEver(": working\n\n", begun.join("")),
  "response.in_progress for ever": forEver(
    namedEvent({ type: "response.in_progress", response: replyOf("in_progress") }),
    begun.join(""),
  ),
  "an empty object": (response) => sendJson(response, {}),
  "an empty body": (response) => response.end(),
};

const wires = [
  ["chat", "chat"],
  ["chat", "responses"],
  ["responses", "chat"],
  ["responses", "responses"],
] as const;

describe.each(wires)("a %s upstream, a %s client", (speaks, client) => {
  const endings = speaks === "chat" ? chatEndings : responsesEndings;

  test.each([true, false])(
    "every request ends; stream: %s",
    async (stream) => {
      const { gateway } = await scene(
        ({ body }, response) => endings[body["model"] as string]?.(response),
        {
          upstream: { speaks, retries: 0, idle_timeout_seconds: 1 },
          // An hour without content is 3,600 beats.
          beatMs: 1,
        },
      );
      const failures: string[] = [];
      await Promise.all(
        Object.keys(endings).map(async (name) => {
          const ended = await ending(gateway, client, name, stream).catch(String);
          if (ended !== "valid") failures.push(`${name}: ${ended}`);
        }),
      );
      expect(failures).toEqual([]);
    },
    30_000,
  );
});

async function ending(
  gateway: TestGateway,
  client: "chat" | "responses",
  name: string,
  stream: boolean,
): Promise<string> {
  const path = client === "chat" ? "/chat/completions" : "/responses";
  const body = client === "chat" ? helloChat : hello;
  const signal = AbortSignal.timeout(20_000);
  const response = await gateway.post(path, { ...body, model: `up/${name}`, stream }, { signal });
  if (response.status !== 200) {
    const { error } = (await response.json()) as { error?: { message?: unknown; code?: unknown } };
    if (error?.code === "upstream_circuit_open") return "the circuit was open";
    return typeof error?.message === "string" ? "valid" : `${response.status} without a message`;
  }
  if (!stream) {
    const whole = (await response.json()) as JsonObject;
    const { status } = whole;
    const ends = status === "completed" || status === "incomplete" || status === "failed";
    return (client === "chat" ? Array.isArray(whole["choices"]) : ends)
      ? "valid"
      : "no whole reply";
  }
  const events = await eventsOf(response);
  const last = events.at(-1) ?? {};
  const terminals = events.filter((each) => isTerminal(each));
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
