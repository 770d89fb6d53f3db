import { isDeepStrictEqual } from "node:util";
import { genericProfile, withFlags, type Profile, type ToolBridge } from "@deltawire/wire";
import { chatSequenceFaults } from "./chat-sequence.ts";
import { playToChat, playToResponses, type PlayOptions } from "./play.ts";
import { responseSequenceFaults } from "./response-sequence.ts";
import { saidOnChat, saidOnResponses, type Said, type SaidCall } from "./said.ts";

/** A case of a quirk catalogue, as far as replies go. */
export interface Quirk {
  id: string;
  class: string;
  title: string;
  optional?: boolean;
  wire?: {
    chunks?: unknown[];
    raw?: string[];
    rawHex?: string[];
    done?: boolean;
    contentType?: string;
    responses?: boolean;
  };
  expect?: QuirkExpectation;
}

interface QuirkExpectation {
  status?: string | string[];
  text?: string;
  reasoning?: string;
  tool_calls?: { name: string; arguments: unknown }[];
  usage?: [number, number];
  cached?: number;
  reasoning_tokens?: number;
  incomplete_reason?: string;
  error_includes?: string;
  no_completed_tool?: boolean;
  chat_finish?: string;
  ids?: string;
  note?: string;
}

const knownExpectations = new Set([
  "status",
  "text",
  "reasoning",
  "tool_calls",
  "usage",
  "cached",
  "reasoning_tokens",
  "incomplete_reason",
  "error_includes",
  "no_completed_tool",
  "chat_finish",
  "ids",
  "note",
]);

/** The tools that the catalogue's client declares. */
const offered = new Set(["get_weather", "get_time", "web_fetch", "web_search", "health"]);
const tools: ToolBridge = {
  upstreamNames: offered,
  declared: (name) => (offered.has(name) ? { kind: "function", name } : undefined),
};

/** Optional cases are repaired only under a profile that says so: these flags. */
const optionalFlags: Readonly<Record<string, Partial<Profile>>> = {
  "TC-LEAK-HERMES": { leakedCalls: ["hermes"] },
  "TC-LEAK-QWEN-XML": { leakedCalls: ["qwen-xml"] },
  "TC-LEAK-KIMI": { leakedCalls: ["kimi"] },
  "RS-THINK-CLOSE-ONLY": { startsInsideThink: true },
};

/** Under which flags a case is to be played; undefined for one that is not played at all. */
export function flagsFor(quirk: Quirk): Partial<Profile> | undefined {
  if (quirk.class !== "stream" && quirk.class !== "nonstream") return undefined;
  return quirk.optional === true ? optionalFlags[quirk.id] : {};
}

/** Plays one case to both kinds of client and answers what came out wrong, in words. */
export function quirkFaults(quirk: Quirk, options: PlayOptions = {}): string[] {
  const expected = quirk.expect ?? { status: "completed" };
  const unknown = Object.keys(expected).filter((field) => !knownExpectations.has(field));
  if (unknown.length > 0) return [`expect.${unknown.join(", expect.")}: unknown to this check`];
  const reads = readsOf(quirk);
  const expect = quirk.class === "nonstream" ? "whole" : "stream";
  const profile = withFlags(genericProfile, flagsFor(quirk) ?? {});
  const responses = playToResponses(reads, { tools, expect, profile, ...options });
  const chat = playToChat(reads, { tools, expect, profile, ...options });
  return [
    ...responseSequenceFaults(responses.out),
    ...differences(expected, saidOnResponses(responses.out)).map((fault) => `Responses: ${fault}`),
    ...chatSequenceFaults(chat.out),
    ...differences(expected, saidOnChat(chat.out, 0)).map((fault) => `Chat: ${fault}`),
  ];
}

/** The body as the catalogue's upstream would send it, in its pieces. */
export function readsOf({ wire }: Quirk): (string | Uint8Array)[] {
  if (wire?.rawHex !== undefined) return wire.rawHex.map((hex) => Buffer.from(hex, "hex"));
  if (wire?.raw !== undefined) return wire.raw;
  if (wire?.chunks === undefined) throw new Error("no wire data");
  const reads = wire.chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
  return wire.done === false ? reads : [...reads, "data: [DONE]\n\n"];
}

function differences(expected: QuirkExpectation, said: Said): string[] {
  const faults: string[] = [];
  const check = (good: boolean, what: string, got: unknown) => {
    if (!good) faults.push(`${what}, got ${JSON.stringify(got)?.slice(0, 200)}`);
  };
  const { status, text, reasoning, tool_calls: calls, usage } = expected;
  if (status !== undefined)
    check([status].flat().includes(said.status), `status ${String(status)}`, said);
  if (text !== undefined) check(said.text.trim() === text, `text ${text}`, said.text);
  if (reasoning !== undefined)
    check(said.reasoning.trim() === reasoning, `reasoning ${reasoning}`, said.reasoning);
  if (calls !== undefined) {
    const got = said.calls.map((call) => ({ name: call.name, arguments: parsed(call) }));
    check(isDeepStrictEqual(got, calls), `calls ${JSON.stringify(calls)}`, got);
    check(
      said.calls.every((call) => call.whole !== false),
      "whole calls",
      said.calls,
    );
  }
  if (usage !== undefined)
    check(
      said.usage?.input === usage[0] && said.usage.output === usage[1],
      `usage ${String(usage)}`,
      said.usage,
    );
  if (expected.cached !== undefined)
    check(said.usage?.cached === expected.cached, "cached", said.usage);
  if (expected.reasoning_tokens !== undefined)
    check(said.usage?.reasoning === expected.reasoning_tokens, "reasoning tokens", said.usage);
  if (expected.incomplete_reason !== undefined && said.status === "incomplete")
    check(
      said.incompleteReason === expected.incomplete_reason,
      expected.incomplete_reason,
      said.incompleteReason,
    );
  if (expected.error_includes !== undefined)
    check(
      said.error?.includes(expected.error_includes) === true,
      expected.error_includes,
      said.error,
    );
  if (expected.no_completed_tool === true)
    check(!said.calls.some((call) => call.whole === true), "no whole call", said.calls);
  if (expected.chat_finish !== undefined && said.finish !== undefined)
    check(said.finish === expected.chat_finish, `finish ${expected.chat_finish}`, said.finish);
  return faults;
}

function parsed(call: SaidCall): unknown {
  try {
    return JSON.parse(call.arguments) as unknown;
  } catch {
    return call.arguments;
  }
}
