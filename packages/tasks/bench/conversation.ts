import { createHash } from "node:crypto";
import { argumentsHash, TreeWriter, type LogEntry, type TaskWriter } from "@deltawire/tasks";

/**
 * `few`: a long answer after a long thought. `usual`: rounds of a thought, an answer, a call and its result, in 325
 * events. `many`: the same in 39 events, so that nearly every tenth opens an item.
 */
export type Shape = "few" | "usual" | "many";

/** The log of a whole task of about so many events: the same in every run, on every machine. */
export function conversation(shape: Shape, events: number): LogEntry[] {
  const entries: LogEntry[] = [];
  converse(shape, events, (entry) => entries.push(entry));
  return entries;
}

/** The same, for whoever takes the events as they are written. */
export function converse(shape: Shape, events: number, emit: (entry: LogEntry) => void): void {
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
  if (shape === "few") speakAtLength(root, events);
  else {
    const { perRound, ...deltas } = rounds[shape];
    const count = Math.max(1, Math.round(events / perRound));
    for (let round = 1; round <= count; round += 1) turn(root, round, deltas);
  }
  root.completed(usage);
}

/** A word as a tokenizer cuts it: 1 to 10 characters, some of them markers, code, line ends or Chinese. */
export function wordAt(nth: number): string {
  return words[nth % words.length] ?? "";
}

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

const rounds = {
  usual: { perRound: 325, thoughts: 100, words: 200 },
  many: { perRound: 39, thoughts: 6, words: 8 },
};
const usage = { input_tokens: 900, output_tokens: 300, total_tokens: 1200 };
const toolArguments = ['{"path":', '"src/part', '-12.ts","', 'lines":40}'];
const words = [
  ..." The stream of words goes on as a model writes it, one after another, and whoever reads it".split(
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

function speakAtLength(root: TaskWriter, events: number): void {
  root.roundStarted(1, "model");
  const thought = root.reasoning();
  const thoughts = Math.floor(events / 8);
  for (let nth = 0; nth < thoughts; nth += 1) thought.summaryDelta(wordAt(nth));
  thought.done();
  const message = root.message();
  for (let nth = 0; nth < events - thoughts - 14; nth += 1) message.delta(wordAt(nth));
  message.done();
  root.roundDone(1, "stop", usage);
}

function turn(root: TaskWriter, round: number, deltas: { thoughts: number; words: number }): void {
  const call = `call_${String(round).padStart(24, "0")}`;
  const args = toolArguments.join("");
  root.roundStarted(round, "model");
  const thought = root.reasoning();
  for (let nth = 0; nth < deltas.thoughts; nth += 1) thought.summaryDelta(wordAt(round + nth));
  thought.done();
  const said = root.message();
  for (let nth = 0; nth < deltas.words; nth += 1) said.delta(wordAt(round + nth));
  said.done();
  const asked = root.toolCall(call, "read_file");
  for (const piece of toolArguments) asked.argumentsDelta(piece);
  asked.done(args);
  root.roundDone(round, "tool_calls", usage);
  root.executionStarted({
    call_id: call,
    execution_id: `ex_${call}`,
    attempt: 1,
    args_hash: argumentsHash(args, sha256),
    effect: "pure",
    idempotency_key: call,
  });
  root.update(asked.itemId, { status: "executing" });
  root.executionDone(call, `ex_${call}`, "completed", 3);
  const result = root.toolResult(call);
  result.block({ type: "text", text: "export const answer = 42; // a line of a file\n".repeat(4) });
  result.done();
  root.update(asked.itemId, { status: "completed", outcome: "completed" });
}
