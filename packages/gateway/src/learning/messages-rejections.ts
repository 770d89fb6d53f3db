import { isObject, type JsonObject, type MessagesFlags } from "@deltawire/wire";
import { filterObjects } from "./inspect-request.ts";
import type { LessonChange, LessonRule, RequestAttempt } from "./lesson.ts";
import { isAboutCombination, markRequestSpecific } from "./request-specific-errors.ts";

/*
 * Errors of Messages upstreams. The comments name the servers and issues that the patterns come from. Clients of the same API,
 * such as Claude Code, know most of these errors and change their requests by themselves, with the headers that belong to a
 * field; so they only get the changes that they could not make.
 */

export const messagesRejections: readonly LessonRule[] = [
  // Anthropic, Bedrock and Vertex for thinking that another provider signed, or that is too old
  {
    code: "signature",
    patterns: [/invalid ["'`]?signature/i, /signature[^\n]{0,60}(?:invalid|not valid|verif)/i],
    description: "rejects the signatures of earlier thinking; it is omitted",
    createChange: ({ messages = {}, body }) =>
      messages.dropThinking !== true && hasThinkingBlocks(body)
        ? { messages: { dropThinking: true }, once: true }
        : undefined,
  },

  // DeepSeek (api-docs "Anthropic API"), Kimi: thinking is not signed, and required in the history
  {
    code: "reasoning_required",
    patterns: [
      /thinking[^\n]{0,80}must be (?:passed|sent) back/i,
      /reasoning_content[^\n]{0,40}(?:missing|required)/i,
    ],
    description:
      "requires earlier thinking, which it does not sign; it is sent without a signature",
    createChange: ({ messages = {} }) =>
      messages.unsignedThinking === true ? undefined : { messages: { unsignedThinking: true } },
  },

  // Anthropic, if the last call has no thinking before it
  {
    code: "thinking",
    patterns: [/expected [^\n]{0,30}thinking[^\n]{0,60}but found/i],
    description:
      "requires thinking before the last call, which is not known; no thinking is requested",
    createChange: ({ messages = {}, clientApi, body }) => {
      if (clientApi === "messages") return dropThinkingFields(messages, body, { once: true });
      return messages.thinkingStyle === "none"
        ? undefined
        : { messages: { thinkingStyle: "none" }, once: true };
    },
  },

  // Anthropic's models before 4.6, vLLM 31988
  {
    code: "thinking",
    patterns: [
      /adaptive thinking is not supported/i,
      /thinking\.type[^\n]{0,80}adaptive[^\n]{0,60}(?:not supported|unsupported|invalid)/i,
      /Input tag ["'`]?adaptive/i,
    ],
    description: "does not support adaptive thinking; a budget is sent",
    createChange: ({ messages = {}, clientApi }) =>
      clientApi === "messages" || messages.thinkingStyle !== "adaptive"
        ? undefined
        : { messages: { thinkingStyle: "budget" } },
  },

  // Anthropic's models from 5 on
  {
    code: "thinking",
    patterns: [
      /thinking\.type[^\n]{0,40}enabled[^\n]{0,60}(?:not supported|unsupported)/i,
      /use ["'`]?(?:thinking\.type\.)?adaptive/i,
    ],
    description: "supports only adaptive thinking; the effort is sent with it",
    createChange: ({ messages = {}, clientApi }) =>
      clientApi === "messages" || messages.thinkingStyle === "adaptive"
        ? undefined
        : { messages: { thinkingStyle: "adaptive" } },
  },

  // Haiku 3.5 and models of other providers
  {
    code: "thinking",
    patterns: [
      /(?:does(?: not|n't)|not) support(?:ed)? (?:extended )?thinking/i,
      /(?<!(?:adaptive|interleaved) )thinking["'`]?(?::| is| are)? ?(?:not supported|unsupported|extra inputs)/i,
    ],
    description: "does not support thinking; none is requested",
    createChange: ({ messages = {}, clientApi, body }, { text }) => {
      // "… when tool_choice forces tool use"
      const change = markRequestSpecific(isAboutCombination(text));
      if (clientApi === "messages") return dropThinkingFields(messages, body, change);
      return messages.thinkingStyle === "none"
        ? undefined
        : { messages: { thinkingStyle: "none" }, ...change };
    },
  },

  // Anthropic's models before 4.5
  {
    code: "effort",
    patterns: [
      /does not support the effort parameter/i,
      /output_config[^\n]{0,40}(?:extra inputs|not permitted|unknown|unsupported|not supported)/i,
    ],
    description: "does not support an effort; a thinking budget is sent",
    createChange: ({ messages = {}, clientApi }) =>
      clientApi === "messages" || messages.thinkingStyle !== "adaptive"
        ? undefined
        : { messages: { thinkingStyle: "budget" } },
  },

  // Every server of another provider than Anthropic
  {
    code: "late_system",
    patterns: [
      /messages\.\d+\.role/i,
      /role ["'`]?system["'`]?[^\n]{0,40}(?:not supported|unsupported|unexpected|invalid)/i,
      /unexpected role ["'`]?system/i,
    ],
    description: "supports no later system messages; they are sent as text of the user",
    createChange: ({ messages = {}, clientApi }) =>
      clientApi !== "messages" && messages.lateSystemMessages === "keep"
        ? { messages: { lateSystemMessages: "reminder" } }
        : undefined,
  },

  {
    code: "parameter",
    description: "does not support a parameter; it is omitted",
    createChange: (attempt, { rejected }) =>
      attempt.clientApi === "messages"
        ? undefined
        : dropParameters(rejected.flatMap(toParameterName), attempt),
  },
];

const requiredParameters = new Set(["model", "messages", "max_tokens", "system", "tools"]);

function toParameterName(path: readonly string[]): string[] {
  const [name = "", ...inner] = path;
  // `cache_control` is nested in contents and tools.
  if (inner.at(-1) === "cache_control" || name === "cache_control") return ["cache_control"];
  return inner.length === 0 && !requiredParameters.has(name) ? [name] : [];
}

function dropParameters(
  names: readonly string[],
  { messages = {}, body }: RequestAttempt,
): LessonChange | undefined {
  const { droppedParameters: alreadyDropped = [], cacheMarks } = messages;
  const marks = names.includes("cache_control") && cacheMarks !== false;
  const droppedParameters = names.filter(
    (name) => name in body && !alreadyDropped.includes(name) && !requiredParameters.has(name),
  );
  if (!marks && droppedParameters.length === 0) return undefined;
  return {
    messages: {
      ...(marks ? { cacheMarks: false } : {}),
      ...(droppedParameters.length === 0 ? {} : { droppedParameters }),
    },
    description: `does not support ${[...(marks ? ["cache_control"] : []), ...droppedParameters].join(", ")}; omitted`,
  };
}

/** `context_management` refers to thinking, and is rejected without it. */
function dropThinkingFields(
  { droppedParameters: alreadyDropped = [] }: MessagesFlags,
  body: JsonObject,
  change: Pick<LessonChange, "once"> = {},
): LessonChange | undefined {
  const names = ["thinking", "context_management"].filter(
    (name) => name in body && !alreadyDropped.includes(name),
  );
  return names.length === 0 ? undefined : { messages: { droppedParameters: names }, ...change };
}

function hasThinkingBlocks({ messages }: JsonObject): boolean {
  return filterObjects(messages).some(({ content }) =>
    (Array.isArray(content) ? content.filter(isObject) : []).some(
      ({ type }) => type === "thinking" || type === "redacted_thinking",
    ),
  );
}
