import { createHash } from "node:crypto";
import { hashArguments, TreeWriter, type LogEntry, type TaskWriter } from "@deltawire/tasks";

/**
 * `few`: long reasoning and a long answer. `usual`: rounds with reasoning, an answer, a call and its result, 325 events each.
 * `many`: the same with 39 events each, so that nearly every tenth event opens an item.
 */
export type Shape = "few" | "usual" | "many";

/** Returns the log of a complete task with about this number of events. Deterministic. */
export function createConversation(shape: Shape, events: number): LogEntry[] {
  const entries: LogEntry[] = [];
  writeConversation(shape, events, (entry) => entries.push(entry));
  return entries;
}

/** The same with a callback for each event. */
export function writeConversation(
  shape: Shape,
  events: number,
  emit: (entry: LogEntry) => void,
): void {
  let ids = 0;
  const tree = new TreeWriter({
    newId: (prefix) => `${prefix}_${String((ids += 1)).padStart(24, "0")}`,
    now: () => "2026-01-01T00:00:00.000Z",
    emit,
    sha256,
  });
  const root = tree.create("task_000000000000000000000001", {
    root_task_id: "task_000000000000000000000001",
    attempt: 1,
    depth: 0,
    agent: "bench",
    model: "model",
    limits: {},
  });
  root.working();
  if (shape === "few") writeLongAnswer(root, events);
  else {
    const { perRound, ...deltas } = rounds[shape];
    const count = Math.max(1, Math.round(events / perRound));
    for (let round = 1; round <= count; round += 1) writeRound(root, round, deltas);
  }
  root.completed(usage);
}

/** Returns a token of 1 to 10 characters; some are parts of markers, code, line endings or Chinese text. */
export function getWord(index: number): string {
  return words[index % words.length] ?? "";
}

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

const rounds = {
  usual: { perRound: 325, reasoningDeltas: 100, textDeltas: 200 },
  many: { perRound: 39, reasoningDeltas: 6, textDeltas: 8 },
};
const usage = { input_tokens: 900, output_tokens: 300, total_tokens: 1200 };
const toolArguments = ['{"path":', '"src/part', '-12.ts","', 'lines":40}'];
const words = [
  ..." The stream of tokens continues as the model writes it, one after another, and every client".split(
    /(?= )/,
  ),
  " [",
  "^1",
  "].",
  "\n\n",
  ..." sees each of them as soon as it is there. Some of it is `code` and some is a list:\n- one".split(
    /(?= )/,
  ),
  "流式传输",
  ' "name"',
  " é",
];

function writeLongAnswer(root: TaskWriter, events: number): void {
  root.roundStarted(1, "model");
  const reasoning = root.reasoning();
  const reasoningDeltas = Math.floor(events / 8);
  for (let index = 0; index < reasoningDeltas; index += 1) reasoning.summaryDelta(getWord(index));
  reasoning.done();
  const message = root.message();
  for (let index = 0; index < events - reasoningDeltas - 14; index += 1)
    message.delta(getWord(index));
  message.done();
  root.roundDone(1, "stop", usage);
}

function writeRound(
  root: TaskWriter,
  round: number,
  deltas: { reasoningDeltas: number; textDeltas: number },
): void {
  const call = `call_${String(round).padStart(24, "0")}`;
  const args = toolArguments.join("");
  root.roundStarted(round, "model");
  const reasoning = root.reasoning();
  for (let index = 0; index < deltas.reasoningDeltas; index += 1)
    reasoning.summaryDelta(getWord(round + index));
  reasoning.done();
  const message = root.message();
  for (let index = 0; index < deltas.textDeltas; index += 1) message.delta(getWord(round + index));
  message.done();
  const toolCall = root.toolCall(call, "read_file");
  for (const piece of toolArguments) toolCall.argumentsDelta(piece);
  toolCall.done(args);
  root.roundDone(round, "tool_calls", usage);
  root.executionStarted({
    call_id: call,
    execution_id: `ex_${call}`,
    attempt: 1,
    args_hash: hashArguments(args, sha256),
    effect: "pure",
    idempotency_key: call,
  });
  root.update(toolCall.itemId, { status: "executing" });
  root.executionDone(call, `ex_${call}`, "completed", 3);
  const result = root.toolResult(call);
  result.block({ type: "text", text: "export const answer = 42; // a line of a file\n".repeat(4) });
  result.done();
  root.update(toolCall.itemId, { status: "completed", outcome: "completed" });
}
