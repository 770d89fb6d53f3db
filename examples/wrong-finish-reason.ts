/*
 * Plays one quirk through the library. The stream is what GLM-4.6 was seen to send: a tool call, and then finish_reason
 * "stop". A client that believes the word shows the text and runs nothing.
 */
import { createReadStream } from "node:fs";
import { ChatBody, connect, Repairs, ResponsesOverChat, type ResponseEvent } from "@deltawire/wire";

const repairs = new Repairs();
let ids = 0;
const translator = connect(
  new ChatBody({ repairs, utf8: new TextDecoder() }),
  new ResponsesOverChat({
    repairs,
    responseId: "resp_demo",
    newId: (prefix) => `${prefix}_${(ids += 1)}`,
    createdAt: Math.floor(Date.now() / 1000),
  }),
);

const stream = new URL("wrong-finish-reason.sse", import.meta.url);
console.log('A Chat upstream calls a tool and then says finish_reason "stop".\n');
console.log("What a Responses client gets:\n");

const events: ResponseEvent[] = [];
for await (const bytes of createReadStream(stream, { highWaterMark: 100 }))
  translator.push(bytes as Uint8Array, events);
translator.end("eof", events);
for (const event of events) console.log(`  ${describe(event)}`);

console.log("\nWhat was repaired on the way:\n");
for (const { code, detail } of repairs.list)
  console.log(`  ${code}: the provider said "${detail}"`);

function describe(event: ResponseEvent): string {
  const name = event.type.padEnd(38);
  if ("delta" in event) return `${name} ${JSON.stringify(event.delta)}`;
  if (event.type !== "response.output_item.done" || event.item.type !== "function_call")
    return name.trimEnd();
  const { item } = event;
  const run = item.status === "completed" ? "whole: to be run now, once" : "cut: never to be run";
  return `${name} ${item.name}(${item.arguments}), ${run}`;
}
