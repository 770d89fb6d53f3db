import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { encodeChatEvent, encodeResponseEvent } from "@deltawire/wire";
import OpenAI from "openai";
import { expect, test } from "vitest";
import { playChatToChat, playChatToResponses } from "../check/play.ts";
import { toReads } from "../check/quirk.ts";
import type { RecordingEntry } from "../check/recording.ts";
import { readChatEvents, readResponseEvents } from "../check/reply-content.ts";
import { localQuirks } from "./local-quirks.ts";
import { sharedData } from "../../../test/shared-data.ts";

/* The output is read by OpenAI's SDK, whose stream helpers are stricter than most clients. */

type Reads = Iterable<string | Uint8Array>;

function createClient(body: string): OpenAI {
  const headers = { "content-type": "text/event-stream" };
  return new OpenAI({
    apiKey: "none",
    maxRetries: 0,
    fetch: () => Promise.resolve(new Response(body, { headers })),
  });
}

/** Returns text, refusal and calls as parsed by the SDK, or the error that it threw. */
async function readChat(reads: Reads): Promise<unknown> {
  const { out } = playChatToChat(reads);
  const client = createClient(out.map(encodeChatEvent).join(""));
  const stream = client.chat.completions.stream({ model: "m", messages: [] });
  const message = await stream.finalMessage();
  const calls = (message.tool_calls ?? []).map((call) =>
    call.type === "function" ? [call.function.name, call.function.arguments] : [],
  );
  return { text: message.content ?? "", refusal: message.refusal ?? "", calls };
}

async function readResponses(reads: Reads): Promise<unknown> {
  const { out } = playChatToResponses(reads);
  const client = createClient(out.map(encodeResponseEvent).join(""));
  const stream = client.responses.stream({ model: "m", input: "hi" });
  const response = await stream.finalResponse();
  const calls = response.output.flatMap((item) =>
    item.type === "function_call" ? [[item.name, item.arguments]] : [],
  );
  return { text: response.output_text, calls };
}

/** Returns the differences between the SDK's result and the expectation. */
async function findDifferences(reads: Reads): Promise<string[]> {
  const faults: string[] = [];
  const compare = (wire: string, expected: unknown, actual: unknown) => {
    if (!isDeepStrictEqual(expected, actual))
      faults.push(`${wire}: ${JSON.stringify(expected)}, but ${JSON.stringify(actual)}`);
  };
  const chat = readChatEvents(playChatToChat(reads).out, 0);
  const read = await readChat(reads).catch((error: unknown) => String(error));
  const calls = chat.calls.map((call) => [call.name, call.arguments]);
  if (chat.status === "failed") compare("Chat", "string", typeof read);
  else compare("Chat", { text: chat.text, refusal: chat.refusal, calls }, read);
  const responsesContent = readResponseEvents(playChatToResponses(reads).out);
  if (responsesContent.status !== "completed") return faults;
  const functions = responsesContent.calls.filter((call) => call.kind === "function");
  const expectedContent = {
    text: responsesContent.text,
    calls: functions.map((call) => [call.name, call.arguments]),
  };
  compare("Responses", expectedContent, await readResponses(reads).catch(String));
  return faults;
}

test.each(localQuirks.map((quirk) => [quirk.title, quirk] as const))(
  "OpenAI's SDK reads the translated reply: %s",
  async (_title, quirk) => {
    expect(await findDifferences(toReads(quirk))).toEqual([]);
  },
);

const shared = sharedData("fixtures");

test.skipIf(shared.isMissing)(
  "OpenAI's SDK reads every shared Chat recording",
  { timeout: 60_000 },
  async () => {
    const { files } = JSON.parse(readFileSync(join(shared.path, "index.json"), "utf8")) as {
      files: RecordingEntry[];
    };
    const failed: string[] = [];
    for (const { file, kind } of files) {
      if (kind !== "chat-stream") continue;
      const bytes = readFileSync(join(shared.path, file));
      for (const fault of await findDifferences([bytes])) failed.push(`${file}: ${fault}`);
    }
    expect(failed).toEqual([]);
  },
);
