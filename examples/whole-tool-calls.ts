/*
 * Whole tool calls in ten lines. The stream repeats a call's arguments from the beginning in every chunk, sends one call
 * without id and index, leaks a third into the text, and ends with "stop". Each tool runs once.
 */
import { createReadStream } from "node:fs";
import { ChatBody, completeToolCalls, genericProfile, Repairs, withFlags } from "@deltawire/wire";
import type { ChatInput } from "@deltawire/wire";

const options = { repairs: new Repairs(), toolNames: new Set(["get_weather", "get_time"]) };
const profile = withFlags(genericProfile, { leakedCalls: ["hermes"] });
const body = new ChatBody({ repairs: options.repairs, utf8: new TextDecoder() });
const chunks: ChatInput[] = [];
for await (const bytes of createReadStream(new URL("messy-tool-calls.sse", import.meta.url)))
  body.push(bytes as Uint8Array, chunks);
body.end("eof", chunks);
for (const call of completeToolCalls(chunks, { ...options, profile }))
  console.log(`run ${call.name} with`, call.arguments);
console.log(`repaired: ${[...options.repairs.counts.keys()].join(", ")}`);
