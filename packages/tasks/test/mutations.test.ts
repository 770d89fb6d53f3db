import {
  emptyTree,
  LogValidator,
  reduce,
  buildTaskView,
  validateLog,
  type TaskEvent,
  type TaskTree,
} from "@deltawire/tasks";
import fc from "fast-check";
import { expect, test } from "vitest";
import { longTimeout, propertyRuns } from "../../../test/property-runs.ts";
import { randomRun, sha256 } from "./random-run.ts";

/*
 * Mutates valid logs at random. Every mutation must be detected by the validator or be one of the exceptions below:
 * redundant data, retracted items, and independent events in another order. Exceptions are verified: all views of the mutated
 * log must be the same as before, and if events were only moved, the events of each item must still have the same order.
 */

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type LooseEvent = { type: string; [key: string]: Json };

type Exception = (event: LooseEvent, log: readonly LooseEvent[]) => boolean;
const always: Exception = () => true;

/** Events that may be missing or duplicated because they do not change any view. */
const transientEvents: Record<string, Exception> = {
  "task.warning": always,
  "task.tool_execution.progress": always,
  "task.round.progress": always,
  "task.context_compression.created": always,
  "task.context_compression.in_progress": always,
  "task.context_compression.completed": always,
  /** User inputs are not part of the view. */
  "task.input.added": always,
  "task.queued": always,
  "task.paused": always,
  /** May be missing if the pause or question before it is missing too, or when a task is resumed. */
  "task.working": always,
  "task.input_required": always,
  /** Replaced by a later event of this type, or by the terminal event. */
  "task.usage.updated": always,
  /** Replaced by the complete image, which follows. */
  "task.image.added": always,
  "task.image.delta": always,
  /** Replaced by a later status. */
  "task.output_item.updated": ({ patch }) => !("outcome" in (patch as object)),
  /** A round may start again before it has items, or after all of them were retracted. */
  "task.round.started": always,
  /** A task that does not complete may end within a round. */
  "task.round.done": ({ task_id }, log) =>
    !log.some(({ type, task_id: id }) => id === task_id && type === "task.completed"),
  /** An attempt that was interrupted by a crash has no end. */
  "task.tool_execution.done": (done, log) =>
    log.some(
      ({ type, call_id, execution_id }) =>
        type === "task.tool_execution.started" &&
        call_id === done["call_id"] &&
        execution_id !== done["execution_id"],
    ),
};

/** Fields that no other event repeats and no view contains. */
const undetectableFields = [
  /^\S+ ts$/,
  /^task\.(created task|output_item\.updated patch)$/, // an unknown field of it
  /^task\.created task\.(agent|model|session_id|limits|created_at|attempt|protocol_version|status)/,
  /^task\.(queued position|paused by|working (recovered|epoch))/,
  /^task\.input_required (reason|approval_ids)/,
  /^task\.(canceled (by|reason)|expired reason)/,
  /^task\.round\.(started model|progress (message|fraction)|done (finish_reason|usage))/,
  /^task\.warning /,
  /^task\.input\.added /,
  /^task\.context_compression\.\w+ /,
  /^task\.usage\.updated (usage|tree_usage)/,
  /^task\.output_item\.updated patch\.status/, // replaced by a later status
  /^task\.output_item\.done item\.status/, // replaced by a later status, or the default
  /^task\.output_item\.done item\.content/, // absent fields keep their values
  /^task\.output_item\.retracted reason/,
  /^task\.image\.(added|delta) item\.image_url/, // replaced by the next image
  /^task\.approval\.requested approval\.block_list/, // removed if it is rejected
  /^task\.tool_execution\.started (effect|idempotency_key)/,
  /^task\.tool_execution\.started execution_id/, // if the attempt was interrupted
  /^task\.tool_execution\.progress (message|fraction)/,
  /^task\.tool_execution\.done (outcome|duration_ms|error)/,
];

/** Events of an item that is retracted later. */
const isRetracted: Exception = (event, log) =>
  log.some(
    ({ type, task_id, output_index }) =>
      type === "task.output_item.retracted" &&
      task_id === event["task_id"] &&
      output_index === event["output_index"],
  );

const anyIndex = fc.nat({ max: 0xffffff });

const mutation = fc.oneof(
  fc.record({ kind: fc.constant("drop" as const), at: anyIndex }),
  fc.record({ kind: fc.constant("double" as const), at: anyIndex }),
  fc.record({ kind: fc.constant("swap" as const), at: anyIndex }),
  fc.record({ kind: fc.constant("move" as const), at: anyIndex, to: anyIndex }),
  fc.record({ kind: fc.constant("exchange" as const), at: anyIndex, to: anyIndex }),
  fc.record({ kind: fc.constant("edit" as const), at: anyIndex, leaf: anyIndex, how: anyIndex }),
  fc.record({ kind: fc.constant("remove field" as const), at: anyIndex, leaf: anyIndex }),
);
type Mutation = typeof mutation extends fc.Arbitrary<infer T> ? T : never;

/**
 * The minimum share of detected mutations by kind: a few percent below the usual share. Swaps are often undetectable, because
 * parallel tasks and calls are independent.
 */
const minDetectedShare: readonly [Mutation["kind"], number][] = [
  ["drop", 0.8],
  ["double", 0.76],
  ["swap", 0.64],
  ["move", 0.83],
  ["exchange", 0.94],
  ["edit", 0.73],
  ["remove field", 0.8],
];

test(
  "every mutation of a valid log breaks a rule or leaves all views unchanged",
  longTimeout,
  () => {
    const detected = new Map<Mutation["kind"], number>();
    const attempted = new Map<Mutation["kind"], number>();
    fc.assert(
      fc.property(randomRun, fc.array(mutation, { minLength: 12, maxLength: 12 }), (run, all) => {
        for (const one of all) {
          const log = run.entries.map(({ json }) => JSON.parse(json) as LooseEvent);
          const appliedMutation = mutate(log, one);
          if (appliedMutation === undefined) continue;
          attempted.set(one.kind, (attempted.get(one.kind) ?? 0) + 1);
          const events = log as unknown as TaskEvent[];
          if (validateLog(events, { complete: true, sha256 }) !== undefined) {
            detected.set(one.kind, (detected.get(one.kind) ?? 0) + 1);
            continue;
          }
          const before = listItemEvents(run.events as unknown as LooseEvent[]);
          const isException =
            appliedMutation.kind === "content"
              ? appliedMutation.isException
              : haveSameEvents(before, listItemEvents(log));
          expect(`${appliedMutation.text}: ${isException}`).toBe(`${appliedMutation.text}: true`);
          expect(buildViews(reduce(emptyTree, events)), appliedMutation.text).toEqual(
            buildViews(run.state),
          );
        }
      }),
      propertyRuns(400),
    );
    for (const [kind, share] of minDetectedShare)
      expect((detected.get(kind) ?? 0) / (attempted.get(kind) ?? 0), kind).toBeGreaterThan(share);
  },
);

test(
  "an event that the validator rejects is not applied, and the log can continue without it",
  longTimeout,
  () => {
    fc.assert(
      fc.property(randomRun, fc.array(mutation, { minLength: 5, maxLength: 5 }), (run, all) => {
        for (const one of all) {
          if (one.kind !== "edit" && one.kind !== "remove field") continue;
          const index = one.at % run.events.length;
          const log = run.entries.map(({ json }) => JSON.parse(json) as LooseEvent);
          if (mutate(log, one) === undefined || "state_hash" in (log[index] ?? {})) continue;
          const validator = new LogValidator({ sha256 });
          for (const event of run.events.slice(0, index)) validator.check(event);
          if (validator.check(log[index] as unknown as TaskEvent) === undefined) continue;
          for (const event of run.events.slice(index))
            expect(validator.check(event)).toBeUndefined();
          expect(validator.state).toEqual(run.state);
        }
      }),
      propertyRuns(200),
    );
  },
);

function buildViews(tree: TaskTree) {
  return Object.fromEntries(Object.keys(tree.tasks).map((id) => [id, buildTaskView(tree, id)]));
}

/**
 * Returns the events of each item, in order. Annotations are compared separately, because they may come later; statuses that
 * another one follows and deltas are omitted.
 */
function listItemEvents(log: readonly LooseEvent[]): Record<string, string[]> {
  const eventsByItem: Record<string, string[]> = {};
  for (const event of log) {
    const { sequence_number: _number, ...rest } = event;
    if (rest["output_index"] === undefined || isRetracted(event, log)) continue;
    if (event.type.endsWith(".delta")) continue;
    if (event.type === "task.output_item.updated" && transientEvents[event.type]?.(event, log))
      continue;
    const group = event.type === "task.text.annotation.added" ? "annotations" : "item";
    const item = JSON.stringify([rest["task_id"], rest["output_index"], group]);
    (eventsByItem[item] ??= []).push(JSON.stringify(rest));
  }
  return eventsByItem;
}

function haveSameEvents(a: Record<string, string[]>, b: Record<string, string[]>): boolean {
  return Object.keys({ ...a, ...b }).every((item) => a[item]?.join("\n") === b[item]?.join("\n"));
}

interface AppliedMutation {
  kind: "content" | "order";
  text: string;
  isException: boolean;
}

/** Mutates the log. Returns undefined if the log would be the same afterwards. */
function mutate(log: LooseEvent[], one: Mutation): AppliedMutation | undefined {
  const index = one.at % log.length;
  const event = log[index] as LooseEvent;
  const text = `${one.kind} ${index} ${event.type}`;
  const isOptional = transientEvents[event.type]?.(event, log) === true || isRetracted(event, log);
  switch (one.kind) {
    case "drop":
      log.splice(index, 1);
      renumber(log);
      return { kind: "content", text, isException: isOptional };
    case "double":
      log.splice(index, 0, structuredClone(event));
      renumber(log);
      return { kind: "content", text, isException: isOptional };
    case "swap":
      return moveEvent(log, index, index + 1, text);
    case "move":
      return moveEvent(log, index, one.to % log.length, text);
    case "exchange": {
      const to = one.to % log.length;
      const otherEvent = log[to] as LooseEvent;
      if (to === index) return undefined;
      log[index] = otherEvent;
      log[to] = event;
      renumber(log);
      return { kind: "order", text: `${text} with ${to} ${otherEvent.type}`, isException: true };
    }
    default: {
      const fields = listFields(event);
      const leaf = fields[one.leaf % fields.length];
      if (leaf === undefined) return undefined;
      const { holder, key, path } = leaf;
      const old = JSON.stringify(holder[key]);
      const isException =
        undetectableFields.some((pattern) => pattern.test(`${event.type} ${path}`)) ||
        isRetracted(event, log) ||
        // An event of an unknown type counts as missing.
        (path === "type" && isOptional);
      if (one.kind === "remove field") delete holder[key];
      else holder[key] = mutateValue(holder[key] as Json, one.how, log);
      if (JSON.stringify(holder[key]) === old) return undefined;
      return { kind: "content", text: `${text} ${path}: ${old.slice(0, 80)}`, isException };
    }
  }
}

/** Moves an event, which is valid only if it is independent of the events in between. */
function moveEvent(
  log: LooseEvent[],
  index: number,
  to: number,
  text: string,
): AppliedMutation | undefined {
  if (to === index || to >= log.length) return undefined;
  const [event] = log.splice(index, 1);
  if (event === undefined) return undefined;
  log.splice(to, 0, event);
  renumber(log);
  return { kind: "order", text: `${text} to ${to}`, isException: true };
}

function renumber(log: LooseEvent[]): void {
  for (const [sequence_number, event] of log.entries()) event["sequence_number"] = sequence_number;
}

interface Leaf {
  holder: Record<string, Json>;
  key: string;
  path: string;
}

function listFields(value: Json, path = ""): Leaf[] {
  if (typeof value !== "object" || value === null) return [];
  const holder = value as Record<string, Json>;
  return Object.keys(holder).flatMap((key) => {
    const below = path === "" ? key : `${path}.${key}`;
    return [{ holder, key, path: below }, ...listFields(holder[key] as Json, below)];
  });
}

function mutateValue(value: Json, how: number, log: LooseEvent[]): Json {
  if (typeof value === "number") return value + (how % 2 === 0 ? 1 : -1);
  if (typeof value === "boolean") return !value;
  if (value === null) return 0;
  if (Array.isArray(value)) return how % 2 === 0 ? value.slice(1) : [...value, "x"];
  if (typeof value === "object") return how % 2 === 0 ? {} : { ...value, type: "other" };
  if (how % 3 === 0) return `${value}x`;
  if (how % 3 === 1) return value.slice(0, -1);
  // A string from elsewhere in the log, such as another id or status.
  const others = log.flatMap((event) => listFields(event)).map(({ holder, key }) => holder[key]);
  const strings = others.filter((other): other is string => typeof other === "string");
  return strings[how % strings.length] ?? "";
}
