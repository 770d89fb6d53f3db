import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { collectMessage, encodeMessageEvent, type MessageEvent } from "@deltawire/wire";
import Anthropic from "@anthropic-ai/sdk";
import AnthropicOld from "anthropic-sdk-0";
import { describe, expect, test } from "vitest";
import {
  playChatToMessages,
  playMessagesToMessages,
  playResponsesToMessages,
} from "../check/play.ts";
import { toReads } from "../check/quirk.ts";
import type { RecordingEntry } from "../check/recording.ts";
import { localQuirks } from "./local-quirks.ts";
import { sharedData } from "../../../test/shared-data.ts";

/* The output is read by Anthropic's SDK, whose stream helper is stricter than most clients. */

function createFetch(text: string, contentType: string): () => Promise<Response> {
  const headers = { "content-type": contentType };
  return () => Promise.resolve(new Response(text, { headers }));
}

const request = {
  model: "m",
  max_tokens: 10,
  messages: [{ role: "user" as const, content: "hi" }],
};

/** Returns the content and stop reason as read by the SDK, or the error that it threw. */
type ReadStream = (events: readonly MessageEvent[], api?: "stable" | "beta") => Promise<unknown>;

const readers: Record<string, ReadStream> = {
  "1.8.0": async (events, api = "stable") => {
    const fetch = createFetch(events.map(encodeMessageEvent).join(""), "text/event-stream");
    const client = new Anthropic({ apiKey: "none", maxRetries: 0, fetch });
    const stream =
      api === "beta" ? client.beta.messages.stream(request) : client.messages.stream(request);
    const { content, stop_reason, stop_sequence } = await stream.finalMessage();
    return { content, stop_reason, stop_sequence };
  },
  "0.137.0": async (events, api = "stable") => {
    const fetch = createFetch(events.map(encodeMessageEvent).join(""), "text/event-stream");
    const client = new AnthropicOld({ apiKey: "none", maxRetries: 0, fetch });
    const stream =
      api === "beta" ? client.beta.messages.stream(request) : client.messages.stream(request);
    const { content, stop_reason, stop_sequence } = await stream.finalMessage();
    return { content, stop_reason, stop_sequence };
  },
};

/** Returns the difference between the SDK's result and our own, if there is one. */
async function findDifference(
  read: ReadStream,
  events: readonly MessageEvent[],
  api: "stable" | "beta" = "stable",
): Promise<string | undefined> {
  const collected = collectMessage(events);
  if (collected === undefined) return "no message";
  const result = await read(events, api).catch((error: unknown) => error);
  if (!collected.ok) {
    const isReported =
      result instanceof Error && String(result).includes(collected.error.error.type);
    return isReported ? undefined : `expected an error, got ${JSON.stringify(result)}`;
  }
  if (result instanceof Error) return String(result);
  const { content, stop_reason, stop_sequence } = collected.message;
  // The SDK keeps a cut call with the part of its input that it could read.
  const isCut = stop_reason === "max_tokens" || stop_reason === "refusal";
  const expected = isCut ? { stop_reason, stop_sequence } : { content, stop_reason, stop_sequence };
  const actual = isCut
    ? { ...(result as object), content: undefined }
    : (result as Record<string, unknown>);
  const difference = { expected, actual: JSON.parse(JSON.stringify(actual)) as unknown };
  return isDeepStrictEqual(difference.expected, difference.actual)
    ? undefined
    : JSON.stringify(difference);
}

describe.each(Object.keys(readers))("Anthropic's SDK %s", (version) => {
  const read = readers[version] as ReadStream;

  test.each(localQuirks.map((quirk) => [quirk.title, quirk] as const))(
    "reads the translated reply: %s",
    async (_title, quirk) => {
      const reads = toReads(quirk);
      const isResponses = quirk.wire?.responses === true;
      const { out } = isResponses ? playResponsesToMessages(reads) : playChatToMessages(reads);
      expect(await findDifference(read, out)).toBeUndefined();
    },
  );

  const sharedMessages = sharedData("messages/fixtures");

  test.skipIf(sharedMessages.isMissing)(
    "reads every recording of a Messages upstream",
    { timeout: 60_000 },
    async () => {
      const index = readFileSync(join(sharedMessages.path, "index.json"), "utf8");
      const { files } = JSON.parse(index) as { files: RecordingEntry[] };
      const failed: string[] = [];
      for (const { file, kind } of files) {
        const bytes = readFileSync(join(sharedMessages.path, file));
        const expectKind = kind === "whole" ? "complete" : "stream";
        const { out } = playMessagesToMessages([bytes], { expect: expectKind });
        const difference = await findDifference(read, out as unknown as MessageEvent[], "beta");
        if (difference !== undefined) failed.push(`${file}: ${difference}`);
      }
      expect(failed).toEqual([]);
    },
  );

  const shared = sharedData("fixtures");

  test.skipIf(shared.isMissing)(
    "reads every recording of the other wires",
    { timeout: 60_000 },
    async () => {
      const index = readFileSync(join(shared.path, "index.json"), "utf8");
      const { files } = JSON.parse(index) as { files: RecordingEntry[] };
      const failed: string[] = [];
      for (const { file, kind } of files) {
        const bytes = readFileSync(join(shared.path, file));
        const expectKind = kind === "chat-json" ? "complete" : "stream";
        const { out } =
          kind === "responses-stream"
            ? playResponsesToMessages([bytes])
            : playChatToMessages([bytes], { expect: expectKind });
        const difference = await findDifference(read, out);
        if (difference !== undefined) failed.push(`${file}: ${difference}`);
      }
      expect(failed).toEqual([]);
    },
  );
});
