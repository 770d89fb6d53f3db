import { chatEvents, chunkWith, goodBytes } from "./good-replies.ts";
import type { UpstreamMode, UpstreamReply } from "./hostile-upstream.ts";

/* What an upstream may do wrong in a stream of events, on either wire. */

const megabyte = 1024 * 1024;

function good(reply: UpstreamReply): string {
  return goodBytes(reply.wire, true);
}

/** A stream whose bytes are made from those of a good one. */
function streamOf(
  name: string,
  pieces: (reply: UpstreamReply) => Iterable<string | Uint8Array>,
  more: Partial<UpstreamMode> = {},
): UpstreamMode {
  return { name, forms: ["streamed"], play: (reply) => reply.events(pieces(reply)), ...more };
}

/** Data of events that is no chunk of any wire. */
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
    name: "events whose data is no chunk, before a good reply",
    forms: ["streamed"],
    variants: oddData.length,
    play: (reply) => reply.events([`data: ${oddData[reply.variant]}\n\n`, good(reply)]),
  },
  {
    name: "events whose data is no chunk, and then the end",
    forms: ["streamed"],
    variants: oddData.length,
    play: (reply) => reply.events([`data: ${oddData[reply.variant]}\n\n`]),
  },
  {
    name: "complete replies that are no reply",
    forms: ["complete"],
    variants: oddData.length,
    play: (reply) => reply.json(oddData[reply.variant] ?? ""),
  },
  streamOf("an empty stream", () => []),
  streamOf("nothing but the sentinel", () => ["data: [DONE]\n\n"]),
  streamOf("the sentinel first", (reply) => ["data: [DONE]\n\n", good(reply)]),
  streamOf("the sentinel twice, and a reply after it", (reply) => [
    good(reply),
    "data: [DONE]\n\ndata: [DONE]\n\n",
    good(reply),
  ]),
  streamOf("the reply twice", (reply) => [good(reply), good(reply)]),
  streamOf("a byte order mark first", (reply) => ["\ufeff", good(reply)]),
  streamOf("lines that end in CR", (reply) => [good(reply).replaceAll("\n", "\r")]),
  streamOf("lines that end in CR LF", (reply) => [good(reply).replaceAll("\n", "\r\n")]),
  streamOf("lines that end in all ways at once", (reply) => {
    const ends = ["\n", "\r", "\r\n"];
    let at = 0;
    return [good(reply).replaceAll("\n", () => ends[(at += 1) % 3] ?? "\n")];
  }),
  streamOf("no blank line at the end", (reply) => [good(reply).trimEnd()]),
  streamOf("data without a blank after the colon", (reply) => [
    good(reply).replaceAll("data: ", "data:"),
  ]),
  streamOf("every byte by itself", (reply) =>
    [...Buffer.from(good(reply))].map((byte) => Uint8Array.of(byte)),
  ),
  streamOf("JSON over several lines of data", (reply) => [
    good(reply).replaceAll(',"', ',\ndata: "'),
  ]),
  streamOf("100,000 comments first", (reply) => [": ping\n\n".repeat(100_000), good(reply)]),
  streamOf("a million empty lines first", (reply) => ["\n".repeat(1_000_000), good(reply)]),
  streamOf("100,000 fields that nobody knows", (reply) => [
    "x: y\n".repeat(100_000),
    "\n",
    good(reply),
  ]),
  streamOf("a field name of 5 MB", (reply) => ["x".repeat(5 * megabyte), "\n\n", good(reply)]),
  streamOf("a comment of 5 MB", (reply) => [`:${"x".repeat(5 * megabyte)}\n\n`, good(reply)]),
  streamOf(
    "an event of 40 million characters",
    () => ['data: {"x":"', ...Array<string>(40).fill("y".repeat(1_000_000)), '"}\n\n'],
    { alone: true },
  ),
  streamOf(
    "a line that never ends",
    function* endless() {
      yield "data: ";
      for (let at = 0; at < 2000; at += 1) yield "z".repeat(100_000);
    },
    { alone: true },
  ),
  streamOf("blanks of 8 MB around an event", (reply) => [
    `data: ${" ".repeat(8 * megabyte)}`,
    good(reply).slice("data: ".length),
  ]),
  streamOf("bytes that are no UTF-8", (reply) => [
    Buffer.concat([
      Buffer.from('data: {"x":"'),
      Buffer.from([0xc3, 0x28, 0xff, 0xfe, 0xed, 0xa0, 0x80, 0xf8]),
      Buffer.from('"}\n\n'),
    ]),
    good(reply),
  ]),
  streamOf("a character of four bytes cut off at the end", (reply) => [
    good(reply),
    Buffer.from([0xf0, 0x9f]),
  ]),
  streamOf("events named error", (reply) => ["event: error\ndata: {}\n\n", good(reply)]),
  streamOf("events named error with a text", (reply) => [
    `event: error\ndata: ${reply.key} is wrong\n\n`,
  ]),
  streamOf("ids and retries", (reply) => [
    "id: \u0000\nretry: -1\n\nretry: 99999999999\nid\n\n",
    good(reply),
  ]),
  {
    name: "comments without end, and nothing else",
    forms: ["streamed"],
    leaveAfterMs: 3000,
    async play(reply) {
      await reply.head(200, { "content-type": "text/event-stream" });
      const until = Date.now() + 30_000;
      while (!reply.isClosed && Date.now() < until) {
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
      const words = chatEvents([chunkWith([{ index: 0, delta: { content: "word " } }])])
        .join("")
        .repeat(20);
      const until = Date.now() + 30_000;
      while (!reply.isClosed && Date.now() < until) {
        await reply.write(words);
        await reply.pause(1);
      }
      reply.end();
    },
  },
  {
    name: "an answer of 150 MB as fast as it goes",
    forms: ["streamed"],
    wires: ["chat"],
    alone: true,
    async play(reply) {
      await reply.head(200, { "content-type": "text/event-stream" });
      const words = chatEvents([
        chunkWith([{ index: 0, delta: { content: "x".repeat(20_000) } }]),
      ]).join("");
      for (let sent = 0; sent < 150 * megabyte && !reply.isClosed; sent += words.length)
        await reply.write(words);
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
      const piece = "x".repeat(megabyte);
      await reply.write('{"choices":[{"message":{"content":"');
      for (let sent = 0; sent < 150 && !reply.isClosed; sent += 1) await reply.write(piece);
      await reply.write('"}}]}');
      reply.end();
    },
  },
];
