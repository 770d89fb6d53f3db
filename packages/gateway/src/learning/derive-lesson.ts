import {
  chatApiRejections,
  messagesApiRejections,
  responsesApiRejections,
} from "./api-rejections.ts";
import { historyRejections } from "./history-rejections.ts";
import type { LessonRule, Lesson, UpstreamRejection, RequestAttempt } from "./lesson.ts";
import { messagesRejections } from "./messages-rejections.ts";
import { parameterRejections } from "./parameter-rejections.ts";
import { markRequestSpecific, quotesRequest } from "./request-specific-errors.ts";
import { parseRejection, type ParsedRejection } from "./parse-rejection.ts";
import { responsesRejections } from "./responses-rejections.ts";
import { tokenLimitRejection } from "./token-limit-rejection.ts";
import { toolRejections } from "./tool-rejections.ts";

export type { Lesson, LessonCode, UpstreamRejection, RequestAttempt } from "./lesson.ts";

/**
 * Derives from an upstream's error response how to change the request so that a retry may succeed. Returns undefined for
 * errors that no change fixes (a wrong key, an unknown model, a quota, a full context), and if the change was already applied.
 */
export function deriveLesson(
  rejection: UpstreamRejection,
  attempt: RequestAttempt,
): Lesson | undefined {
  const { status, body } = rejection;
  if (!rejectionStatuses.has(status) && !serverErrorStatuses.has(status)) return undefined;
  const parsed = parseRejection(body);
  if (unrelatedErrorPatterns.some((pattern) => pattern.test(parsed.text))) return undefined;
  for (const { fields: ruleFields, ...rule } of rulesByWire[attempt.speaks]) {
    if (serverErrorStatuses.has(status) && rule.matchesServerErrors !== true) continue;
    if (rule.statuses?.includes(status) === false) continue;
    const matchingTexts = findMatchingTexts(rule, parsed);
    if (matchingTexts === undefined || isAboutOtherFields(ruleFields, parsed, attempt)) continue;
    const change = rule.createChange(attempt, parsed);
    if (change === undefined) continue;
    const { flags = {}, description = rule.description, ...rest } = change;
    const providerMessage = parsed.message.slice(0, maxProviderMessageLength);
    return {
      code: rule.code,
      description,
      providerMessage,
      flags,
      ...rest,
      ...markRequestSpecific(rest.once === true || quotesRequest(matchingTexts, attempt.body)),
    };
  }
  return undefined;
}

/** Returns the parts of the error that match the rule (all `sentences` if the rule has no patterns); undefined if none match. */
function findMatchingTexts(
  { patterns }: LessonRule,
  parsed: ParsedRejection,
): readonly string[] | undefined {
  if (patterns === undefined) return parsed.sentences;
  const matches = patterns.flatMap((pattern) => pattern.exec(parsed.text)?.[0] ?? []);
  return matches.length === 0 ? undefined : matches;
}

/** True if the error refers to fields of the request, and to none that the rule is about. */
function isAboutOtherFields(
  ruleFields: readonly string[] | undefined,
  { fieldNames }: ParsedRejection,
  { body }: RequestAttempt,
): boolean {
  if (ruleFields === undefined) return false;
  // An error about the capabilities of a model may refer to the field `model`.
  const fields = fieldNames.filter((name) => name !== "model" && Object.hasOwn(body, name));
  return fields.length > 0 && !fields.some((name) => ruleFields.includes(name));
}

export const maxProviderMessageLength = 200;

const rulesByWire: Readonly<Record<RequestAttempt["speaks"], readonly LessonRule[]>> = {
  chat: [
    ...chatApiRejections,
    tokenLimitRejection,
    ...historyRejections.map((rule) => ({ fields: ["messages"], ...rule })),
    ...toolRejections.map((rule) => ({ fields: ["tools", "tool_choice", "messages"], ...rule })),
    ...parameterRejections,
  ],
  responses: [...responsesApiRejections, tokenLimitRejection, ...responsesRejections],
  messages: [...messagesApiRejections, tokenLimitRejection, ...messagesRejections],
};

/** OpenRouter answers 404 if no provider supports a parameter, vLLM 501 for unimplemented features. */
const rejectionStatuses = new Set([400, 404, 405, 415, 422, 501]);

/** llama.cpp, Ollama and vLLM send these if a chat template raises an exception. Only for rules with `matchesServerErrors`. */
const serverErrorStatuses = new Set([500, 502]);

/** Errors that may name a parameter but have another cause. */
const unrelatedErrorPatterns = [
  // The context is full: "maximum context length is 8192 tokens … reduce the length of the messages or max_tokens". Groq only
  // compares the limit of output tokens: "the maximum value for `max_tokens` is less than the `context_window`".
  /(?<!is less than the `?)context[ _](?:length|window|size)|maximum context|prompt is too long|input is too long|reduce the length|too many (?:input )?tokens|exceeds?\b(?! (?:the )?model's maximum output)[^.\n]{0,60}tokens?\b/i,
  /api[ _]key|unauthori[sz]ed|authentication|quota|billing|insufficient (?:funds|balance|credits)|rate.?limit|too many requests|overloaded/i,
  /model_not_found|(?:model|engine|deployment)\b[^.\n]{0,60}(?:does not exist|not found|not exist)|unknown model|no such model/i,
  // Anthropic: {"type": "not_found_error", "message": "model: claude-x"}
  /^model: \S+$/m,
  /content[ _]?(?:filter|policy|management)|data_inspection|responsible ?ai|moderation|usage polic/i,
  // The server needs different startup flags (vLLM), or the model made a mistake (Groq)
  /requires --enable-auto-tool-choice|requires --tool-call-parser|tool choice is none, but model called/i,
];
