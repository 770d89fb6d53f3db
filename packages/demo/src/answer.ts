import type { ChatRequest } from "@deltawire/wire";
import { buildJsonAnswer, getRequestedSchema } from "./json-answer.ts";
import { chooseCalls } from "./choose-calls.ts";
import { isHandoff, parseConversation, type DemoConversation } from "./conversation.ts";
import { countRequestTokens, countTokens, buildUsage, type DemoUsage } from "./count-tokens.ts";
import { planWaitCalls } from "./agent-calls.ts";
import {
  getOfferedTools,
  type OfferedTool,
  type CallPlan,
  type PlannedCall,
} from "./offered-tools.ts";
import {
  isChinese,
  reportResults,
  describeAttachments,
  buildTextAnswer,
  summarizeConversation,
} from "./answer-text.ts";
import { extractExactText, buildShowcase } from "./showcase.ts";
import { buildRequestedTitle } from "./title.ts";

/** The demo model's answer. */
export interface DemoAnswer {
  parts: AnswerPart[];
  finishReason: "stop" | "tool_calls" | "length";
  usage: DemoUsage;
  /** Number of identical choices: `n` of the request. */
  choiceCount: number;
}

export type AnswerPart =
  | { type: "reasoning"; text: string }
  | { type: "text"; text: string }
  | { type: "call"; kind: "function" | "custom"; name: string; input: string };

const maxChoices = 8;

/** Generates an answer by rules: the same request always gets the same answer. */
export function generateAnswer(request: ChatRequest): DemoAnswer {
  const { parts, isTruncated } = truncateParts(buildParts(request), getTokenLimit(request));
  const choiceCount = Math.min(Math.max(Math.trunc(request.n ?? 1), 1), maxChoices);
  const tokens = { completion: 0, reasoning: 0 };
  for (const part of parts) {
    const count = countPartTokens(part) * choiceCount;
    tokens.completion += count;
    if (part.type === "reasoning") tokens.reasoning += count;
  }
  return {
    parts,
    finishReason: isTruncated
      ? "length"
      : parts.some(({ type }) => type === "call")
        ? "tool_calls"
        : "stop",
    usage: buildUsage(countRequestTokens(request), tokens.completion, tokens.reasoning),
    choiceCount,
  };
}

function buildParts(request: ChatRequest): AnswerPart[] {
  const conversation = parseConversation(request);
  const tools = getOfferedTools(request).filter(
    ({ name }) => !isHandoff(name) || !conversation.calledTools.includes(name),
  );
  const plan = planNextCalls(request, conversation, tools);
  const hasReasoning = request.reasoning_effort !== "none";
  const text = plan.calls.length > 0 ? plan.text : buildAnswerText(request, conversation, tools);
  return [
    ...(hasReasoning
      ? [{ type: "reasoning" as const, text: buildReasoning(conversation, plan) }]
      : []),
    ...(text === "" ? [] : [{ type: "text" as const, text }]),
    ...plan.calls.map(toCallPart),
  ];
}

/**
 * Returns the calls of this round. Usually all calls are made in the first round; with "in N steps" or without parallel
 * calls, one per round.
 */
function planNextCalls(
  request: ChatRequest,
  conversation: DemoConversation,
  tools: readonly OfferedTool[],
): CallPlan {
  const noCalls = { calls: [], text: "" };
  const { prompt, results, summary } = conversation;
  if (tools.length === 0 || summary !== undefined || isSummaryRequest(prompt)) return noCalls;
  // Text to repeat exactly is not a request to call tools.
  if (extractExactText(prompt) !== undefined) return noCalls;
  const waitCalls = request.tool_choice === "none" ? [] : planWaitCalls(results, tools);
  if (waitCalls.length > 0) return { calls: waitCalls, text: "I am waiting for the answer." };
  const plan = chooseCalls(prompt, request, tools);
  const steps = Math.min(Number(/\bin (\d+) steps?\b/i.exec(prompt)?.[1] ?? 0), 50);
  const completedSteps = results.length;
  if (steps > 0) {
    const call = plan.calls[completedSteps % Math.max(plan.calls.length, 1)];
    if (call === undefined || completedSteps >= steps) return noCalls;
    return { calls: [call], text: `Step ${completedSteps + 1} of ${steps}. ${plan.text}` };
  }
  if (request.parallel_tool_calls !== false) return completedSteps === 0 ? plan : noCalls;
  const call = plan.calls[completedSteps];
  return call === undefined ? noCalls : { ...plan, calls: [call] };
}

function toCallPart(call: PlannedCall): AnswerPart {
  const input = call.kind === "custom" ? call.input : JSON.stringify(call.arguments);
  return { type: "call", kind: call.kind, name: call.name, input };
}

function buildAnswerText(
  request: ChatRequest,
  conversation: DemoConversation,
  tools: readonly OfferedTool[],
): string {
  const { prompt, results, attachments, summary } = conversation;
  const schema = getRequestedSchema(request);
  if (schema !== undefined) return buildJsonAnswer(schema, conversation);
  const title = buildRequestedTitle(request, conversation);
  if (title !== undefined) return title;
  if (isSummaryRequest(prompt)) return summarizeConversation(conversation);
  if (summary !== undefined)
    return `Continuing from the summary:\n\n${summary.trim().slice(0, 500)}`;
  if (results.length > 0) return reportResults(results, isChinese(prompt));
  const attachmentText = attachments.length > 0 ? `${describeAttachments(attachments)}\n\n` : "";
  return `${attachmentText}${buildShowcase(prompt) ?? buildTextAnswer(prompt, tools)}`;
}

/** Codex requests a handoff summary when its context is nearly full. */
function isSummaryRequest(prompt: string): boolean {
  return /CONTEXT CHECKPOINT|handoff summary|\bsummar(?:ise|ize|y of) (?:the|this|our) conversation\b/i.test(
    prompt,
  );
}

function buildReasoning({ prompt, results }: DemoConversation, { calls }: CallPlan): string {
  const names = [...new Set(calls.map(({ name }) => name))];
  const prefix = /\b(?:think|reason)\b/i.test(prompt) ? longReasoning : "";
  if (calls.length > 0 && results.length > 0)
    return `${prefix}There is another step, so I'll call ${names.join(" and ")} next.`;
  if (calls.length > 0)
    return `${prefix}The user wants something done that ${names.join(" and ")} can do, so I'll call it.`;
  if (results.length > 0)
    return `${prefix}I have the results of the tools. I'll report them and nothing else.`;
  return `${prefix}No tool is needed here. I am a demo, so I keep it short and plain.`;
}

const longReasoning =
  "I was asked to think, so I take my time. First I look at the last message, because it is the only one that matters. " +
  "Then I check whether one of the tools that I was offered fits the request. " +
  "Finally I choose how to answer: with a tool call, a summary of the results, or plain text.\n\n";

function getTokenLimit(request: ChatRequest): number {
  return request.max_completion_tokens ?? request.max_tokens ?? Infinity;
}

/** Truncates the answer at the limit, if necessary within a word or a call's arguments. */
function truncateParts(
  parts: readonly AnswerPart[],
  limit: number,
): { parts: AnswerPart[]; isTruncated: boolean } {
  const truncatedParts: AnswerPart[] = [];
  let remaining = limit;
  for (const part of parts) {
    const cost = countPartTokens(part);
    if (cost > remaining) {
      if (remaining > 0) truncatedParts.push(truncatePart(part, remaining * 4));
      return { parts: truncatedParts, isTruncated: true };
    }
    truncatedParts.push(part);
    remaining -= cost;
  }
  return { parts: truncatedParts, isTruncated: false };
}

function countPartTokens(part: AnswerPart): number {
  return countTokens(part.type === "call" ? part.name + part.input : part.text);
}

function truncatePart(part: AnswerPart, length: number): AnswerPart {
  if (part.type !== "call") return { ...part, text: part.text.slice(0, length) };
  return { ...part, input: part.input.slice(0, Math.max(length - part.name.length, 0)) };
}
