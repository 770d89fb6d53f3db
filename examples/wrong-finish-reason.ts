/*
 * Translates a stream that GLM-4.6 was seen to send: a tool call, and then finish_reason "stop". A client that relies
 * on the finish reason shows the text and runs nothing.
 */
import { createReadStream } from "node:fs";
import {
  ChatBody,
  connectMachines,
  Repairs,
  ResponsesOverChat,
  type ResponseEvent,
} from "@deltawire/wire";

const repairs = new Repairs();
let ids = 0;
const translator = connectMachines(
  new ChatBody({ repairs, utf8: new TextDecoder() }),
  new ResponsesOverChat({
    repairs,
    responseId: "resp_demo",
    newId: (prefix) => `${prefix}_${(ids += 1)}`,
    createdAt: Math.floor(Date.now() / 1000),
  }),
);

const stream = new URL("wrong-finish-reason.sse", import.meta.url);
console.log('A Chat upstream calls a tool and then sends finish_reason "stop".\n');
console.log("A Responses client receives:\n");

const events: ResponseEvent[] = [];
for await (const bytes of createReadStream(stream, { highWaterMark: 100 }))
  translator.push(bytes as Uint8Array, events);
translator.end("eof", events);
for (const event of events) console.log(`  ${describe(event)}`);

console.log("\nRepairs:\n");
for (const { code, detail } of repairs.list)
  console.log(`  ${code}: the provider sent "${detail}"`);

function describe(event: ResponseEvent): string {
  const name = event.type.padEnd(38);
  if ("delta" in event) return `${name} ${JSON.stringify(event.delta)}`;
  if (event.type !== "response.output_item.done" || event.item.type !== "function_call")
    return name.trimEnd();
  const { item } = event;
  const run = item.status === "completed" ? "complete: run it now" : "incomplete: do not run it";
  return `${name} ${item.name}(${item.arguments}), ${run}`;
}
