import {
  ChatOverChat,
  ChatOverResponses,
  ResponsesOverChat,
  ResponsesOverResponses,
  type UpstreamChatEvent,
  type ClientTranslator,
  type JsonObject,
  type ResponseEvent,
  type UpstreamResponseEvent,
} from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { findPassthroughSequenceFaults } from "../check/passthrough-sequence.ts";
import { chunk } from "./chat-chunks.ts";
import { requiredFields } from "./response-fields.ts";
import { createIdCounter } from "./translate-reply.ts";

/* What clients receive while the upstream sends nothing. */

const createResponsesOverChat = () =>
  new ResponsesOverChat({ responseId: "resp_1", newId: createIdCounter(), createdAt: 1 });
const createResponsesOverResponses = () =>
  new ResponsesOverResponses({ responseId: "resp_1", createdAt: 1 });

const opened = { id: "resp_9", model: "m" };
const message = { type: "message", id: "msg_1", role: "assistant", content: [] };
const chatReply: UpstreamChatEvent[] = [chunk({ content: "Hi" }), chunk({}, "stop"), "[DONE]"];
const responsesReply: UpstreamResponseEvent[] = [
  { type: "response.created", response: { ...requiredFields, ...opened } },
  { type: "response.in_progress", response: { ...requiredFields, ...opened } },
  { type: "response.output_item.added", output_index: 0, item: message },
  { type: "response.output_item.done", output_index: 0, item: message },
  { type: "response.completed", response: { ...requiredFields, ...opened, output: [message] } },
].map((event, sequence_number) => ({ ...event, sequence_number }));

type SentEvent = JsonObject & { type: string };
/** A translator and the complete reply of its upstream. */
interface TranslatorFixture {
  machine: ClientTranslator<never, SentEvent>;
  reply: never[];
}
const fixtures = {
  Chat: (): TranslatorFixture => ({
    machine: createResponsesOverChat() as ClientTranslator<never, ResponseEvent> as never,
    reply: chatReply as never[],
  }),
  Responses: (): TranslatorFixture => ({
    machine: createResponsesOverResponses(),
    reply: responsesReply as never[],
  }),
};
const getTypes = (out: readonly SentEvent[]) => out.map(({ type }) => type);
const openingTypes = ["response.created", "response.in_progress"];

describe.each(["Chat", "Responses"] as const)("a Responses client of a %s upstream", (upstream) => {
  test("receives response.created once, before the upstream's first event", () => {
    const { machine, reply } = fixtures[upstream]();
    const out: SentEvent[] = [];
    machine.begin?.(out);
    expect(out).toMatchObject([
      { type: "response.created", sequence_number: 0, response: { status: "in_progress" } },
      { type: "response.in_progress", sequence_number: 1, response: { id: "resp_1" } },
    ]);
    machine.begin?.(out);
    for (const input of reply) machine.push(input, out);
    machine.begin?.(out);
    expect(findPassthroughSequenceFaults(out)).toEqual([]);
    expect(getTypes(out).filter((type) => openingTypes.includes(type))).toEqual(openingTypes);
    expect(out.at(-1)).toMatchObject({ type: "response.completed", response: { model: "m" } });
    expect(machine.repairs.list).toEqual([]);
  });

  test("receives response.in_progress repeatedly while nothing arrives", () => {
    const { machine, reply } = fixtures[upstream]();
    const out: SentEvent[] = [];
    machine.begin?.(out);
    machine.keepAlive?.(out);
    for (const input of reply.slice(0, 3)) machine.push(input, out);
    machine.keepAlive?.(out);
    for (const input of reply.slice(3)) machine.push(input, out);
    machine.end("eof", out);
    expect(findPassthroughSequenceFaults(out)).toEqual([]);
    const keepAlives = out.filter(({ type }) => type === "response.in_progress");
    expect(keepAlives).toHaveLength(upstream === "Chat" ? 2 : 3);
    for (const { response } of keepAlives)
      expect(response).toMatchObject({ status: "in_progress", output: [], usage: null });
  });

  test("receives response.created before the first keep-alive, and no keep-alive after the end", () => {
    const { machine, reply } = fixtures[upstream]();
    const out: SentEvent[] = [];
    machine.keepAlive?.(out);
    expect(getTypes(out)).toEqual(openingTypes);
    for (const input of reply) machine.push(input, out);
    machine.end("eof", out);
    const { length } = out;
    machine.begin?.(out);
    machine.keepAlive?.(out);
    expect(out).toHaveLength(length);
  });

  test("receives a failure if the upstream never sends anything", () => {
    const { machine } = fixtures[upstream]();
    const out: SentEvent[] = [];
    machine.begin?.(out);
    machine.end("idle_timeout", out);
    expect(getTypes(out)).toEqual([...openingTypes, "response.failed"]);
    expect(out.at(-1)).toMatchObject({
      sequence_number: 2,
      response: { error: { code: "upstream_idle_timeout" } },
    });
  });
});

test("events of a Responses upstream are forwarded as the same objects if their sequence numbers follow those of begin()", () => {
  const machine = createResponsesOverResponses();
  const out: UpstreamResponseEvent[] = [];
  machine.begin(out);
  for (const event of responsesReply) machine.push(event, out);
  expect(out[2]).toBe(responsesReply[2]);
  expect(out[3]).toBe(responsesReply[3]);
});

test("a Chat client receives nothing while the upstream is silent, because Chat has no event for it", () => {
  const options = { newId: createIdCounter(), createdAt: 1 };
  const translators: ClientTranslator<never, unknown>[] = [
    new ChatOverChat(options),
    new ChatOverResponses(options),
  ];
  for (const translator of translators) {
    const out: unknown[] = [];
    translator.begin?.(out);
    translator.keepAlive?.(out);
    expect(out).toEqual([]);
  }
});
