import {
  annotate,
  canonicalJson,
  emptyTree,
  hasEnded,
  reduce,
  snapshotOf,
  statusAfter,
  taskView,
  treeOf,
  TreeWriter,
  validateLog,
  type Annotation,
  type LogEntry,
  type Snapshot,
  type TaskEvent,
  type TaskTree,
} from "@deltawire/tasks";
import fc from "fast-check";
import { expect, test } from "vitest";
import { patience, runs } from "../../../test/runs.ts";
import { providersIds, randomRun, randomSession, sha256, typesIn, type Run } from "./random-run.ts";

/*
 * The invariants of the task stream, each over random runs: nested, interrupted, taken over after a crash. What is not
 * about events alone is shown where it can break, with real connections and real processes:
 *
 *    7  what runs again after a crash  agent: recovery, crash, random-runs; gateway: kill
 *   10  the ids of a runtime           agent: runtime ("repeats ids"); gateway: kill
 *   11  a slow reader                  gateway: tasks-slow-reader
 *   13  leaving is not cancelling      gateway: tasks-follow ("a client that leaves"), tasks-http, ui-messages
 *       what a cancel reaches          agent: cancel, runtime-life; gateway: tasks-runtime
 *   14  the end of a connection        task-store ("cut connections"); gateway: tasks-follow
 */

const anywhere = fc.nat({ max: 0xffff });

function isTerminal({ type }: TaskEvent): boolean {
  return hasEnded(statusAfter(type));
}

function through(tree: TaskTree): TaskTree {
  return treeOf(JSON.parse(JSON.stringify(snapshotOf(tree))) as Snapshot);
}

function eventsOf<T extends TaskEvent["type"]>({ events }: Run, ...types: T[]) {
  return events.filter((event): event is Extract<TaskEvent, { type: T }> =>
    (types as string[]).includes(event.type),
  );
}

test("random runs are legal, and together they do all that can be done", patience, () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(randomRun, (run) => {
      expect(validateLog(run.events, { complete: true, sha256 })).toBeUndefined();
      for (const type of typesIn(run)) seen.add(type);
      for (const { info, status } of Object.values(run.state.tasks))
        seen.add(`depth ${info.depth}`).add(`status ${status}`);
      for (const event of eventsOf(run, "task.approval.resolved")) {
        seen.add(event.decision).add(`scope ${event.scope}`);
        if (event.arguments !== undefined) seen.add("edited arguments");
      }
      for (const event of eventsOf(run, "task.tool_execution.started"))
        seen.add(`effect ${event.effect}`);
      for (const event of eventsOf(run, "task.tool_execution.done")) seen.add(event.outcome);
      for (const event of eventsOf(run, "task.text.annotation.added"))
        seen.add(event.annotation.type);
      for (const event of eventsOf(run, "task.reference.added"))
        if (event.reference.source !== undefined) seen.add("reference into a sub-task");
      for (const event of eventsOf(run, "task.working"))
        if (event.recovered === true) seen.add("taken over");
    }),
    runs(600),
  );
  expect([...seen]).toEqual(
    expect.arrayContaining(
      [
        ["depth 0", "depth 1", "depth 2", "depth 3", "taken over", "edited arguments"],
        ["status completed", "status failed", "status canceled", "status expired"],
        ["approve", "deny", "redact", "abort", "scope once", "scope session"],
        ["effect pure", "effect idempotent", "effect once"],
        ["completed", "failed", "timeout", "canceled", "unknown"],
        ["reference_to_block", "unresolved_reference", "reference into a sub-task"],
        ["task.reasoning_text.done", "task.image.delta", "task.output_item.retracted"],
        ["task.approval.expired", "task.tool_execution.progress", "task.input_required"],
      ].flat(),
    ),
  );
});

test(
  "1: the reduction of the events is the task, and state_hash is the SHA-256 of its canonical JSON",
  patience,
  () => {
    fc.assert(
      fc.property(randomRun, ({ entries, state }) => {
        const events = entries.map(({ json }) => JSON.parse(json) as TaskEvent);
        expect(taskView(reduce(emptyTree, events))).toEqual(taskView(state));
        const told: string[] = [];
        const computed: string[] = [];
        let tree = emptyTree;
        for (const event of events) {
          tree = reduce(tree, [event]);
          if (!("state_hash" in event)) continue;
          told.push(event.state_hash);
          computed.push(sha256(canonicalJson(taskView(tree, event.task_id))));
        }
        expect(told).toEqual(computed);
        expect(told.length).toBe(Object.keys(state.tasks).length);
        expect(tree).toEqual(state);
      }),
      runs(150),
    );
  },
);

test("2: a snapshot and the events after it reduce to the same as all events", patience, () => {
  fc.assert(
    fc.property(randomRun, anywhere, ({ events, state }, at) => {
      const k = at % events.length;
      const before = through(reduce(emptyTree, events.slice(0, k + 1)));
      expect(reduce(before, events.slice(k + 1))).toEqual(state);
    }),
    runs(250),
  );
});

test("3: an event that is applied twice changes nothing", patience, () => {
  fc.assert(
    fc.property(randomRun, anywhere, anywhere, ({ events, state }, from, count) => {
      const start = from % events.length;
      const end = start + (count % (events.length - start)) + 1;
      const doubled = [...events.slice(0, end), ...events.slice(start, end), ...events.slice(end)];
      expect(reduce(emptyTree, doubled)).toEqual(state);
      expect(reduce(state, events)).toBe(state);
    }),
    runs(250),
  );
});

test("4: every item that was added is done or retracted before its task ends", patience, () => {
  fc.assert(
    fc.property(randomRun, (run) => {
      const open = new Set<string>();
      const closed: string[] = [];
      const leftOpen: string[] = [];
      for (const event of run.events) {
        if ("output_index" in event) {
          const item = `${event.task_id} ${event.output_index}`;
          if (event.type === "task.output_item.added") open.add(item);
          if (/\.output_item\.(done|retracted)$/.test(event.type)) {
            open.delete(item);
            closed.push(`${event.type} ${item}`);
          }
        }
        if (isTerminal(event))
          leftOpen.push(...[...open].filter((item) => item.startsWith(`${event.task_id} `)));
      }
      expect(leftOpen).toEqual([]);
      expect(new Set(closed).size).toBe(closed.length);
    }),
    runs(250),
  );
});

test(
  "5: a task has exactly one terminal event, after those of its sub-tasks, and nothing after it",
  patience,
  () => {
    fc.assert(
      fc.property(randomRun, (run) => {
        const tasks = Object.values(run.state.tasks);
        const last = new Map(run.events.map((event) => [event.task_id, event]));
        const endings = run.events.filter(isTerminal);
        expect(endings.length).toBe(tasks.length);
        expect(new Set(endings)).toEqual(new Set(last.values()));
        const order = endings.map(({ task_id }) => task_id);
        for (const { task_id, info } of tasks) {
          const parent = order.indexOf(info.parent_task_id ?? task_id);
          expect(parent).toBeGreaterThanOrEqual(order.indexOf(task_id));
        }
      }),
      runs(250),
    );
  },
);

test("6: every tool call has exactly one tool result", patience, () => {
  fc.assert(
    fc.property(randomRun, ({ state }) => {
      for (const { output } of Object.values(state.tasks)) {
        const calls = output.flatMap((item) => (item.type === "tool_call" ? [item.call_id] : []));
        const results = output.flatMap((item) =>
          item.type === "tool_result" ? [item.call_id] : [],
        );
        expect(results.toSorted()).toEqual(calls.toSorted());
      }
    }),
    runs(250),
  );
});

test("8: what is executed has the hash of what was approved", patience, () => {
  fc.assert(
    fc.property(randomRun, (run) => {
      /** Of each call, what may be executed. */
      const allowed = new Map<string, string>();
      const calls = new Map<string, string>();
      const hashes: string[] = [];
      const expected: string[] = [];
      for (const event of run.events) {
        if (event.type === "task.output_item.done" && event.item.type === "tool_call") {
          allowed.set(event.item.call_id, sha256(event.item.arguments));
        } else if (event.type === "task.approval.requested" && event.approval.kind === "call") {
          const { approval_id, call_id = "", args_hash = "" } = event.approval;
          hashes.push(args_hash);
          expected.push(allowed.get(call_id) ?? "nothing");
          allowed.delete(call_id);
          calls.set(approval_id, call_id);
        } else if (event.type === "task.approval.resolved" && event.decision === "approve") {
          const asked = run.state.approvals.find((a) => a.approval_id === event.approval_id);
          const call = calls.get(event.approval_id);
          const edited = event.arguments === undefined ? undefined : sha256(event.arguments);
          if (call !== undefined) allowed.set(call, edited ?? asked?.args_hash ?? "");
        } else if (event.type === "task.tool_execution.started") {
          hashes.push(event.args_hash);
          expected.push(allowed.get(event.call_id) ?? "nothing");
        }
      }
      expect(hashes).toEqual(expected);
    }),
    runs(250),
  );
});

test(
  "9: annotations are true of the text, and a marker without a reference is never linked",
  patience,
  () => {
    fc.assert(
      fc.property(randomRun, (run) => {
        const references = new Map<string, number>();
        for (const event of run.events) {
          const known = references.get(event.task_id) ?? 0;
          if (event.type === "task.reference.added") references.set(event.task_id, known + 1);
          const told = event.type === "task.text.annotation.added" ? [event.annotation] : [];
          expect(told.map(({ type }) => type)).toEqual(told.map((one) => typeOf(one, known)));
          if (event.type !== "task.text.done" || !event.item_id.startsWith("msg")) continue;
          const { text, annotations = [] } = event.item;
          for (const annotation of annotations) {
            const { start_index, end_index, reference_id } = annotation;
            expect(text.slice(start_index, end_index)).toBe(`[^${reference_id}]`);
            expect(annotation.type).toBe(typeOf(annotation, known));
          }
          expect(annotations).toEqual(annotate(text, (n) => n >= 1 && n <= known));
        }
      }),
      runs(250),
    );
  },
);

function typeOf(annotation: Annotation, references: number): Annotation["type"] {
  const { reference_id: n } = annotation;
  return n >= 1 && n <= references ? "reference_to_block" : "unresolved_reference";
}

const prose = fc.oneof(
  fc
    .constantFrom("Sunny ", "😀 ", "中文 ", "a [link](x) ", "\n\n", "\n")
    .map((text) => ({ text, cited: 0 })),
  fc.integer({ min: 1, max: 99 }).map((n) => ({ text: `[^${n}] `, cited: n })),
  fc
    .constantFrom("`x [^1]` ", "``y ` [^2]`` ", "\n```js\n[^3]\n```\n", "\n~~~\n`[^4]\n~~~\n")
    .map((text) => ({ text, cited: 0 })),
);

test(
  "9: no marker within code is annotated, every other one is, wherever the deltas are cut",
  patience,
  () => {
    fc.assert(
      fc.property(
        fc.array(prose),
        fc.infiniteStream(fc.integer({ min: 1, max: 9 })),
        (pieces, cuts) => {
          let text = "";
          const expected: Annotation[] = [];
          for (const piece of pieces) {
            if (piece.cited > 0)
              expected.push({
                type: "unresolved_reference",
                reference_id: piece.cited,
                start_index: text.length,
                end_index: text.length + piece.text.length - 1,
              });
            text += piece.text;
          }
          const entries: LogEntry[] = [];
          const message = startedTask(entries).message();
          for (let at = 0; at < text.length;) {
            const length = cuts.next().value;
            message.delta(text.slice(at, at + length));
            at += length;
          }
          message.done();
          const annotations = entries.flatMap(({ event }) =>
            event.type === "task.text.annotation.added" ? [event.annotation] : [],
          );
          expect(annotations).toEqual(expected);
        },
      ),
      runs(300),
    );
  },
);

function startedTask(entries: LogEntry[]) {
  let ids = 0;
  const tree = new TreeWriter({
    newId: (prefix) => `${prefix}_${(ids += 1)}`,
    now: () => "2026-01-01T00:00:00.000Z",
    emit: (entry) => entries.push(entry),
  });
  const info = { root_task_id: "task_1", attempt: 1, depth: 0, agent: "a", model: "m" };
  const task = tree.create("task_1", { ...info, limits: {} });
  task.working();
  task.roundStarted(1, "m");
  return task;
}

test(
  "10: ids are unique in a session, and the provider's, which are not, are in no event",
  patience,
  () => {
    let repeated = 0;
    fc.assert(
      fc.property(randomSession, ([one, other]) => {
        const ids = [...idsIn(one), ...idsIn(other)];
        expect(new Set(ids).size).toBe(ids.length);
        for (const { json, private: hidden } of [...one.entries, ...other.entries]) {
          expect(json).not.toContain("provider_");
          if (hidden?.["call_id"] === providersIds(0).call_id) repeated += 1;
        }
      }),
      runs(150),
    );
    expect(repeated).toBeGreaterThan(150);
  },
);

function idsIn({ events }: Run): string[] {
  return events.flatMap((event) => {
    switch (event.type) {
      case "task.output_item.added":
        return event.item.type === "tool_call"
          ? [event.item.id, event.item.call_id]
          : [event.item.id];
      case "task.input.added":
        return [event.item.id];
      case "task.approval.requested":
        return [event.approval.approval_id];
      case "task.tool_execution.started":
        return [event.execution_id];
      case "task.created":
        // A sub-task has the id of the call that it answers.
        return event.task.parent_call_id === undefined ? [event.task_id] : [];
      default:
        return [];
    }
  });
}

test("12: events of unknown types and unknown fields are ignored and kept", patience, () => {
  fc.assert(
    fc.property(randomRun, fc.array(anywhere, { maxLength: 5 }), (run, places) => {
      // What is said with a decision becomes part of the view, and so of its hash.
      const later: object[] = run.events.map((event) =>
        event.type === "task.approval.resolved" ? event : { ...event, later: { is: "kept" } },
      );
      for (const place of places) {
        // Between the task's first event and its last.
        const at = 1 + (place % (later.length - 1));
        later.splice(at, 0, {
          type: "task.not_yet_invented",
          task_id: "task_root",
          output_index: 0,
        });
      }
      const events = later.map(
        (event, sequence_number) => ({ ...event, sequence_number }) as TaskEvent,
      );
      expect(validateLog(events, { complete: true, sha256 })).toBeUndefined();
      expect(taskView(reduce(emptyTree, events))).toEqual(taskView(run.state));
      const marked = run.events.map((event) =>
        event.type === "task.output_item.added"
          ? { ...event, item: { ...event.item, later: "kept" } }
          : event,
      );
      const items = Object.values(reduce(emptyTree, marked).tasks).flatMap(({ output }) => output);
      for (const item of items.filter(({ type }) => type !== "retracted"))
        expect(item).toHaveProperty("later", "kept");
    }),
    runs(250),
  );
});
