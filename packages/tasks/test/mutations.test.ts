import {
  emptyTree,
  LogValidator,
  reduce,
  taskView,
  validateLog,
  type TaskEvent,
  type TaskTree,
} from "@deltawire/tasks";
import fc from "fast-check";
import { expect, test } from "vitest";
import { patience, runs } from "../../../test/runs.ts";
import { randomRun, sha256 } from "./random-run.ts";

/*
 * A fuzzer that changes legal logs. Whatever it does is either named by the validator, or one of the exceptions below:
 * what is told once and nothing else depends upon, what is taken back later, and events whose order does not matter. The
 * exceptions are not taken on trust: every task of the changed log must look the same as before, and where events were
 * only moved, what is told of each item must come in the same order.
 */

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Loose = { type: string; [key: string]: Json };

type Exception = (event: Loose, log: readonly Loose[]) => boolean;
const always: Exception = () => true;

/** Events that may be missing or there twice: they say what is going on, and leave no trace in any view. */
const passing: Record<string, Exception> = {
  "task.warning": always,
  "task.tool_execution.progress": always,
  "task.round.progress": always,
  "task.context_compression.created": always,
  "task.context_compression.in_progress": always,
  "task.context_compression.completed": always,
  /** What a user said stands in the log alone. */
  "task.input.added": always,
  "task.queued": always,
  "task.paused": always,
  /** With a pause or a question before it that is only told again, or at a takeover. */
  "task.working": always,
  "task.input_required": always,
  /** A later one, or the end, tells more. */
  "task.usage.updated": always,
  /** A whole picture follows. */
  "task.image.added": always,
  "task.image.delta": always,
  /** Another status follows, or the same has been told. */
  "task.output_item.updated": ({ patch }) => !("outcome" in (patch as object)),
  /** A round may begin again before anything was said, or after all of it was taken back. */
  "task.round.started": always,
  /** A task may end within a round, but not well. */
  "task.round.done": ({ task_id }, log) =>
    !log.some(({ type, task_id: id }) => id === task_id && type === "task.completed"),
  /** After a crash an attempt has no end, and another one follows. */
  "task.tool_execution.done": (done, log) =>
    log.some(
      ({ type, call_id, execution_id }) =>
        type === "task.tool_execution.started" &&
        call_id === done["call_id"] &&
        execution_id !== done["execution_id"],
    ),
};

/** Fields that are told once: no other event says the same, and no view shows them. */
const toldOnce = [
  /^\S+ ts$/,
  /^task\.(created task|output_item\.updated patch)$/, // with a field that nobody knows
  /^task\.created task\.(agent|model|session_id|limits|created_at|attempt|protocol_version|status)/,
  /^task\.(queued position|paused by|working (recovered|epoch))/,
  /^task\.input_required (reason|approval_ids)/,
  /^task\.(canceled (by|reason)|expired reason)/,
  /^task\.round\.(started model|progress (message|fraction)|done (finish_reason|usage))/,
  /^task\.warning /,
  /^task\.input\.added /,
  /^task\.context_compression\.\w+ /,
  /^task\.usage\.updated (usage|tree_usage)/,
  /^task\.output_item\.updated patch\.status/, // one that another status follows
  /^task\.output_item\.done item\.status/, // one that another status follows, or the usual one
  /^task\.output_item\.done item\.content/, // absent keys survive
  /^task\.output_item\.retracted reason/,
  /^task\.image\.(added|delta) item\.image_url/, // the next picture replaces it
  /^task\.approval\.requested approval\.block_list/, // forgotten when it is refused
  /^task\.tool_execution\.started (effect|idempotency_key)/,
  /^task\.tool_execution\.started execution_id/, // of an attempt that was lost
  /^task\.tool_execution\.progress (message|fraction)/,
  /^task\.tool_execution\.done (outcome|duration_ms|error)/,
];

/** Whatever was told of an item that is taken back. */
const isTakenBack: Exception = (event, log) =>
  log.some(
    ({ type, task_id, output_index }) =>
      type === "task.output_item.retracted" &&
      task_id === event["task_id"] &&
      output_index === event["output_index"],
  );

const place = fc.nat({ max: 0xffffff });

const mutation = fc.oneof(
  fc.record({ kind: fc.constant("drop" as const), at: place }),
  fc.record({ kind: fc.constant("double" as const), at: place }),
  fc.record({ kind: fc.constant("swap" as const), at: place }),
  fc.record({ kind: fc.constant("move" as const), at: place, to: place }),
  fc.record({ kind: fc.constant("exchange" as const), at: place, to: place }),
  fc.record({ kind: fc.constant("edit" as const), at: place, leaf: place, how: place }),
  fc.record({ kind: fc.constant("remove field" as const), at: place, leaf: place }),
);
type Mutation = typeof mutation extends fc.Arbitrary<infer T> ? T : never;

/**
 * What share of the changes of each kind breaks a rule, at the least: some hundredths below what is usual. Neighbours are
 * swapped so often without harm because two tasks, or two calls of one, speak at the same time.
 */
const leastCaught: readonly [Mutation["kind"], number][] = [
  ["drop", 0.8],
  ["double", 0.76],
  ["swap", 0.64],
  ["move", 0.83],
  ["exchange", 0.94],
  ["edit", 0.73],
  ["remove field", 0.8],
];

test(
  "every change to a legal log breaks a rule, or changes nothing that anybody can see",
  patience,
  () => {
    const caught = new Map<Mutation["kind"], number>();
    const tried = new Map<Mutation["kind"], number>();
    fc.assert(
      fc.property(randomRun, fc.array(mutation, { minLength: 12, maxLength: 12 }), (run, all) => {
        for (const one of all) {
          const log = run.entries.map(({ json }) => JSON.parse(json) as Loose);
          const what = mutate(log, one);
          if (what === undefined) continue;
          tried.set(one.kind, (tried.get(one.kind) ?? 0) + 1);
          const events = log as unknown as TaskEvent[];
          if (validateLog(events, { complete: true, sha256 }) !== undefined) {
            caught.set(one.kind, (caught.get(one.kind) ?? 0) + 1);
            continue;
          }
          const before = histories(run.events as unknown as Loose[]);
          const isException =
            what.is === "content" ? what.isException : equal(before, histories(log));
          expect(`${what.text}: ${isException}`).toBe(`${what.text}: true`);
          expect(views(reduce(emptyTree, events)), what.text).toEqual(views(run.state));
        }
      }),
      runs(400),
    );
    for (const [kind, share] of leastCaught)
      expect((caught.get(kind) ?? 0) / (tried.get(kind) ?? 0), kind).toBeGreaterThan(share);
  },
);

test("a broken event is not noted: the log can go on without it", patience, () => {
  fc.assert(
    fc.property(randomRun, fc.array(mutation, { minLength: 5, maxLength: 5 }), (run, all) => {
      for (const one of all) {
        if (one.kind !== "edit" && one.kind !== "remove field") continue;
        const at = one.at % run.events.length;
        const log = run.entries.map(({ json }) => JSON.parse(json) as Loose);
        if (mutate(log, one) === undefined || "state_hash" in (log[at] ?? {})) continue;
        const validator = new LogValidator({ sha256 });
        for (const event of run.events.slice(0, at)) validator.check(event);
        if (validator.check(log[at] as unknown as TaskEvent) === undefined) continue;
        for (const event of run.events.slice(at)) expect(validator.check(event)).toBeUndefined();
        expect(validator.state).toEqual(run.state);
      }
    }),
    runs(200),
  );
});

function views(tree: TaskTree) {
  return Object.fromEntries(Object.keys(tree.tasks).map((id) => [id, taskView(tree, id)]));
}

/**
 * What is told of each item, in its order. An annotation may be told when more of its text is there already, a status
 * whenever another one follows, and deltas are told by what they add up to.
 */
function histories(log: readonly Loose[]): Record<string, string[]> {
  const told: Record<string, string[]> = {};
  for (const event of log) {
    const { sequence_number: _number, ...rest } = event;
    if (rest["output_index"] === undefined || isTakenBack(event, log)) continue;
    if (event.type.endsWith(".delta")) continue;
    if (event.type === "task.output_item.updated" && passing[event.type]?.(event, log)) continue;
    const beside = event.type === "task.text.annotation.added" ? "annotations" : "item";
    const item = JSON.stringify([rest["task_id"], rest["output_index"], beside]);
    (told[item] ??= []).push(JSON.stringify(rest));
  }
  return told;
}

function equal(a: Record<string, string[]>, b: Record<string, string[]>): boolean {
  return Object.keys({ ...a, ...b }).every((item) => a[item]?.join("\n") === b[item]?.join("\n"));
}

interface What {
  is: "content" | "order";
  text: string;
  isException: boolean;
}

/** Changes the log; undefined if it would be the same afterwards. */
function mutate(log: Loose[], one: Mutation): What | undefined {
  const at = one.at % log.length;
  const event = log[at] as Loose;
  const text = `${one.kind} ${at} ${event.type}`;
  const mayBeMissing = passing[event.type]?.(event, log) === true || isTakenBack(event, log);
  switch (one.kind) {
    case "drop":
      log.splice(at, 1);
      renumber(log);
      return { is: "content", text, isException: mayBeMissing };
    case "double":
      log.splice(at, 0, structuredClone(event));
      renumber(log);
      return { is: "content", text, isException: mayBeMissing };
    case "swap":
      return moved(log, at, at + 1, text);
    case "move":
      return moved(log, at, one.to % log.length, text);
    case "exchange": {
      const to = one.to % log.length;
      const other = log[to] as Loose;
      if (to === at) return undefined;
      log[at] = other;
      log[to] = event;
      renumber(log);
      return { is: "order", text: `${text} with ${to} ${other.type}`, isException: true };
    }
    default: {
      const leaves = leavesOf(event);
      const leaf = leaves[one.leaf % leaves.length];
      if (leaf === undefined) return undefined;
      const { holder, key, path } = leaf;
      const old = JSON.stringify(holder[key]);
      const isException =
        toldOnce.some((pattern) => pattern.test(`${event.type} ${path}`)) ||
        isTakenBack(event, log) ||
        // An event of an unknown type is as good as missing.
        (path === "type" && mayBeMissing);
      if (one.kind === "remove field") delete holder[key];
      else holder[key] = changed(holder[key] as Json, one.how, log);
      if (JSON.stringify(holder[key]) === old) return undefined;
      return { is: "content", text: `${text} ${path}: ${old.slice(0, 80)}`, isException };
    }
  }
}

/** An event that stands elsewhere: legal only where its order with those between does not matter. */
function moved(log: Loose[], at: number, to: number, text: string): What | undefined {
  if (to === at || to >= log.length) return undefined;
  const [event] = log.splice(at, 1);
  if (event === undefined) return undefined;
  log.splice(to, 0, event);
  renumber(log);
  return { is: "order", text: `${text} to ${to}`, isException: true };
}

function renumber(log: Loose[]): void {
  for (const [sequence_number, event] of log.entries()) event["sequence_number"] = sequence_number;
}

interface Leaf {
  holder: Record<string, Json>;
  key: string;
  path: string;
}

function leavesOf(value: Json, path = ""): Leaf[] {
  if (typeof value !== "object" || value === null) return [];
  const holder = value as Record<string, Json>;
  return Object.keys(holder).flatMap((key) => {
    const below = path === "" ? key : `${path}.${key}`;
    return [{ holder, key, path: below }, ...leavesOf(holder[key] as Json, below)];
  });
}

function changed(value: Json, how: number, log: Loose[]): Json {
  if (typeof value === "number") return value + (how % 2 === 0 ? 1 : -1);
  if (typeof value === "boolean") return !value;
  if (value === null) return 0;
  if (Array.isArray(value)) return how % 2 === 0 ? value.slice(1) : [...value, "x"];
  if (typeof value === "object") return how % 2 === 0 ? {} : { ...value, type: "other" };
  if (how % 3 === 0) return `${value}x`;
  if (how % 3 === 1) return value.slice(0, -1);
  // Something of the same kind that occurs elsewhere: another id, another status.
  const others = log.flatMap((event) => leavesOf(event)).map(({ holder, key }) => holder[key]);
  const strings = others.filter((other): other is string => typeof other === "string");
  return strings[how % strings.length] ?? "";
}
