import type { ChatRequest } from "@deltawire/wire";
import { answerInJson, schemaAsked } from "./answer-json.ts";
import { chooseCalls } from "./choose-tool.ts";
import { isHandOver, readConversation, type Conversation } from "./conversation.ts";
import { requestTokens, tokensIn, usageOf, type Usage } from "./count.ts";
import { waitForAgents } from "./helper-calls.ts";
import { offeredTools, type OfferedTool, type Plan, type PlannedCall } from "./offered-tools.ts";
import { isChinese, reportOf, sayAttachments, sayWords, summaryOf } from "./say.ts";
import { exactWords, showcase } from "./showcase.ts";
import { titleAsked } from "./title.ts";

/** What the demo model answers, in order. */
export interface Answer {
  moves: Move[];
  finish: "stop" | "tool_calls" | "length";
  usage: Usage;
  /** How many times the same is said: `n` of the request. */
  choices: number;
}

export type Move =
  | { type: "reasoning"; text: string }
  | { type: "text"; text: string }
  | { type: "call"; kind: "function" | "custom"; name: string; input: string };

const mostChoices = 8;

/** By rules, not by a model: the same request always gets the same answer. */
export function answer(request: ChatRequest): Answer {
  const { moves, cut } = limited(movesFor(request), tokenLimit(request));
  const choices = Math.min(Math.max(Math.trunc(request.n ?? 1), 1), mostChoices);
  const tokens = { completion: 0, reasoning: 0 };
  for (const move of moves) {
    const count = tokensOf(move) * choices;
    tokens.completion += count;
    if (move.type === "reasoning") tokens.reasoning += count;
  }
  return {
    moves,
    finish: cut ? "length" : moves.some(({ type }) => type === "call") ? "tool_calls" : "stop",
    usage: usageOf(requestTokens(request), tokens.completion, tokens.reasoning),
    choices,
  };
}

function movesFor(request: ChatRequest): Move[] {
  const conversation = readConversation(request);
  const tools = offeredTools(request).filter(
    ({ name }) => !isHandOver(name) || !conversation.called.includes(name),
  );
  const plan = nextCalls(request, conversation, tools);
  const thinks = request.reasoning_effort !== "none";
  const text = plan.calls.length > 0 ? plan.says : sayAnswer(request, conversation, tools);
  return [
    ...(thinks ? [{ type: "reasoning" as const, text: thought(conversation, plan) }] : []),
    ...(text === "" ? [] : [{ type: "text" as const, text }]),
    ...plan.calls.map(callMove),
  ];
}

/**
 * The calls of this round. Usually all at once, in the first; one a round where the user asked for steps or the client
 * takes no parallel calls.
 */
function nextCalls(
  request: ChatRequest,
  conversation: Conversation,
  tools: readonly OfferedTool[],
): Plan {
  const none = { calls: [], says: "" };
  const { words, results, summary } = conversation;
  if (tools.length === 0 || summary !== undefined || asksForSummary(words)) return none;
  // What is only to be said is no wish.
  if (exactWords(words) !== undefined) return none;
  const waits = request.tool_choice === "none" ? [] : waitForAgents(results, tools);
  if (waits.length > 0) return { calls: waits, says: "I wait for the answer." };
  const plan = chooseCalls(words, request, tools);
  const steps = Math.min(Number(/\bin (\d+) steps?\b/i.exec(words)?.[1] ?? 0), 50);
  const done = results.length;
  if (steps > 0) {
    const call = plan.calls[done % Math.max(plan.calls.length, 1)];
    if (call === undefined || done >= steps) return none;
    return { calls: [call], says: `Step ${done + 1} of ${steps}. ${plan.says}` };
  }
  if (request.parallel_tool_calls !== false) return done === 0 ? plan : none;
  const call = plan.calls[done];
  return call === undefined ? none : { ...plan, calls: [call] };
}

function callMove(call: PlannedCall): Move {
  const input = call.kind === "custom" ? call.input : JSON.stringify(call.arguments);
  return { type: "call", kind: call.kind, name: call.name, input };
}

function sayAnswer(
  request: ChatRequest,
  conversation: Conversation,
  tools: readonly OfferedTool[],
): string {
  const { words, results, attachments, summary } = conversation;
  const schema = schemaAsked(request);
  if (schema !== undefined) return answerInJson(schema, conversation);
  const title = titleAsked(request, conversation);
  if (title !== undefined) return title;
  if (asksForSummary(words)) return summaryOf(conversation);
  if (summary !== undefined) return `I go on from the summary:\n\n${summary.trim().slice(0, 500)}`;
  if (results.length > 0) return reportOf(results, isChinese(words));
  const seen = attachments.length > 0 ? `${sayAttachments(attachments)}\n\n` : "";
  return `${seen}${showcase(words) ?? sayWords(words, tools)}`;
}

/** Codex asks for a handoff summary when its context is nearly full. */
function asksForSummary(words: string): boolean {
  return /CONTEXT CHECKPOINT|handoff summary|\bsummar(?:ise|ize|y of) (?:the|this|our) conversation\b/i.test(
    words,
  );
}

function thought({ words, results }: Conversation, { calls }: Plan): string {
  const names = [...new Set(calls.map(({ name }) => name))];
  const long = /\b(?:think|reason)\b/i.test(words) ? longThought : "";
  if (calls.length > 0 && results.length > 0)
    return `${long}There is another step to do, so ${names.join(" and ")} comes next.`;
  if (calls.length > 0)
    return `${long}The user wants something done that ${names.join(" and ")} can do, so I call it.`;
  if (results.length > 0)
    return `${long}The tools have answered. I report what they said, and nothing that they did not say.`;
  return `${long}No tool is needed here. I am a demo, so I keep it short and plain.`;
}

const longThought =
  "I was asked to think, so I take my time. First I look at what was said last, because only that counts. " +
  "Then I look at the tools that I was offered, and whether one of them goes with these words. " +
  "At last I choose how to answer: by a call, by a report of results, or in words of my own.\n\n";

function tokenLimit(request: ChatRequest): number {
  return request.max_completion_tokens ?? request.max_tokens ?? Infinity;
}

/** Cuts the answer where the limit falls, in the middle of a word or of a call's arguments if need be. */
function limited(moves: readonly Move[], limit: number): { moves: Move[]; cut: boolean } {
  const kept: Move[] = [];
  let left = limit;
  for (const move of moves) {
    const needed = tokensOf(move);
    if (needed > left) {
      if (left > 0) kept.push(shortened(move, left * 4));
      return { moves: kept, cut: true };
    }
    kept.push(move);
    left -= needed;
  }
  return { moves: kept, cut: false };
}

function tokensOf(move: Move): number {
  return tokensIn(move.type === "call" ? move.name + move.input : move.text);
}

function shortened(move: Move, length: number): Move {
  if (move.type !== "call") return { ...move, text: move.text.slice(0, length) };
  return { ...move, input: move.input.slice(0, Math.max(length - move.name.length, 0)) };
}
