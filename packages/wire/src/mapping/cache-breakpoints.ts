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

/** Marks a part as the end of a prefix to cache. */
export function setBreakpoint(part: JsonObject): void {
  part[field] = { mode: "explicit" };
}

/** Returns Anthropic's mark for a part with a breakpoint or a mark; undefined for other parts. */
export function toCacheMark(part: JsonObject): JsonObject | undefined {
  const mark = part["cache_control"];
  if (!isObject(mark)) return hasBreakpoint(part) ? { type: "ephemeral" } : undefined;
  return { type: "ephemeral", ...(typeof mark["ttl"] === "string" ? { ttl: mark["ttl"] } : {}) };
}

/** Removes all breakpoints but the last four, which are those that OpenAI writes. */
export function keepLastBreakpoints(parts: readonly JsonObject[], repairs: Repairs): void {
  const marked = parts.filter(hasBreakpoint);
  for (const part of marked.slice(0, Math.max(0, marked.length - maxCacheControls))) {
    delete part[field];
    repairs.add("parameter_dropped", field);
  }
}

/** True if a Chat upstream takes breakpoints, in one of their two forms. */
export function acceptsBreakpoints(profile: UpstreamProfile): boolean {
  if (profile.cacheControl) return !profile.droppedParameters.includes(field);
  return isListedParameter(profile, field);
}

/** True if the profile names a parameter as one that the upstream knows. */
export function isListedParameter(
  { parameters, droppedParameters }: UpstreamProfile,
  name: string,
): boolean {
  return parameters !== "all" && parameters.includes(name) && !droppedParameters.includes(name);
}

/** Anthropic rejects requests with more than four. DashScope only uses the last four. */
export const maxCacheControls = 4;

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
