/*
 * Collects complete tool calls in ten lines. The stream repeats a call's arguments from the beginning in every chunk,
 * sends one call without id and index, leaks a third into the text, and ends with "stop". Each tool runs once.
 */
import { createReadStream } from "node:fs";
import { ChatBody, collectToolCalls, Repairs } from "@deltawire/wire";
import { genericProfile, withProfileFlags, type UpstreamChatEvent } from "@deltawire/wire";

const options = { repairs: new Repairs(), toolNames: new Set(["get_weather", "get_time"]) };
const profile = withProfileFlags(genericProfile, { leakedCalls: ["hermes"] });
const body = new ChatBody({ repairs: options.repairs, utf8: new TextDecoder() });
const chunks: UpstreamChatEvent[] = [];
for await (const bytes of createReadStream(new URL("messy-tool-calls.sse", import.meta.url)))
  body.push(bytes as Uint8Array, chunks);
body.end("eof", chunks);
for (const call of collectToolCalls(chunks, { ...options, profile }))
  console.log(`run ${call.name} with`, call.arguments);
console.log(`repaired: ${[...options.repairs.counts.keys()].join(", ")}`);
