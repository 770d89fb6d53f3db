import { isObject, type JsonObject, type JsonValue } from "../json.ts";
import type { Repairs } from "../repairs.ts";
import type { ChatContentPart, ChatMessage } from "../shapes/chat-request.ts";
import type { UpstreamProfile } from "../upstream-profile.ts";
import type { ResponsesRequest } from "../shapes/responses-request.ts";

/* Explicit prompt caching (OpenAI, 2026): a part of the input marks the end of a prefix to cache. Both wires have it. */

const field = "prompt_cache_breakpoint";

/** Returns the breakpoint of a part as a field, for the converted part. */
export function toBreakpointField(part: JsonObject): JsonObject {
  const breakpoint = part[field];
  return isObject(breakpoint) ? { [field]: breakpoint } : {};
}

export function hasBreakpoint(part: JsonObject): boolean {
  return isObject(part[field]);
}

/** Anthropic rejects requests with more than four. DashScope only uses the last four. */
const maxCacheControls = 4;

/**
 * Replaces breakpoints by Anthropic's `cache_control` if the profile supports it. As OpenAI writes only the latest breakpoints,
 * only the last four remain. Returns the same messages if there are none.
 */
export function toCacheControl(
  messages: ChatMessage[],
  { cacheControl }: UpstreamProfile,
  repairs: Repairs,
): ChatMessage[] {
  if (!cacheControl || !messages.some(hasBreakpointPart)) return messages;
  const ownCount = messages.flatMap(getParts).filter((part) => isObject(part["cache_control"]));
  let remaining = maxCacheControls - ownCount.length;
  const convertPart = (part: ChatContentPart): ChatContentPart => {
    if (!hasBreakpoint(part)) return part;
    const { [field]: _breakpoint, ...rest } = part;
    if (isObject(part["cache_control"])) return rest;
    remaining -= 1;
    if (remaining < 0) repairs.add("parameter_dropped", field);
    else repairs.add("parameter_changed", `${field} -> cache_control`);
    const added = remaining < 0 ? {} : { cache_control: { type: "ephemeral" } };
    return { ...rest, ...added };
  };
  const convertMessage = (message: ChatMessage): ChatMessage => {
    if (!hasBreakpointPart(message)) return message;
    const content = getParts(message).toReversed().map(convertPart).toReversed();
    return { ...message, content } as ChatMessage;
  };
  return messages.toReversed().map(convertMessage).toReversed();
}

function getParts({ content }: ChatMessage): ChatContentPart[] {
  return Array.isArray(content) ? content : [];
}

export function hasBreakpointPart(message: ChatMessage): boolean {
  return getParts(message).some(hasBreakpoint);
}

/** Removes the breakpoints if the upstream does not support them. Returns the same input if there are none. */
export function dropUnsupportedBreakpoints(
  input: ResponsesRequest["input"],
  { parameters, droppedParameters, cacheControl }: UpstreamProfile,
  repairs: Repairs,
): ResponsesRequest["input"] {
  const isSupported = cacheControl || parameters === "all" || parameters.includes(field);
  if (!Array.isArray(input) || (isSupported && !droppedParameters.includes(field))) return input;
  let count = 0;
  const withoutBreakpoint = (part: JsonValue): JsonValue => {
    if (!isObject(part) || part[field] === undefined) return part;
    count += 1;
    const { [field]: _breakpoint, ...rest } = part;
    return rest;
  };
  const items = input.map((item) => {
    const earlierCount = count;
    const changes: JsonObject = {};
    for (const name of ["content", "output"]) {
      const value: JsonValue | undefined = (item as JsonObject)[name];
      if (Array.isArray(value)) changes[name] = value.map(withoutBreakpoint);
    }
    return count === earlierCount ? item : { ...item, ...changes };
  });
  if (count === 0) return input;
  repairs.add("parameter_dropped", field);
  return items;
}
