/*
 * A stream of a misbehaving provider in ten lines. It thinks aloud in the text, sends its usage with every chunk and a
 * comment in between, repeats a call's arguments from the beginning, finishes twice with the wrong word, and closes
 * without [DONE]. What comes out is what any Chat client expects.
 */
import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { ChatBody, ChatOverChat, collectChat, connect, Repairs } from "@deltawire/wire";
import type { ChatOutput } from "@deltawire/wire";

const repairs = new Repairs();
const body = new ChatBody({ repairs, utf8: new TextDecoder() });
const client = new ChatOverChat({ repairs, newId: () => randomUUID(), createdAt: 1 });
const reader = connect(body, client);
const chunks: ChatOutput[] = [];
for await (const bytes of createReadStream(new URL("misbehaving-stream.sse", import.meta.url)))
  reader.push(bytes as Uint8Array, chunks);
reader.end("eof", chunks);
console.dir(collectChat(chunks), { depth: null });
console.log(`repaired: ${[...repairs.counts.keys()].join(", ")}`);
