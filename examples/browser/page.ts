/*
 * A script for a web page: no Node, and no dependencies other than this library. It reads the bytes of a Chat stream as
 * they arrive, prints the text as a Responses client receives it, and runs each tool once at the end. The stream is
 * generated here; use `(await fetch(…)).body` for a real one.
 */
import { ChatBody, collectToolCalls, Repairs, ResponsesOverChat } from "@deltawire/wire";
import type { UpstreamChatEvent, ResponseEvent } from "@deltawire/wire";

const repairs = new Repairs();

async function main(): Promise<void> {
  const toolNames = new Set(["get_weather"]);
  for await (const call of collectToolCalls(showChunks(readChunks(createReply())), { toolNames }))
    console.log(`run ${call.name} with ${JSON.stringify(call.arguments)}`);
  console.log(`repaired: ${[...repairs.counts.keys()].join(", ")}`);
}

async function* readChunks(stream: ReadableStream<Uint8Array>): AsyncGenerator<UpstreamChatEvent> {
  const body = new ChatBody({ repairs, utf8: new TextDecoder() });
  const chunks: UpstreamChatEvent[] = [];
  const reader = stream.getReader(); // Safari cannot iterate over a stream
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    body.push(read.value, chunks);
    yield* chunks.splice(0);
  }
  body.end("eof", chunks);
  yield* chunks;
}

/** Prints the translated events and yields the chunks unchanged. */
async function* showChunks(
  chunks: AsyncIterable<UpstreamChatEvent>,
): AsyncGenerator<UpstreamChatEvent> {
  let ids = 0;
  const newId = (prefix: string) => `${prefix}_${(ids += 1)}`;
  const translator = new ResponsesOverChat({ repairs, responseId: "resp_1", newId, createdAt: 1 });
  const events: ResponseEvent[] = [];
  for await (const chunk of chunks) {
    translator.push(chunk, events);
    events.splice(0).forEach(show);
    yield chunk;
  }
  translator.end("eof", events);
  events.forEach(show);
}

function show(event: ResponseEvent): void {
  if (event.type === "response.output_text.delta") console.log(`text: ${event.delta}`);
  else if ("response" in event) console.log(event.type);
}

/** Creates a reply in reads of 100 bytes, with a call whose arguments are sent twice and the wrong finish reason. */
function createReply(): ReadableStream<Uint8Array> {
  const chunk = (delta: object, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ id: "chatcmpl-1", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  const call = (fragment: object) => ({ tool_calls: [{ index: 0, ...fragment }] });
  const text = [
    chunk({ content: "I will " }),
    chunk({ content: "look." }),
    chunk(call({ id: "call_1", function: { name: "get_weather", arguments: '{"city":' } })),
    chunk(call({ function: { arguments: '{"city":"Paris"}' } })),
    chunk({}, "stop"),
    "data: [DONE]\n\n",
  ].join("");
  const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  return new ReadableStream({
    start(controller) {
      for (let index = 0; index < bytes.length; index += 100)
        controller.enqueue(bytes.subarray(index, index + 100));
      controller.close();
    },
  });
}

main().catch(console.error);
