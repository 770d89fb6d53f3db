import { formatChatEvents, buildChunk, encodeGoodReply } from "./good-replies.ts";
import type { UpstreamMode, UpstreamReply } from "./hostile-upstream.ts";

/* What an upstream may do wrong in a stream of events, in either API. */

const megabyte = 1024 * 1024;

function buildGoodReply(reply: UpstreamReply): string {
  return encodeGoodReply(reply.wire, true);
}

/** Creates a mode that sends a stream derived from a valid one. */
function createStreamMode(
  name: string,
  getChunks: (reply: UpstreamReply) => Iterable<string | Uint8Array>,
  overrides: Partial<UpstreamMode> = {},
): UpstreamMode {
  return {
    name,
    forms: ["streamed"],
    play: (reply) => reply.events(getChunks(reply)),
    ...overrides,
  };
}

/** Event data that is not a chunk of any API. */
const oddData = [
  "",
  " ",
  "null",
  "1",
  '"text"',
  "[]",
  "{}",
  "[1,2]",
  "{",
  "}",
  '{"a":',
  '{"choices"',
  "undefined",
  "NaN",
  '{"a":NaN}',
  "[DONE",
  " [DONE] ",
  "[done]",
  "<html>",
  '{"choices":[]}',
  '{"type":null}',
  '{"type":"ping"}',
  '{"type":"response.unknown"}',
  '{"object":"chat.completion.chunk"}',
  '{"__proto__":{"choices":[{}]}}',
  '{"choices":[{"delta":{"content":"\\ud800"}}]}',
  '{"choices":[{"delta":{"content":"a\\u0000b"}}]}',
  "[".repeat(100_000),
  '{"a":'.repeat(100_000),
  `{"choices":${"[".repeat(50_000)}${"]".repeat(50_000)}}`,
  `{"x":"${"\\\\".repeat(100_000)}"}`,
];

export const eventModes: readonly UpstreamMode[] = [
  {
    name: "events whose data is not a chunk, before a good reply",
    forms: ["streamed"],
    variants: oddData.length,
    play: (reply) => reply.events([`data: ${oddData[reply.variant]}\n\n`, buildGoodReply(reply)]),
  },
  {
    name: "events whose data is not a chunk, and then the end",
    forms: ["streamed"],
    variants: oddData.length,
    play: (reply) => reply.events([`data: ${oddData[reply.variant]}\n\n`]),
  },
  {
    name: "complete replies whose body is not a reply",
    forms: ["complete"],
    variants: oddData.length,
    play: (reply) => reply.json(oddData[reply.variant] ?? ""),
  },
  createStreamMode("an empty stream", () => []),
  createStreamMode("only [DONE]", () => ["data: [DONE]\n\n"]),
  createStreamMode("[DONE] before the reply", (reply) => [
    "data: [DONE]\n\n",
    buildGoodReply(reply),
  ]),
  createStreamMode("[DONE] twice, then another reply", (reply) => [
    buildGoodReply(reply),
    "data: [DONE]\n\ndata: [DONE]\n\n",
    buildGoodReply(reply),
  ]),
  createStreamMode("the reply twice", (reply) => [buildGoodReply(reply), buildGoodReply(reply)]),
  createStreamMode("a byte order mark first", (reply) => ["\ufeff", buildGoodReply(reply)]),
  createStreamMode("lines that end in CR", (reply) => [
    buildGoodReply(reply).replaceAll("\n", "\r"),
  ]),
  createStreamMode("lines that end in CR LF", (reply) => [
    buildGoodReply(reply).replaceAll("\n", "\r\n"),
  ]),
  createStreamMode("lines with mixed line breaks", (reply) => {
    const ends = ["\n", "\r", "\r\n"];
    let index = 0;
    return [buildGoodReply(reply).replaceAll("\n", () => ends[(index += 1) % 3] ?? "\n")];
  }),
  createStreamMode("no blank line at the end", (reply) => [buildGoodReply(reply).trimEnd()]),
  createStreamMode("data without a space after the colon", (reply) => [
    buildGoodReply(reply).replaceAll("data: ", "data:"),
  ]),
  createStreamMode("one byte at a time", (reply) =>
    [...Buffer.from(buildGoodReply(reply))].map((byte) => Uint8Array.of(byte)),
  ),
  createStreamMode("JSON over several lines of data", (reply) => [
    buildGoodReply(reply).replaceAll(',"', ',\ndata: "'),
  ]),
  createStreamMode("100,000 comments first", (reply) => [
    ": ping\n\n".repeat(100_000),
    buildGoodReply(reply),
  ]),
  createStreamMode("a million empty lines first", (reply) => [
    "\n".repeat(1_000_000),
    buildGoodReply(reply),
  ]),
  createStreamMode("100,000 unknown fields", (reply) => [
    "x: y\n".repeat(100_000),
    "\n",
    buildGoodReply(reply),
  ]),
  createStreamMode("a field name of 5 MB", (reply) => [
    "x".repeat(5 * megabyte),
    "\n\n",
    buildGoodReply(reply),
  ]),
  createStreamMode("a comment of 5 MB", (reply) => [
    `:${"x".repeat(5 * megabyte)}\n\n`,
    buildGoodReply(reply),
  ]),
  createStreamMode(
    "an event of 40 million characters",
    () => ['data: {"x":"', ...Array<string>(40).fill("y".repeat(1_000_000)), '"}\n\n'],
    { alone: true },
  ),
  createStreamMode(
    "a line that never ends",
    function* endless() {
      yield "data: ";
      for (let index = 0; index < 2000; index += 1) yield "z".repeat(100_000);
    },
    { alone: true },
  ),
  createStreamMode("8 MB of spaces before the data of an event", (reply) => [
    `data: ${" ".repeat(8 * megabyte)}`,
    buildGoodReply(reply).slice("data: ".length),
  ]),
  createStreamMode("bytes that are not UTF-8", (reply) => [
    Buffer.concat([
      Buffer.from('data: {"x":"'),
      Buffer.from([0xc3, 0x28, 0xff, 0xfe, 0xed, 0xa0, 0x80, 0xf8]),
      Buffer.from('"}\n\n'),
    ]),
    buildGoodReply(reply),
  ]),
  createStreamMode("a character of four bytes cut off at the end", (reply) => [
    buildGoodReply(reply),
    Buffer.from([0xf0, 0x9f]),
  ]),
  createStreamMode("events named error", (reply) => [
    "event: error\ndata: {}\n\n",
    buildGoodReply(reply),
  ]),
  createStreamMode("events named error with a text", (reply) => [
    `event: error\ndata: ${reply.key} is wrong\n\n`,
  ]),
  createStreamMode("ids and retries", (reply) => [
    "id: \u0000\nretry: -1\n\nretry: 99999999999\nid\n\n",
    buildGoodReply(reply),
  ]),
  {
    name: "comments without end, and nothing else",
    forms: ["streamed"],
    leaveAfterMs: 3000,
    async play(reply) {
      await reply.head(200, { "content-type": "text/event-stream" });
      const deadline = Date.now() + 30_000;
      while (!reply.isClosed && Date.now() < deadline) {
        await reply.write(": ping\n\n");
        await reply.pause(50);
      }
      reply.end();
    },
  },
  {
    name: "an answer without end",
    forms: ["streamed"],
    wires: ["chat"],
    leaveAfterMs: 3000,
    async play(reply) {
      await reply.head(200, { "content-type": "text/event-stream" });
      const events = formatChatEvents([buildChunk([{ index: 0, delta: { content: "word " } }])])
        .join("")
        .repeat(20);
      const deadline = Date.now() + 30_000;
      while (!reply.isClosed && Date.now() < deadline) {
        await reply.write(events);
        await reply.pause(1);
      }
      reply.end();
    },
  },
  {
    name: "an answer of 150 MB as fast as possible",
    forms: ["streamed"],
    wires: ["chat"],
    alone: true,
    async play(reply) {
      await reply.head(200, { "content-type": "text/event-stream" });
      const events = formatChatEvents([
        buildChunk([{ index: 0, delta: { content: "x".repeat(20_000) } }]),
      ]).join("");
      for (
        let sentBytes = 0;
        sentBytes < 150 * megabyte && !reply.isClosed;
        sentBytes += events.length
      )
        await reply.write(events);
      reply.end();
    },
  },
  {
    name: "a complete reply of 150 MB",
    forms: ["complete"],
    wires: ["chat"],
    alone: true,
    async play(reply) {
      await reply.head(200, { "content-type": "application/json" });
      const chunk = "x".repeat(megabyte);
      await reply.write('{"choices":[{"message":{"content":"');
      for (let sentBytes = 0; sentBytes < 150 && !reply.isClosed; sentBytes += 1)
        await reply.write(chunk);
      await reply.write('"}}]}');
      reply.end();
    },
  },
];
