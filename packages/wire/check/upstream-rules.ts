import type { ChatMessage, ChatRequest, JsonObject } from "@deltawire/wire";

/** What a strict upstream has against a request; undefined when it takes it. */
export type UpstreamRule = (request: ChatRequest) => string | undefined;

export const upstreamRules = {
  // Those of the shared catalogue, under its names

  "no-developer-role": ({ messages }) =>
    complaint(messages, (message) => {
      if (message.role === "developer") return "unknown role developer";
      return message.content === undefined && callsOf(message).length === 0 && "no content";
    }),

  "single-leading-system": ({ messages }) =>
    complaint(
      messages,
      ({ role }, index) => index > 0 && isSystem(role) && "a later system message",
    ),

  "tool-adjacency": ({ messages }) => adjacency(messages),

  "no-empty-string-content": ({ messages }) =>
    adjacency(messages) ??
    complaint(messages, ({ content }) => {
      const empty = (part: JsonObject): boolean => part["type"] === "text" && part["text"] === "";
      if (content === "") return "empty content";
      return (
        Array.isArray(content) && (content.length === 0 || content.some(empty)) && "empty part"
      );
    }),

  "needs-reasoning-content": ({ messages }) =>
    adjacency(messages) ??
    complaint(
      messages,
      (message) =>
        message.role === "assistant" &&
        callsOf(message).length > 0 &&
        typeof message.reasoning_content !== "string" &&
        "calls without reasoning_content",
    ),

  "mistral-ids": ({ messages }) => adjacency(messages) ?? idsLike(/^[a-z\d]{9}$/i, messages),

  "kimi-ids": ({ messages }) => adjacency(messages) ?? idsLike(/^functions\.[\w-]+:\d+$/, messages),

  "no-forced-tool-choice": ({ tool_choice: choice }) =>
    choice === undefined || choice === "auto" || choice === "none" ? undefined : "a forced tool",

  "no-json-schema": ({ response_format: format, messages }) => {
    if (format?.type === "json_schema") return "json_schema";
    const said = JSON.stringify(messages).toLowerCase().includes("json");
    return format?.type === "json_object" && !said ? "json_object without the word" : undefined;
  },

  "stream-only": ({ stream }) => (stream === true ? undefined : "not a stream"),

  "known-params-only": (request) => {
    const unknown = Object.keys(request).filter((name) => !knownParameters.has(name));
    return unknown.length === 0 ? undefined : `unsupported: ${unknown.join(", ")}`;
  },

  "temperature-1-only": ({ temperature }) =>
    temperature === undefined || temperature === null || temperature === 1
      ? undefined
      : `temperature ${temperature}`,

  "tool-content-string": ({ messages }) => {
    const refused = adjacency(messages);
    if (refused !== undefined) return refused;
    const tools = messages.filter(({ role }) => role === "tool");
    if (tools.some(({ content }) => typeof content !== "string")) return "parts in a tool message";
    if (JSON.stringify(tools).includes(pngStart)) return "base64 as text in a tool message";
    const users = messages.filter(({ role }) => role === "user");
    return JSON.stringify(users).includes(pngStart) ? undefined : "the picture is lost";
  },

  "params-required": ({ tools }) =>
    (tools ?? []).some((tool) => tool.type !== "function" || !isObject(tool.function.parameters))
      ? "a function without parameters"
      : undefined,

  "moonshot-schema": ({ tools }) => {
    for (const tool of tools ?? []) {
      const flaw = tool.type === "function" ? moonshotFlaw(tool.function.parameters) : undefined;
      if (flaw !== undefined) return flaw;
    }
    return undefined;
  },

  "function-tools-only": ({ tools }) => {
    if (!tools || tools.length === 0) return "no tools";
    const wrong = tools.find(
      (tool) => tool.type !== "function" || !/^[\w-]{1,64}$/.test(tool.function.name),
    );
    return wrong === undefined ? undefined : `not a function: ${JSON.stringify(wrong)}`;
  },

  // Our own, each after an error message that a provider sends (`provider-profiles.ts` says which)

  "no-user-after-tool": ({ messages }) =>
    adjacency(messages) ??
    complaint(
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
    format !== undefined && (tools ?? []).length > 0 ? "response_format beside tools" : undefined,

  "no-stream-options": ({ stream_options: options }) =>
    options === undefined ? undefined : "stream_options",

  "no-max-tokens": ({ max_tokens: limit }) => (limit === undefined ? undefined : "max_tokens"),

  "no-null-content": ({ messages }) =>
    complaint(messages, ({ content }) => content === null && "content is null"),

  "no-reasoning-content": ({ messages }) =>
    complaint(
      messages,
      (message) =>
        message.role === "assistant" &&
        message.reasoning_content !== undefined &&
        "reasoning_content",
    ),

  "thinks-in-tags": ({ messages }) =>
    complaint(messages, ({ role, content }) => {
      const thinks = typeof content === "string" && content.startsWith("<think>\n");
      return role === "assistant" && !thinks && "no thinking in the content";
    }),
} satisfies Record<string, UpstreamRule>;

export type RuleName = keyof typeof upstreamRules;

const knownParameters = new Set(
  "model messages stream stream_options tools tool_choice temperature top_p max_tokens stop response_format reasoning_effort".split(
    " ",
  ),
);

/** The first bytes of every PNG, in base64. */
const pngStart = "iVBORw0KGgo";

function complaint(
  messages: readonly ChatMessage[],
  look: (message: ChatMessage, index: number) => string | false,
): string | undefined {
  for (const [index, message] of messages.entries()) {
    const found = look(message, index);
    if (found !== false) return `messages[${index}]: ${found}`;
  }
  return undefined;
}

/** Calls, then exactly one result for each of them and nothing else between; no result anywhere else. */
function adjacency(messages: readonly ChatMessage[]): string | undefined {
  let open = new Set<string>();
  for (const [index, message] of messages.entries()) {
    if (message.role === "tool") {
      if (!open.delete(message.tool_call_id))
        return `messages[${index}]: no open call ${message.tool_call_id}`;
      continue;
    }
    if (open.size > 0) return `messages[${index}]: no result for ${[...open].join(", ")}`;
    open = new Set(callsOf(message).map(({ id }) => id));
    if (open.size < callsOf(message).length) return `messages[${index}]: one id for two calls`;
  }
  return open.size > 0 ? `at the end: no result for ${[...open].join(", ")}` : undefined;
}

function idsLike(form: RegExp, messages: readonly ChatMessage[]): string | undefined {
  return complaint(messages, (message) => {
    const wrong = callsOf(message).find(({ id }) => !form.test(id));
    return wrong !== undefined && `id ${wrong.id}`;
  });
}

function callsOf(message: ChatMessage): { id: string }[] {
  return message.role === "assistant" ? (message.tool_calls ?? []) : [];
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isSystem(role: string): boolean {
  return role === "system" || role === "developer";
}

function moonshotFlaw(value: unknown): string | undefined {
  if (!isObject(value)) return undefined;
  const { type, anyOf, $ref: reference, properties } = value;
  if (anyOf !== undefined && type !== undefined) return "type beside anyOf";
  if (reference !== undefined && Object.keys(value).length > 1) return "keywords beside $ref";
  for (const [name, property] of Object.entries(isObject(properties) ? properties : {})) {
    const settled =
      isObject(property) &&
      ["type", "anyOf", "$ref"].some((keyword) => property[keyword] !== undefined);
    const flaw = settled ? moonshotFlaw(property) : "no type";
    if (flaw !== undefined) return `${name}: ${flaw}`;
  }
  for (const choice of Array.isArray(anyOf) ? anyOf : []) {
    const flaw = moonshotFlaw(choice);
    if (flaw !== undefined) return flaw;
  }
  return undefined;
}
