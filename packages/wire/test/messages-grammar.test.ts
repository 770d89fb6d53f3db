import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { collectMessage, encodeMessageEvent, type MessageEvent } from "@deltawire/wire";
import { expect, test } from "vitest";
import {
  playChatToMessages,
  playMessagesToMessages,
  playResponsesToMessages,
} from "../check/play.ts";
import { toReads } from "../check/quirk.ts";
import type { RecordingEntry } from "../check/recording.ts";
import { localQuirks } from "./local-quirks.ts";
import { sharedData } from "../../../test/shared-data.ts";

/** The checker of the shared test data, which is independent of this package. */
interface Grammar {
  validateStream(
    text: string,
    options?: { mode: string },
  ): { code: string; at: unknown; text: string }[];
  validateMessage(message: unknown): { code: string; at: unknown; text: string }[];
  validateError(error: unknown): { code: string; at: unknown; text: string }[];
}

const grammarFile = sharedData("messages/grammar.mjs");
const recordings = sharedData("fixtures");

async function loadGrammar(): Promise<Grammar> {
  return (await import(pathToFileURL(grammarFile.path).href)) as Grammar;
}

/** Returns the faults of a stream and of the complete reply with the same content. */
function findFaults(grammar: Grammar, events: readonly MessageEvent[]): string[] {
  const faults = grammar.validateStream(events.map(encodeMessageEvent).join(""));
  const collected = collectMessage(events);
  if (collected?.ok === true) faults.push(...grammar.validateMessage(collected.message));
  else faults.push(...grammar.validateError(collected?.error));
  return faults.map(({ code, at, text }) => `${code}@${String(at)} ${text}`);
}

test.skipIf(grammarFile.isMissing)("local cases satisfy the shared grammar", async () => {
  const grammar = await loadGrammar();
  const failed = localQuirks.flatMap((quirk) => {
    const reads = toReads(quirk);
    const isResponses = quirk.wire?.responses === true;
    const { out } = isResponses ? playResponsesToMessages(reads) : playChatToMessages(reads);
    const faults = findFaults(grammar, out);
    return faults.length === 0 ? [] : [[quirk.title, ...faults]];
  });
  expect(failed).toEqual([]);
});

test.skipIf(grammarFile.isMissing || recordings.isMissing)(
  "recordings of the other wires satisfy the shared grammar",
  { timeout: 60_000 },
  async () => {
    const grammar = await loadGrammar();
    const index = readFileSync(join(recordings.path, "index.json"), "utf8");
    const { files } = JSON.parse(index) as { files: RecordingEntry[] };
    const failed = files.flatMap(({ file, kind }) => {
      const bytes = readFileSync(join(recordings.path, file));
      const expectKind = kind === "chat-json" ? "complete" : "stream";
      const { out } =
        kind === "responses-stream"
          ? playResponsesToMessages([bytes])
          : playChatToMessages([bytes], { expect: expectKind });
      const faults = findFaults(grammar, out);
      return faults.length === 0 ? [] : [[file, ...faults]];
    });
    expect(failed).toEqual([]);
  },
);

const messageRecordings = sharedData("messages/fixtures");

test.skipIf(grammarFile.isMissing || messageRecordings.isMissing)(
  "forwarded recordings of Messages upstreams are legal",
  { timeout: 60_000 },
  async () => {
    const grammar = await loadGrammar();
    const index = readFileSync(join(messageRecordings.path, "index.json"), "utf8");
    const { files } = JSON.parse(index) as { files: RecordingEntry[] };
    const failed = files.flatMap(({ file, kind }) => {
      const bytes = readFileSync(join(messageRecordings.path, file));
      const expectKind = kind === "whole" ? "complete" : "stream";
      const { out } = playMessagesToMessages([bytes], { expect: expectKind });
      const text = (out as unknown as MessageEvent[]).map(encodeMessageEvent).join("");
      const faults = grammar.validateStream(text, { mode: "legal" });
      return faults.length === 0 ? [] : [[file, ...faults.map((fault) => fault.text)]];
    });
    expect(failed).toEqual([]);
  },
);
