import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { encodeChatOutput, encodeResponseEvent } from "@deltawire/wire";
import OpenAI from "openai";
import { expect, test } from "vitest";
import { playToChat, playToResponses } from "../check/play.ts";
import { readsOf } from "../check/quirk.ts";
import type { RecordingEntry } from "../check/recording.ts";
import { saidOnChat, saidOnResponses } from "../check/said.ts";
import { ownQuirks } from "./own-quirks.ts";
import { sharedData } from "../../../test/shared-data.ts";

/* What we put out, read by OpenAI's own client: its stream helpers are stricter than most servers. */

type Reads = Iterable<string | Uint8Array>;

function clientThatReads(body: string): OpenAI {
  const headers = { "content-type": "text/event-stream" };
  return new OpenAI({
    apiKey: "none",
    maxRetries: 0,
    fetch: () => Promise.resolve(new Response(body, { headers })),
  });
}

/** Text, refusal and calls as the SDK understood them, or the error that it threw. */
async function readChat(reads: Reads): Promise<unknown> {
  const { out } = playToChat(reads);
  const client = clientThatReads(out.map(encodeChatOutput).join(""));
  const stream = client.chat.completions.stream({ model: "m", messages: [] });
  const message = await stream.finalMessage();
  const calls = (message.tool_calls ?? []).map((call) =>
    call.type === "function" ? [call.function.name, call.function.arguments] : [],
  );
  return { text: message.content ?? "", refusal: message.refusal ?? "", calls };
}

async function readResponses(reads: Reads): Promise<unknown> {
  const { out } = playToResponses(reads);
  const client = clientThatReads(out.map(encodeResponseEvent).join(""));
  const stream = client.responses.stream({ model: "m", input: "hi" });
  const response = await stream.finalResponse();
  const calls = response.output.flatMap((item) =>
    item.type === "function_call" ? [[item.name, item.arguments]] : [],
  );
  return { text: response.output_text, calls };
}

/** Where the SDK understood something else than was said, in words. */
async function misreadings(reads: Reads): Promise<string[]> {
  const faults: string[] = [];
  const compare = (wire: string, wanted: unknown, got: unknown) => {
    if (!isDeepStrictEqual(wanted, got))
      faults.push(`${wire}: ${JSON.stringify(wanted)}, but ${JSON.stringify(got)}`);
  };
  const chat = saidOnChat(playToChat(reads).out, 0);
  const read = await readChat(reads).catch((error: unknown) => String(error));
  const calls = chat.calls.map((call) => [call.name, call.arguments]);
  if (chat.status === "failed") compare("Chat", "string", typeof read);
  else compare("Chat", { text: chat.text, refusal: chat.refusal, calls }, read);
  const said = saidOnResponses(playToResponses(reads).out);
  if (said.status !== "completed") return faults;
  const functions = said.calls.filter((call) => call.kind === "function");
  const expected = { text: said.text, calls: functions.map((call) => [call.name, call.arguments]) };
  compare("Responses", expected, await readResponses(reads).catch(String));
  return faults;
}

test.each(ownQuirks.map((quirk) => [quirk.title, quirk] as const))("%s", async (_title, quirk) => {
  expect(await misreadings(readsOf(quirk))).toEqual([]);
});

const shared = sharedData("fixtures");

test.skipIf(shared.isMissing)(
  "every Chat recording of the shared folder",
  { timeout: 60_000 },
  async () => {
    const { files } = JSON.parse(readFileSync(join(shared.path, "index.json"), "utf8")) as {
      files: RecordingEntry[];
    };
    const failed: string[] = [];
    for (const { file, kind } of files) {
      if (kind !== "chat-stream") continue;
      const bytes = readFileSync(join(shared.path, file));
      for (const fault of await misreadings([bytes])) failed.push(`${file}: ${fault}`);
    }
    expect(failed).toEqual([]);
  },
);
