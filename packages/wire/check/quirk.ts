import { isDeepStrictEqual } from "node:util";
import {
  chatRequest,
  decodeResponsesRequest,
  genericProfile,
  withFlags,
  type Profile,
  type ToolBridge,
} from "@deltawire/wire";
import { chatSequenceFaults } from "./chat-sequence.ts";
import { passedSequenceFaults } from "./passed-sequence.ts";
import {
  playResponsesToChat,
  playResponsesToResponses,
  playToChat,
  playToResponses,
  type PlayOptions,
} from "./play.ts";
import { responseSequenceFaults } from "./response-sequence.ts";
import { ruleFlags } from "./rule-flags.ts";
import { saidInPassing, saidOnChat, saidOnResponses, type Said, type SaidCall } from "./said.ts";
import { upstreamRules, type RuleName } from "./upstream-rules.ts";

/** A case of a quirk catalogue: what an upstream sends, or a request and the rule by which it is refused, or both. */
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

/** The tools that the catalogue's client declares. */
const offered = new Set(["get_weather", "get_time", "web_fetch", "web_search", "health"]);
const tools: ToolBridge = {
  upstreamNames: offered,
  declared: (name) => (offered.has(name) ? { kind: "function", name } : undefined),
};

const knownClasses = new Set(["stream", "nonstream", "responses-upstream", "request", "output"]);

/** Optional cases are repaired only under a profile that says so: these flags. */
const optionalFlags: Readonly<Record<string, Partial<Profile>>> = {
  "TC-LEAK-HERMES": { leakedCalls: ["hermes"] },
  "TC-LEAK-QWEN-XML": { leakedCalls: ["qwen-xml"] },
  "TC-LEAK-KIMI": { leakedCalls: ["kimi"] },
  "RS-THINK-CLOSE-ONLY": { startsInsideThink: true },
};

/**
 * Under which flags a case is to be played, each set by itself, beside the generic profile's; a string says why it
 * cannot be played.
 */
export function flagsFor(quirk: Quirk): readonly Partial<Profile>[] | string {
  if (!quirk.wire && !quirk.rule) return "no wire data";
  const sets = isRule(quirk.rule) ? ruleFlags[quirk.rule] : [];
  if (quirk.optional !== true || sets.length > 0) return sets.length > 0 ? sets : [{}];
  const flags = optionalFlags[quirk.id];
  return flags === undefined ? "optional, and no flag is known for it" : [flags];
}

/** Plays one case and answers what came out wrong, in words. */
export function quirkFaults(quirk: Quirk, options: PlayOptions = {}): string[] {
  const unknown = Object.keys(quirk.expect ?? {}).filter((field) => !knownExpectations.has(field));
  if (unknown.length > 0) return [`expect.${unknown.join(", expect.")}: unknown to this check`];
  if (!knownClasses.has(quirk.class)) return [`class ${quirk.class}: unknown to this check`];
  const sets = flagsFor(quirk);
  if (typeof sets === "string") return [sets];
  const expect = quirk.class === "nonstream" ? "whole" : "stream";
  return sets.flatMap((flags) => {
    const profile = withFlags(genericProfile, flags);
    const all: PlayOptions = { tools, profile, expect, ...options };
    if (quirk.request !== undefined || quirk.rule) return requestFaults(quirk, profile);
    return quirk.wire?.responses === true
      ? responsesUpstreamFaults(quirk, all)
      : [...toResponsesFaults(quirk, all), ...toChatFaults(quirk, all)];
  });
}

/** The body as the catalogue's upstream would send it, in its pieces. */
export function readsOf({ wire }: Quirk): (string | Uint8Array)[] {
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

/** A Chat upstream's reply, to a Responses client. */
function toResponsesFaults(quirk: Quirk, options: PlayOptions): string[] {
  const { out } = playToResponses(readsOf(quirk), options);
  return [...responseSequenceFaults(out), ...differences("Responses", quirk, saidOnResponses(out))];
}

/** The same to a Chat client. */
function toChatFaults(quirk: Quirk, options: PlayOptions): string[] {
  const { out } = playToChat(readsOf(quirk), options);
  return [...chatSequenceFaults(out), ...differences("Chat", quirk, saidOnChat(out, 0))];
}

/** A Responses upstream's reply, to both kinds of client. */
function responsesUpstreamFaults(quirk: Quirk, options: PlayOptions): string[] {
  const reads = readsOf(quirk);
  const chat = playResponsesToChat(reads, options).out;
  const passed = playResponsesToResponses(reads, options).out;
  return [
    ...chatSequenceFaults(chat),
    ...differences("Chat", quirk, saidOnChat(chat, 0)),
    ...passedSequenceFaults(passed),
    ...differences("Responses", quirk, saidInPassing(passed)),
  ];
}

/** A Responses client's request to a strict Chat upstream, and the reply to it. */
function requestFaults(quirk: Quirk, profile: Profile): string[] {
  const { rule, wire, request } = quirk;
  if (request === undefined) return ["a rule without a request"];
  if (rule && !isRule(rule)) return [`rule ${rule}: unknown to this check`];
  // The catalogue's client asks for a stream, where the case does not say otherwise.
  const decoded = decodeResponsesRequest({ stream: true, ...structuredClone(request) });
  const { body, tools: bridge } = chatRequest(decoded, { upstreamModel: "q", profile });
  const refusal = isRule(rule) ? upstreamRules[rule](body) : undefined;
  const faults = refusal === undefined ? [] : [`refused by ${rule}: ${refusal}`];
  if (!wire) return faults;
  const [first] = body.tools ?? [];
  const name = first?.type === "custom" ? first.custom.name : first?.function.name;
  const filled = JSON.stringify(wire).replaceAll("$FIRST_TOOL", name ?? "tool");
  const reply = { ...quirk, wire: JSON.parse(filled) as NonNullable<Quirk["wire"]> };
  return [...faults, ...toResponsesFaults(reply, { tools: bridge, profile })];
}

function isRule(name: string | null | undefined): name is RuleName {
  return typeof name === "string" && Object.hasOwn(upstreamRules, name);
}

function differences(wire: string, quirk: Quirk, said: Said): string[] {
  const faults: string[] = [];
  const check = (good: boolean, what: string, got: unknown) => {
    if (!good) faults.push(`${wire}: ${what}, got ${JSON.stringify(got)?.slice(0, 200)}`);
  };
  const { expect: expected = { status: "completed" } } = quirk;
  const { status, text, reasoning, usage } = expected;
  if (status !== undefined)
    check([status].flat().includes(said.status), `status ${String(status)}`, said);
  if (text !== undefined) check(said.text.trim() === text, `text ${text}`, said.text);
  if (reasoning !== undefined)
    check(said.reasoning.trim() === reasoning, `reasoning ${reasoning}`, said.reasoning);
  const { tool_calls: plain, namespaced_calls: namespaced, custom_calls: custom } = expected;
  const functions = namespaced ?? plain;
  if (functions !== undefined || custom !== undefined) {
    const wanted = [...(functions ?? []), ...(custom ?? [])];
    const got = [
      ...said.calls.filter(({ kind }) => kind === "function"),
      ...said.calls.filter(({ kind }) => kind === "custom"),
    ].map((call) => callForm(call, namespaced !== undefined));
    check(isDeepStrictEqual(got, wanted), `calls ${JSON.stringify(wanted)}`, got);
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

function callForm(call: SaidCall, withNamespace: boolean): object {
  const { kind, name, namespace } = call;
  if (kind === "custom") return { name, input: call.arguments };
  return { ...(withNamespace ? { namespace } : {}), name, arguments: parsed(call) };
}

function parsed(call: SaidCall): unknown {
  try {
    return JSON.parse(call.arguments) as unknown;
  } catch {
    return call.arguments;
  }
}
