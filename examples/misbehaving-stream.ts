/*
 * Repairs the stream of a misbehaving provider in ten lines. It sends reasoning in the text, usage with every chunk and
 * comments between chunks, repeats a call's arguments from the beginning, finishes twice with the wrong reason, and
 * closes without [DONE]. The result is a standard chat completion.
 */
import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { ChatBody, ChatOverChat, collectChat, connectMachines, Repairs } from "@deltawire/wire";
import type { ChatStreamEvent } from "@deltawire/wire";

const repairs = new Repairs();
const body = new ChatBody({ repairs, utf8: new TextDecoder() });
const client = new ChatOverChat({ repairs, newId: () => randomUUID(), createdAt: 1 });
const reader = connectMachines(body, client);
const chunks: ChatStreamEvent[] = [];
for await (const bytes of createReadStream(new URL("misbehaving-stream.sse", import.meta.url)))
  reader.push(bytes as Uint8Array, chunks);
reader.end("eof", chunks);
console.dir(collectChat(chunks), { depth: null });
console.log(`repaired: ${[...repairs.counts.keys()].join(", ")}`);
