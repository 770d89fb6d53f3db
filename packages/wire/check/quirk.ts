import { isDeepStrictEqual } from "node:util";
import {
  translateResponsesRequest,
  decodeResponsesRequest,
  genericProfile,
  withProfileFlags,
  type MessageEvent,
  type UpstreamProfile,
  type ToolTranslation,
} from "@deltawire/wire";
import { findChatSequenceFaults } from "./chat-sequence.ts";
import { findMessageSequenceFaults } from "./message-sequence.ts";
import { findPassthroughSequenceFaults } from "./passthrough-sequence.ts";
import {
  playChatToMessages,
  playResponsesToChat,
  playResponsesToMessages,
  playResponsesToResponses,
  playChatToChat,
  playChatToResponses,
  type PlayOptions,
} from "./play.ts";
import { findResponseSequenceFaults } from "./response-sequence.ts";
import { ruleFlags } from "./rule-flags.ts";
import {
  readPassthroughEvents,
  readChatEvents,
  readMessageEvents,
  readResponseEvents,
  type ReplyContent,
  type ReplyCall,
} from "./reply-content.ts";
import { upstreamRules, type RuleName } from "./upstream-rules.ts";

/** A case of a quirk catalog: an upstream's reply, or a request and the rule that it must satisfy, or both. */
export interface Quirk {
  id: string;
  class: string;
  title: string;
  optional?: boolean;
  request?: object;
  rule?: string | null;
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
  namespaced_calls?: { namespace: string; name: string; arguments: unknown }[];
  custom_calls?: { name: string; input: string }[];
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
  "namespaced_calls",
  "custom_calls",
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

/** The tools that the client of the catalog declares. */
const declaredToolNames = new Set(["get_weather", "get_time", "web_fetch", "web_search", "health"]);
const tools: ToolTranslation = {
  upstreamNames: declaredToolNames,
  findDeclared: (name) => (declaredToolNames.has(name) ? { kind: "function", name } : undefined),
};

const knownClasses = new Set(["stream", "nonstream", "responses-upstream", "request", "output"]);

/** Flags for optional cases: quirks that the generic profile does not repair. */
const optionalFlags: Readonly<Record<string, Partial<UpstreamProfile>>> = {
  "TC-LEAK-HERMES": { leakedCalls: ["hermes"] },
  "TC-LEAK-QWEN-XML": { leakedCalls: ["qwen-xml"] },
  "TC-LEAK-KIMI": { leakedCalls: ["kimi"] },
  "RS-THINK-CLOSE-ONLY": { startsInsideThink: true },
};

/**
 * Returns the sets of flags with which a case must run, each added to the generic profile. Returns the reason as a string
 * if the case cannot run.
 */
export function getQuirkFlags(quirk: Quirk): readonly Partial<UpstreamProfile>[] | string {
  if (!quirk.wire && !quirk.rule) return "no wire data";
  const flagSets = isRuleName(quirk.rule) ? ruleFlags[quirk.rule] : [];
  if (quirk.optional !== true || flagSets.length > 0) return flagSets.length > 0 ? flagSets : [{}];
  const flags = optionalFlags[quirk.id];
  return flags === undefined ? "optional without known flags" : [flags];
}

/** Runs one case and returns the differences from the expectation. */
export function findQuirkFaults(quirk: Quirk, options: PlayOptions = {}): string[] {
  const unknown = Object.keys(quirk.expect ?? {}).filter((field) => !knownExpectations.has(field));
  if (unknown.length > 0)
    return [`expect.${unknown.join(", expect.")}: not supported by this check`];
  if (!knownClasses.has(quirk.class)) return [`class ${quirk.class}: not supported by this check`];
  const flagSets = getQuirkFlags(quirk);
  if (typeof flagSets === "string") return [flagSets];
  const expect = quirk.class === "nonstream" ? "complete" : "stream";
  return flagSets.flatMap((flags) => {
    const profile = withProfileFlags(genericProfile, flags);
    const playOptions: PlayOptions = { tools, profile, expect, ...options };
    if (quirk.request !== undefined || quirk.rule) return findRequestFaults(quirk, profile);
    return quirk.wire?.responses === true
      ? findResponsesUpstreamFaults(quirk, playOptions)
      : [
          ...findResponsesFaults(quirk, playOptions),
          ...findChatFaults(quirk, playOptions),
          ...findMessagesFaults(quirk, playChatToMessages(toReads(quirk), playOptions).out),
        ];
  });
}

/** Returns the reads in which the upstream sends the body. */
export function toReads({ wire }: Quirk): (string | Uint8Array)[] {
  if (wire?.rawHex !== undefined) return wire.rawHex.map((hex) => Buffer.from(hex, "hex"));
  if (wire?.raw !== undefined) return wire.raw;
  if (wire?.chunks === undefined) throw new Error("no wire data");
  if (wire.responses === true)
    return wire.chunks.map((event) => {
      const { type } = event as { type: string };
      return `event: ${type}\ndata: ${JSON.stringify(event)}\n\n`;
    });
  const reads = wire.chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
  return wire.done === false ? reads : [...reads, "data: [DONE]\n\n"];
}

/** Checks a Chat upstream's reply for a Responses client. */
function findResponsesFaults(quirk: Quirk, options: PlayOptions): string[] {
  const { out } = playChatToResponses(toReads(quirk), options);
  return [
    ...findResponseSequenceFaults(out),
    ...findDifferences("Responses", quirk, readResponseEvents(out)),
  ];
}

/** Checks a Chat upstream's reply for a Chat client. */
function findChatFaults(quirk: Quirk, options: PlayOptions): string[] {
  const { out } = playChatToChat(toReads(quirk), options);
  return [
    ...findChatSequenceFaults(out),
    ...findDifferences("Chat", quirk, readChatEvents(out, 0)),
  ];
}

/** Checks a reply for a Messages client, who has neither custom tools nor namespaces and receives only calls that may run. */
function findMessagesFaults(quirk: Quirk, events: readonly MessageEvent[]): string[] {
  const { custom_calls: custom = [], ...expected } = quirk.expect ?? { status: "completed" };
  const { namespaced_calls: namespaced, reasoning_tokens: _reasoning, ...rest } = expected;
  const functions =
    rest.tool_calls ?? namespaced?.map(({ name, arguments: args }) => ({ name, arguments: args }));
  const customCalls = custom.map(({ name, input }) => ({ name, arguments: { input } }));
  const calls = [...(functions ?? []), ...customCalls];
  const content = readMessageEvents(events);
  const hasCalls = functions !== undefined || custom.length > 0;
  const { tool_calls: _calls, ...others } = rest;
  const compared =
    content.status === "completed" && hasCalls ? { ...others, tool_calls: calls } : others;
  return [
    ...findMessageSequenceFaults(events),
    ...findDifferences("Messages", { ...quirk, expect: compared }, content),
  ];
}

/** Checks a Responses upstream's reply for both kinds of client. */
function findResponsesUpstreamFaults(quirk: Quirk, options: PlayOptions): string[] {
  const reads = toReads(quirk);
  const chat = playResponsesToChat(reads, options).out;
  const forwardedEvents = playResponsesToResponses(reads, options).out;
  return [
    ...findChatSequenceFaults(chat),
    ...findDifferences("Chat", quirk, readChatEvents(chat, 0)),
    ...findMessagesFaults(quirk, playResponsesToMessages(reads, options).out),
    ...findPassthroughSequenceFaults(forwardedEvents),
    ...findDifferences("Responses", quirk, readPassthroughEvents(forwardedEvents)),
  ];
}

/** Checks a Responses client's request to a strict Chat upstream, and the reply to it. */
function findRequestFaults(quirk: Quirk, profile: UpstreamProfile): string[] {
  const { rule, wire, request } = quirk;
  if (request === undefined) return ["a rule without a request"];
  if (rule && !isRuleName(rule)) return [`rule ${rule}: not supported by this check`];
  // The requests of the catalog are streamed unless the case sets `stream`.
  const decoded = decodeResponsesRequest({ stream: true, ...structuredClone(request) });
  const { body, tools: toolTranslation } = translateResponsesRequest(decoded, {
    upstreamModel: "q",
    profile,
  });
  const violation = isRuleName(rule) ? upstreamRules[rule](body) : undefined;
  const faults = violation === undefined ? [] : [`rejected by ${rule}: ${violation}`];
  if (!wire) return faults;
  const [first] = body.tools ?? [];
  const name = first?.type === "custom" ? first.custom.name : first?.function.name;
  const wireText = JSON.stringify(wire).replaceAll("$FIRST_TOOL", name ?? "tool");
  const reply = { ...quirk, wire: JSON.parse(wireText) as NonNullable<Quirk["wire"]> };
  return [...faults, ...findResponsesFaults(reply, { tools: toolTranslation, profile })];
}

function isRuleName(name: string | null | undefined): name is RuleName {
  return typeof name === "string" && Object.hasOwn(upstreamRules, name);
}

function findDifferences(wire: string, quirk: Quirk, content: ReplyContent): string[] {
  const faults: string[] = [];
  const check = (isMet: boolean, expectation: string, actual: unknown) => {
    if (!isMet)
      faults.push(`${wire}: ${expectation}, got ${JSON.stringify(actual)?.slice(0, 200)}`);
  };
  const { expect: expected = { status: "completed" } } = quirk;
  const { status, text, reasoning, usage } = expected;
  if (status !== undefined)
    check([status].flat().includes(content.status), `status ${String(status)}`, content);
  if (text !== undefined) check(content.text.trim() === text, `text ${text}`, content.text);
  if (reasoning !== undefined)
    check(content.reasoning.trim() === reasoning, `reasoning ${reasoning}`, content.reasoning);
  const {
    tool_calls: functionCalls,
    namespaced_calls: namespaced,
    custom_calls: custom,
  } = expected;
  const functions = namespaced ?? functionCalls;
  if (functions !== undefined || custom !== undefined) {
    const expectedCalls = [...(functions ?? []), ...(custom ?? [])];
    const actual = [
      ...content.calls.filter(({ kind }) => kind === "function"),
      ...content.calls.filter(({ kind }) => kind === "custom"),
    ].map((call) => toComparableCall(call, namespaced !== undefined));
    check(
      isDeepStrictEqual(actual, expectedCalls),
      `calls ${JSON.stringify(expectedCalls)}`,
      actual,
    );
    check(
      content.calls.every((call) => call.isComplete !== false),
      "complete calls",
      content.calls,
    );
  }
  if (usage !== undefined)
    check(
      content.usage?.input === usage[0] && content.usage.output === usage[1],
      `usage ${String(usage)}`,
      content.usage,
    );
  if (expected.cached !== undefined)
    check(content.usage?.cached === expected.cached, "cached", content.usage);
  if (expected.reasoning_tokens !== undefined)
    check(
      content.usage?.reasoning === expected.reasoning_tokens,
      "reasoning tokens",
      content.usage,
    );
  if (expected.incomplete_reason !== undefined && content.status === "incomplete")
    check(
      content.incompleteReason === expected.incomplete_reason,
      expected.incomplete_reason,
      content.incompleteReason,
    );
  if (expected.error_includes !== undefined)
    check(
      content.error?.includes(expected.error_includes) === true,
      expected.error_includes,
      content.error,
    );
  if (expected.no_completed_tool === true)
    check(
      !content.calls.some((call) => call.isComplete === true),
      "no complete call",
      content.calls,
    );
  if (expected.chat_finish !== undefined && content.finish !== undefined)
    check(
      content.finish === expected.chat_finish,
      `finish ${expected.chat_finish}`,
      content.finish,
    );
  return faults;
}

function toComparableCall(call: ReplyCall, withNamespace: boolean): object {
  const { kind, name, namespace } = call;
  if (kind === "custom") return { name, input: call.arguments };
  return { ...(withNamespace ? { namespace } : {}), name, arguments: parseArguments(call) };
}

function parseArguments(call: ReplyCall): unknown {
  try {
    return JSON.parse(call.arguments) as unknown;
  } catch {
    return call.arguments;
  }
}
