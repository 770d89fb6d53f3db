import type { ChatMessage, ChatRequest, JsonObject } from "@deltawire/wire";

/** Returns why a strict upstream rejects a request, or undefined if it accepts the request. */
export type UpstreamRule = (request: ChatRequest) => string | undefined;

export const upstreamRules = {
  // These rules have the names of the shared catalog.

  "no-developer-role": ({ messages }) =>
    findMessageError(messages, (message) => {
      if (message.role === "developer") return "unknown role developer";
      return message.content === undefined && getToolCalls(message).length === 0 && "no content";
    }),

  "single-leading-system": ({ messages }) =>
    findMessageError(
      messages,
      ({ role }, index) => index > 0 && isSystemRole(role) && "a later system message",
    ),

  "tool-adjacency": ({ messages }) => findAdjacencyError(messages),

  "no-empty-string-content": ({ messages }) =>
    findAdjacencyError(messages) ??
    findMessageError(messages, ({ content }) => {
      const empty = (part: JsonObject): boolean => part["type"] === "text" && part["text"] === "";
      if (content === "") return "empty content";
      return (
        Array.isArray(content) && (content.length === 0 || content.some(empty)) && "empty part"
      );
    }),

  "needs-reasoning-content": ({ messages }) =>
    findAdjacencyError(messages) ??
    findMessageError(
      messages,
      (message) =>
        message.role === "assistant" &&
        getToolCalls(message).length > 0 &&
        typeof message.reasoning_content !== "string" &&
        "calls without reasoning_content",
    ),

  "mistral-ids": ({ messages }) =>
    findAdjacencyError(messages) ?? findOtherCallId(/^[a-z\d]{9}$/i, messages),

  "kimi-ids": ({ messages }) =>
    findAdjacencyError(messages) ?? findOtherCallId(/^functions\.[\w-]+:\d+$/, messages),

  "no-forced-tool-choice": ({ tool_choice: choice }) =>
    choice === undefined || choice === "auto" || choice === "none"
      ? undefined
      : "tool_choice forces a tool",

  "no-json-schema": ({ response_format: format, messages }) => {
    if (format?.type === "json_schema") return "json_schema";
    const mentionsJson = JSON.stringify(messages).toLowerCase().includes("json");
    return format?.type === "json_object" && !mentionsJson
      ? "json_object without the word json"
      : undefined;
  },

  "stream-only": ({ stream }) => (stream === true ? undefined : "stream is not true"),

  "known-params-only": (request) => {
    const unknown = Object.keys(request).filter((name) => !knownParameters.has(name));
    return unknown.length === 0 ? undefined : `unsupported: ${unknown.join(", ")}`;
  },

  "temperature-1-only": ({ temperature }) =>
    temperature === undefined || temperature === null || temperature === 1
      ? undefined
      : `temperature ${temperature}`,

  "tool-content-string": ({ messages }) => {
    const violation = findAdjacencyError(messages);
    if (violation !== undefined) return violation;
    const tools = messages.filter(({ role }) => role === "tool");
    if (tools.some(({ content }) => typeof content !== "string")) return "parts in a tool message";
    if (JSON.stringify(tools).includes(pngBase64Prefix)) return "base64 as text in a tool message";
    const users = messages.filter(({ role }) => role === "user");
    return JSON.stringify(users).includes(pngBase64Prefix) ? undefined : "the image is missing";
  },

  "params-required": ({ tools }) =>
    (tools ?? []).some((tool) => tool.type !== "function" || !isObject(tool.function.parameters))
      ? "a function without parameters"
      : undefined,

  "moonshot-schema": ({ tools }) => {
    for (const tool of tools ?? []) {
      const violation =
        tool.type === "function" ? findMoonshotError(tool.function.parameters) : undefined;
      if (violation !== undefined) return violation;
    }
    return undefined;
  },

  "function-tools-only": ({ tools }) => {
    if (!tools || tools.length === 0) return "no tools";
    const invalid = tools.find(
      (tool) => tool.type !== "function" || !/^[\w-]{1,64}$/.test(tool.function.name),
    );
    return invalid === undefined ? undefined : `not a function: ${JSON.stringify(invalid)}`;
  },

  // These rules are our own. Each follows from an error message of a provider (see `provider-profiles.ts`).

  "no-user-after-tool": ({ messages }) =>
    findAdjacencyError(messages) ??
    findMessageError(
      messages,
      ({ role }, index) =>
        role === "user" && messages[index - 1]?.role === "tool" && "user after tool",
    ),

  "string-tool-choice": ({ tool_choice: choice }) =>
    typeof choice === "object" && choice !== null ? "tool_choice is an object" : undefined,

  "auto-tool-choice": ({ tool_choice: choice }) =>
    choice === undefined || choice === "auto" ? undefined : "tool_choice is not auto",

  "no-json-object": ({ response_format: format }) =>
    format?.type === "json_object" ? "json_object" : undefined,

  "no-response-format": ({ response_format: format }) =>
    format === undefined ? undefined : "response_format",

  "no-format-beside-tools": ({ response_format: format, tools }) =>
    format !== undefined && (tools ?? []).length > 0 ? "response_format with tools" : undefined,

  "no-stream-options": ({ stream_options: options }) =>
    options === undefined ? undefined : "stream_options",

  "no-max-tokens": ({ max_tokens: limit }) => (limit === undefined ? undefined : "max_tokens"),

  "no-null-content": ({ messages }) =>
    findMessageError(messages, ({ content }) => content === null && "content is null"),

  "no-reasoning-content": ({ messages }) =>
    findMessageError(
      messages,
      (message) =>
        message.role === "assistant" &&
        message.reasoning_content !== undefined &&
        "reasoning_content",
    ),

  "thinks-in-tags": ({ messages }) =>
    findMessageError(messages, ({ role, content }) => {
      const hasThinkTag = typeof content === "string" && content.startsWith("<think>\n");
      return role === "assistant" && !hasThinkTag && "content does not start with <think>";
    }),
} satisfies Record<string, UpstreamRule>;

export type RuleName = keyof typeof upstreamRules;

const knownParameters = new Set(
  "model messages stream stream_options tools tool_choice temperature top_p max_tokens stop response_format reasoning_effort".split(
    " ",
  ),
);

/** The first bytes of every PNG file, in base64. */
const pngBase64Prefix = "iVBORw0KGgo";

function findMessageError(
  messages: readonly ChatMessage[],
  check: (message: ChatMessage, index: number) => string | false,
): string | undefined {
  for (const [index, message] of messages.entries()) {
    const violation = check(message, index);
    if (violation !== false) return `messages[${index}]: ${violation}`;
  }
  return undefined;
}

/** Each call must be followed directly by exactly one result, and results may not occur elsewhere. */
function findAdjacencyError(messages: readonly ChatMessage[]): string | undefined {
  let openCalls = new Set<string>();
  for (const [index, message] of messages.entries()) {
    if (message.role === "tool") {
      if (!openCalls.delete(message.tool_call_id))
        return `messages[${index}]: no open call ${message.tool_call_id}`;
      continue;
    }
    if (openCalls.size > 0) return `messages[${index}]: no result for ${[...openCalls].join(", ")}`;
    openCalls = new Set(getToolCalls(message).map(({ id }) => id));
    if (openCalls.size < getToolCalls(message).length)
      return `messages[${index}]: two calls with the same id`;
  }
  return openCalls.size > 0 ? `at the end: no result for ${[...openCalls].join(", ")}` : undefined;
}

function findOtherCallId(pattern: RegExp, messages: readonly ChatMessage[]): string | undefined {
  return findMessageError(messages, (message) => {
    const invalid = getToolCalls(message).find(({ id }) => !pattern.test(id));
    return invalid !== undefined && `id ${invalid.id}`;
  });
}

function getToolCalls(message: ChatMessage): { id: string }[] {
  return message.role === "assistant" ? (message.tool_calls ?? []) : [];
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isSystemRole(role: string): boolean {
  return role === "system" || role === "developer";
}

function findMoonshotError(value: unknown): string | undefined {
  if (!isObject(value)) return undefined;
  const { type, anyOf, $ref: reference, properties } = value;
  if (anyOf !== undefined && type !== undefined) return "type next to anyOf";
  if (reference !== undefined && Object.keys(value).length > 1) return "keywords next to $ref";
  for (const [name, property] of Object.entries(isObject(properties) ? properties : {})) {
    const hasType =
      isObject(property) &&
      ["type", "anyOf", "$ref"].some((keyword) => property[keyword] !== undefined);
    const violation = hasType ? findMoonshotError(property) : "no type";
    if (violation !== undefined) return `${name}: ${violation}`;
  }
  for (const choice of Array.isArray(anyOf) ? anyOf : []) {
    const violation = findMoonshotError(choice);
    if (violation !== undefined) return violation;
  }
  return undefined;
}
