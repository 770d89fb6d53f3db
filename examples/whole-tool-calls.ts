/*
 * Whole tool calls in ten lines. The stream repeats a call's arguments from the beginning in every chunk, sends one call
 * without id and index, leaks a third into the text, and ends with "stop". Each tool runs once.
 */
import { createReadStream } from "node:fs";
import { ChatBody, completeToolCalls, genericProfile, Repairs, withFlags } from "@deltawire/wire";
import type { ChatInput } from "@deltawire/wire";

const repairs = new Repairs();
const profile = withFlags(genericProfile, { leakedCalls: ["hermes"] });
const toolNames = new Set(["get_weather", "get_time"]);

async function* chunks(stream: AsyncIterable<Uint8Array>): AsyncGenerator<ChatInput> {
  const body = new ChatBody({ repairs, utf8: new TextDecoder() });
  const read: ChatInput[] = [];
  for await (const bytes of stream) {
    body.push(bytes, read);
    yield* read.splice(0);
  }
  body.end("eof", read);
  yield* read;
}

const stream = createReadStream(new URL("messy-tool-calls.sse", import.meta.url));
for await (const call of completeToolCalls(chunks(stream), { toolNames, profile, repairs }))
  console.log(`run ${call.name} with`, call.arguments);
console.log(`repaired: ${[...repairs.counts.keys()].join(", ")}`);
