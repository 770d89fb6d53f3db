import {
  ChatOverChat,
  ChatOverResponses,
  ResponsesOverChat,
  ResponsesOverResponses,
  type ChatInput,
  type ClientTranslator,
  type JsonObject,
  type ResponseEvent,
  type ResponsesInput,
} from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { passedSequenceFaults } from "../check/passed-sequence.ts";
import { chunk } from "./chat-stream.ts";
import { newIds } from "./reply-translations.ts";

/* What a client hears of an upstream that has accepted the request and says nothing. */

const overChat = () =>
  new ResponsesOverChat({ responseId: "resp_1", newId: newIds(), createdAt: 1 });
const overResponses = () => new ResponsesOverResponses({ responseId: "resp_1", createdAt: 1 });

const message = { type: "message", id: "msg_1", role: "assistant", content: [] };
const chatReply: ChatInput[] = [chunk({ content: "Hi" }), chunk({}, "stop"), "[DONE]"];
const responsesReply: ResponsesInput[] = [
  { type: "response.created", response: { id: "resp_9", model: "m" } },
  { type: "response.in_progress", response: { id: "resp_9", model: "m" } },
  { type: "response.output_item.added", output_index: 0, item: message },
  { type: "response.output_item.done", output_index: 0, item: message },
  { type: "response.completed", response: { id: "resp_9", model: "m", output: [message] } },
].map((event, sequence_number) => ({ ...event, sequence_number }));

type Said = JsonObject & { type: string };
interface Case {
  machine: ClientTranslator<never, Said>;
  reply: never[];
}
const cases = {
  Chat: (): Case => ({
    machine: overChat() as ClientTranslator<never, ResponseEvent> as never,
    reply: chatReply as never[],
  }),
  Responses: (): Case => ({
    machine: overResponses(),
    reply: responsesReply as never[],
  }),
};
const typesOf = (out: readonly Said[]) => out.map(({ type }) => type.replace("response.", ""));

describe.each(["Chat", "Responses"] as const)("a Responses client of a %s upstream", (upstream) => {
  test("hears that the response has begun, once, before the upstream's first event", () => {
    const { machine, reply } = cases[upstream]();
    const out: Said[] = [];
    machine.begin?.(out);
    expect(out).toMatchObject([
      { type: "response.created", sequence_number: 0, response: { status: "in_progress" } },
      { type: "response.in_progress", sequence_number: 1, response: { id: "resp_1" } },
    ]);
    machine.begin?.(out);
    for (const input of reply) machine.push(input, out);
    machine.begin?.(out);
    expect(passedSequenceFaults(out)).toEqual([]);
    expect(typesOf(out).filter((type) => type === "created" || type === "in_progress")).toEqual([
      "created",
      "in_progress",
    ]);
    expect(out.at(-1)).toMatchObject({ type: "response.completed", response: { model: "m" } });
    expect(machine.repairs.list).toEqual([]);
  });

  test("hears response.in_progress again and again while nothing comes", () => {
    const { machine, reply } = cases[upstream]();
    const out: Said[] = [];
    machine.begin?.(out);
    machine.keepAlive?.(out);
    for (const input of reply.slice(0, 3)) machine.push(input, out);
    machine.keepAlive?.(out);
    for (const input of reply.slice(3)) machine.push(input, out);
    machine.end("eof", out);
    expect(passedSequenceFaults(out)).toEqual([]);
    expect(typesOf(out).filter((type) => type === "in_progress")).toHaveLength(
      upstream === "Chat" ? 2 : 3,
    );
    const alive = out.filter(({ type }) => type === "response.in_progress");
    for (const { response } of alive)
      expect(response).toMatchObject({ status: "in_progress", output: [], usage: null });
  });

  test("hears that it has begun from a keep-alive too, and nothing after the end", () => {
    const { machine, reply } = cases[upstream]();
    const out: Said[] = [];
    machine.keepAlive?.(out);
    expect(typesOf(out)).toEqual(["created", "in_progress"]);
    for (const input of reply) machine.push(input, out);
    machine.end("eof", out);
    const { length } = out;
    machine.begin?.(out);
    machine.keepAlive?.(out);
    expect(out).toHaveLength(length);
  });

  test("hears of a failure, where the upstream never said anything", () => {
    const { machine } = cases[upstream]();
    const out: Said[] = [];
    machine.begin?.(out);
    machine.end("idle_timeout", out);
    expect(typesOf(out)).toEqual(["created", "in_progress", "failed"]);
    expect(out.at(-1)).toMatchObject({
      sequence_number: 2,
      response: { error: { code: "upstream_idle_timeout" } },
    });
  });
});

test("after begin, events of a Responses upstream that are numbered like ours stay the same objects", () => {
  const machine = overResponses();
  const out: ResponsesInput[] = [];
  machine.begin(out);
  for (const event of responsesReply) machine.push(event, out);
  expect(out[2]).toBe(responsesReply[2]);
  expect(out[3]).toBe(responsesReply[3]);
});

test("a Chat client hears nothing: its wire has no event for it", () => {
  const options = { newId: newIds(), createdAt: 1 };
  const translators: ClientTranslator<never, unknown>[] = [
    new ChatOverChat(options),
    new ChatOverResponses(options),
  ];
  for (const translator of translators) {
    const said: unknown[] = [];
    translator.begin?.(said);
    translator.keepAlive?.(said);
    expect(said).toEqual([]);
  }
});
