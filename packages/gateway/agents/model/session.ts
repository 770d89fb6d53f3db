import { join } from "node:path";
import type { JsonObject } from "@deltawire/wire";
import type { Conversation, ConversationPart } from "./conversation.ts";
import {
  buildReasoning,
  formatCall,
  splitWords,
  type ReplyFailure,
  type ReplyPlan,
} from "./reply-plan.ts";

/** One turn of a long session: replies with calls of Claude Code's tools, then an answer. */
interface SessionTurn {
  /** What the turn shows. */
  title: string;
  replies: readonly SessionCall[][];
  /** How the requests after this many replies fail at first. */
  failures?: Readonly<Record<number, Omit<ReplyFailure, "key">>>;
  /** The input tokens that the answer reports. */
  inputTokens?: number;
  paceMs?: number;
}

interface SessionCall {
  tool: string;
  buildInput: (context: { id: string; cwd: string; mark: string }) => JsonObject;
  /** Part of the result. */
  output?: string;
}

/** Appends the call's id to `ran.txt` and prints it. */
const bash: SessionCall = {
  tool: "Bash",
  buildInput: ({ id }) => ({
    command: `echo ${id} >> ran.txt; echo output-${id}`,
    description: "Note the call",
  }),
};

const failingBash: SessionCall = {
  tool: "Bash",
  buildInput: () => ({ command: "exit 3", description: "Fail" }),
  output: "Exit code 3",
};

const read: SessionCall = {
  tool: "Read",
  buildInput: ({ cwd }) => ({ file_path: join(cwd, "notes.txt") }),
};

const write: SessionCall = {
  tool: "Write",
  buildInput: ({ cwd }) => ({ file_path: join(cwd, "notes.txt"), content: "alpha\n" }),
};

function edit(before: string, after: string): SessionCall {
  return {
    tool: "Edit",
    buildInput: ({ cwd }) => ({
      file_path: join(cwd, "notes.txt"),
      old_string: before,
      new_string: after,
    }),
  };
}

const agent: SessionCall = {
  tool: "Agent",
  buildInput: ({ mark }) => ({
    description: "Run a helper",
    prompt: `Session helper with mark ${mark}.`,
    subagent_type: "general-purpose",
    run_in_background: false,
  }),
  output: "The helper is done.",
};

const overflowMessage =
  "This model's maximum context length is 200000 tokens. However, your messages resulted in 230000 tokens.";

export const sessionTurns: readonly SessionTurn[] = [
  { title: "writes a file", replies: [[write]] },
  { title: "edits the file", replies: [[read], [edit("alpha", "beta")]] },
  { title: "runs a command", replies: [[bash]] },
  { title: "runs two commands at once", replies: [[bash, bash]] },
  { title: "waits after 429", replies: [[bash]], failures: { 0: { status: 429 } } },
  { title: "waits after 529", replies: [[bash]], failures: { 1: { status: 529 } } },
  {
    title: "asks again after the text was cut",
    replies: [[bash]],
    failures: { 1: { cutEvents: 6 } },
  },
  {
    title: "does not run a call that was cut in its arguments",
    replies: [[bash]],
    failures: { 0: { cutEvents: 4 } },
  },
  {
    title: "runs a call once that was cut after its arguments",
    replies: [[bash], [bash]],
    failures: { 0: { cutEvents: 3 } },
  },
  { title: "starts a sub-agent", replies: [[agent]] },
  { title: "fills its context", replies: [[bash]], inputTokens: 180_000 },
  { title: "compacts before it continues", replies: [[bash]] },
  {
    title: "compacts after an overflow",
    replies: [[bash]],
    failures: { 0: { status: 400, message: overflowMessage } },
  },
  { title: "edits the file again", replies: [[read], [edit("beta", "gamma")]] },
  {
    title: "outlasts the retries of the gateway",
    replies: [[bash]],
    failures: { 0: { status: 529, times: 5 } },
  },
  { title: "continues after a failed command", replies: [[failingBash], [bash]] },
  { title: "chains commands", replies: [[bash], [bash], [bash]] },
  { title: "is interrupted", replies: [], paceMs: 100 },
  { title: "continues after the interruption", replies: [[bash]] },
  { title: "answers", replies: [] },
];

/** Prompts start at turn 1. */
export function buildTurnPrompt(turn: number, mark: string): string {
  return `Session turn ${turn} with mark ${mark}.`;
}

export function buildTurnAnswer(turn: number, mark: string): string {
  return `Turn ${turn} with mark ${mark} is done.`;
}

/** Returns the ids of all commands that the session must run, in order. */
export function listSessionCommands(mark: string): string[] {
  return sessionTurns.flatMap(({ replies }, index) =>
    replies.flatMap((calls, reply) =>
      calls.flatMap((call, at) => {
        if (call === agent) return [buildHelperId(mark)];
        return call === bash ? [buildCallId(mark, index + 1, reply + 1, at + 1)] : [];
      }),
    ),
  );
}

/** The model of the session, which counts the summaries that it was asked for. */
export interface SessionModel {
  planReply(conversation: Conversation): ReplyPlan;
  summaryCount(): number;
}

export function createSessionModel(cwd: () => string): SessionModel {
  let summaries = 0;
  return {
    summaryCount: () => summaries,
    planReply({ parts, tools }) {
      const last = parts.at(-1);
      if (last?.kind === "user" && last.text.includes("<summary>")) {
        summaries += 1;
        const text = `<summary>The session so far was summarized ${summaries} times.</summary>`;
        return {
          reply: { id: `summary_${summaries}`, text: [text] },
          faults: [],
          isRefused: false,
        };
      }
      const start = findTurn(parts);
      if (start === undefined || tools.length === 0)
        return { reply: { text: ["A title"] }, faults: [], isRefused: false };
      return start.turn === undefined
        ? planHelperReply(start.mark, parts)
        : planTurnReply(start.turn, start.mark, parts.slice(start.at), cwd());
    },
  };
}

function findTurn(parts: readonly ConversationPart[]) {
  for (const [at, part] of [...parts.entries()].toReversed()) {
    const match =
      part.kind === "user" && /Session (?:turn (\d+)|helper) with mark (\w+)/.exec(part.text);
    if (match)
      return {
        at,
        turn: match[1] === undefined ? undefined : Number(match[1]),
        mark: match[2] ?? "",
      };
  }
  return undefined;
}

function planTurnReply(
  turn: number,
  mark: string,
  parts: readonly ConversationPart[],
  cwd: string,
): ReplyPlan {
  const script = sessionTurns[turn - 1];
  if (script === undefined) throw new Error(`no turn ${turn}`);
  const replies = script.replies.map((calls, reply) =>
    calls.map((call, at) => ({ call, id: buildCallId(mark, turn, reply + 1, at + 1) })),
  );
  const made = parts.flatMap((part) => (part.kind === "call" ? [part.id] : []));
  const done = replies.filter((calls) => calls.every(({ id }) => made.includes(id))).length;
  const calls = replies[done];
  const failure = script.failures?.[done];
  const inputTokens = calls === undefined ? script.inputTokens : undefined;
  return {
    reply: {
      id: `${mark}_${turn}_${done + 1}`,
      ...buildReasoning(mark, turn * 10 + done),
      text: calls === undefined ? splitWords(buildText(turn, mark)) : ["One ", "moment."],
      ...(calls === undefined
        ? {}
        : {
            calls: calls.map(({ id, call }) =>
              formatCall(id, call.tool, call.buildInput({ id, cwd, mark })),
            ),
          }),
    },
    ...(failure === undefined ? {} : { failure: { key: `${mark} ${turn} ${done}`, ...failure } }),
    ...(inputTokens === undefined ? {} : { inputTokens }),
    ...(script.paceMs === undefined ? {} : { paceMs: script.paceMs }),
    faults: findResultFaults(parts, replies.slice(0, done).flat()),
    isRefused: false,
  };
}

/** The sub-agent runs one command. */
function planHelperReply(mark: string, parts: readonly ConversationPart[]): ReplyPlan {
  const id = buildHelperId(mark);
  const isDone = parts.some((part) => part.kind === "result" && part.id === id);
  const call = formatCall(id, bash.tool, bash.buildInput({ id, cwd: "", mark }));
  return {
    reply: {
      id: `${mark}_helper_${isDone ? 2 : 1}`,
      text: [isDone ? "The helper is done." : "One moment."],
      ...(isDone ? {} : { calls: [call] }),
    },
    faults: [],
    isRefused: false,
  };
}

/** Every call of the turn has one result, with the output of its command. */
function findResultFaults(
  parts: readonly ConversationPart[],
  calls: readonly { id: string; call: SessionCall }[],
): string[] {
  return calls.flatMap(({ id, call }) => {
    const results = parts.filter((part) => part.kind === "result" && part.id === id);
    const [result] = results;
    if (result === undefined || results.length > 1) return [`${results.length} results of ${id}`];
    const output = call === bash ? `output-${id}` : (call.output ?? "");
    return "text" in result && result.text.includes(output)
      ? []
      : [`result of ${id}: ${JSON.stringify(result)}`];
  });
}

function buildText(turn: number, mark: string): string {
  const answer = buildTurnAnswer(turn, mark);
  const isSlow = sessionTurns[turn - 1]?.paceMs !== undefined;
  return isSlow ? `Slow words about ${mark}. `.repeat(100) : `${answer} It went well.`;
}

function buildCallId(mark: string, turn: number, reply: number, at: number): string {
  return `call_${mark}_${turn}_${reply}_${at}`;
}

function buildHelperId(mark: string): string {
  return `call_${mark}_helper`;
}
