import {
  annotateCitations,
  canonicalJson,
  emptyTree,
  hasEnded,
  reduce,
  createSnapshot,
  statusFromEventType,
  buildTaskView,
  snapshotToTree,
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
import { longTimeout, propertyRuns } from "../../../test/property-runs.ts";
import {
  providerIds,
  randomRun,
  randomSession,
  sha256,
  collectTypes,
  type Run,
} from "./random-run.ts";

/*
 * The invariants of the task stream, each tested with random runs that are nested, interrupted, and resumed after a crash.
 * Invariants that also depend on connections and processes are tested elsewhere:
 *
 *    7  which calls run again         agent: recovery, crash, random-runs; gateway: kill
 *   10  ids of a runtime              agent: runtime; gateway: kill
 *   11  a slow client                 gateway: tasks-slow-reader
 *   13  disconnecting does not cancel gateway: tasks-http, ui-messages
 *       what a cancellation stops     agent: cancel, runtime-lifecycle; gateway: tasks-runtime
 *   14  end of a connection           task-store ("a closed connection"); gateway: tasks-streams
 */

const anyIndex = fc.nat({ max: 0xffff });

function isTerminal({ type }: TaskEvent): boolean {
  return hasEnded(statusFromEventType(type));
}

function restoreFromSnapshot(tree: TaskTree): TaskTree {
  return snapshotToTree(JSON.parse(JSON.stringify(createSnapshot(tree))) as Snapshot);
}

function filterEvents<T extends TaskEvent["type"]>({ events }: Run, ...types: T[]) {
  return events.filter((event): event is Extract<TaskEvent, { type: T }> =>
    (types as string[]).includes(event.type),
  );
}

test("random runs are valid and together contain all types of events", longTimeout, () => {
  const eventTypes = new Set<string>();
  fc.assert(
    fc.property(randomRun, (run) => {
      expect(validateLog(run.events, { complete: true, sha256 })).toBeUndefined();
      for (const type of collectTypes(run)) eventTypes.add(type);
      for (const { info, status } of Object.values(run.state.tasks))
        eventTypes.add(`depth ${info.depth}`).add(`status ${status}`);
      for (const event of filterEvents(run, "task.approval.resolved")) {
        eventTypes.add(event.decision).add(`scope ${event.scope}`);
        if (event.arguments !== undefined) eventTypes.add("edited arguments");
      }
      for (const event of filterEvents(run, "task.tool_execution.started"))
        eventTypes.add(`effect ${event.effect}`);
      for (const event of filterEvents(run, "task.tool_execution.done"))
        eventTypes.add(event.outcome);
      for (const event of filterEvents(run, "task.text.annotation.added"))
        eventTypes.add(event.annotation.type);
      for (const event of filterEvents(run, "task.reference.added"))
        if (event.reference.source !== undefined) eventTypes.add("reference into a sub-task");
      for (const event of filterEvents(run, "task.working"))
        if (event.recovered === true) eventTypes.add("resumed");
    }),
    propertyRuns(600),
  );
  expect([...eventTypes]).toEqual(
    expect.arrayContaining(
      [
        ["depth 0", "depth 1", "depth 2", "depth 3", "resumed", "edited arguments"],
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
  "1: the events reduce to the state of the writer, and state_hash is the SHA-256 of the canonical JSON of the view",
  longTimeout,
  () => {
    fc.assert(
      fc.property(randomRun, ({ entries, state }) => {
        const events = entries.map(({ json }) => JSON.parse(json) as TaskEvent);
        expect(buildTaskView(reduce(emptyTree, events))).toEqual(buildTaskView(state));
        const written: string[] = [];
        const computed: string[] = [];
        let tree = emptyTree;
        for (const event of events) {
          tree = reduce(tree, [event]);
          if (!("state_hash" in event)) continue;
          written.push(event.state_hash);
          computed.push(sha256(canonicalJson(buildTaskView(tree, event.task_id))));
        }
        expect(written).toEqual(computed);
        expect(written.length).toBe(Object.keys(state.tasks).length);
        expect(tree).toEqual(state);
      }),
      propertyRuns(150),
    );
  },
);

test(
  "2: a snapshot and the events after it reduce to the same state as all events",
  longTimeout,
  () => {
    fc.assert(
      fc.property(randomRun, anyIndex, ({ events, state }, index) => {
        const k = index % events.length;
        const before = restoreFromSnapshot(reduce(emptyTree, events.slice(0, k + 1)));
        expect(reduce(before, events.slice(k + 1))).toEqual(state);
      }),
      propertyRuns(250),
    );
  },
);

test("3: an event that is applied twice changes nothing", longTimeout, () => {
  fc.assert(
    fc.property(randomRun, anyIndex, anyIndex, ({ events, state }, from, count) => {
      const start = from % events.length;
      const end = start + (count % (events.length - start)) + 1;
      const withDuplicates = [
        ...events.slice(0, end),
        ...events.slice(start, end),
        ...events.slice(end),
      ];
      expect(reduce(emptyTree, withDuplicates)).toEqual(state);
      expect(reduce(state, events)).toBe(state);
    }),
    propertyRuns(250),
  );
});

test("4: every item that was added is done or retracted before its task ends", longTimeout, () => {
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
    propertyRuns(250),
  );
});

test(
  "5: a task has exactly one terminal event, after those of its sub-tasks, and nothing after it",
  longTimeout,
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
      propertyRuns(250),
    );
  },
);

test("6: every tool call has exactly one tool result", longTimeout, () => {
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
    propertyRuns(250),
  );
});

test("8: executed arguments have the hash of the approved ones", longTimeout, () => {
  fc.assert(
    fc.property(randomRun, (run) => {
      /** By call id: the hash of the arguments that may be executed. */
      const allowedHashes = new Map<string, string>();
      const calls = new Map<string, string>();
      const hashes: string[] = [];
      const expected: string[] = [];
      for (const event of run.events) {
        if (event.type === "task.output_item.done" && event.item.type === "tool_call") {
          allowedHashes.set(event.item.call_id, sha256(event.item.arguments));
        } else if (event.type === "task.approval.requested" && event.approval.kind === "call") {
          const { approval_id, call_id = "", args_hash = "" } = event.approval;
          hashes.push(args_hash);
          expected.push(allowedHashes.get(call_id) ?? "nothing");
          allowedHashes.delete(call_id);
          calls.set(approval_id, call_id);
        } else if (event.type === "task.approval.resolved" && event.decision === "approve") {
          const approval = run.state.approvals.find((a) => a.approval_id === event.approval_id);
          const call = calls.get(event.approval_id);
          const edited = event.arguments === undefined ? undefined : sha256(event.arguments);
          if (call !== undefined) allowedHashes.set(call, edited ?? approval?.args_hash ?? "");
        } else if (event.type === "task.tool_execution.started") {
          hashes.push(event.args_hash);
          expected.push(allowedHashes.get(event.call_id) ?? "nothing");
        }
      }
      expect(hashes).toEqual(expected);
    }),
    propertyRuns(250),
  );
});

test(
  "9: annotations match the text, and a marker without a reference is unresolved",
  longTimeout,
  () => {
    fc.assert(
      fc.property(randomRun, (run) => {
        const references = new Map<string, number>();
        for (const event of run.events) {
          const known = references.get(event.task_id) ?? 0;
          if (event.type === "task.reference.added") references.set(event.task_id, known + 1);
          const added = event.type === "task.text.annotation.added" ? [event.annotation] : [];
          expect(added.map(({ type }) => type)).toEqual(
            added.map((one) => getExpectedType(one, known)),
          );
          if (event.type !== "task.text.done" || !event.item_id.startsWith("msg")) continue;
          const { text, annotations = [] } = event.item;
          for (const annotation of annotations) {
            const { start_index, end_index, reference_id } = annotation;
            expect(text.slice(start_index, end_index)).toBe(`[^${reference_id}]`);
            expect(annotation.type).toBe(getExpectedType(annotation, known));
          }
          expect(annotations).toEqual(annotateCitations(text, (n) => n >= 1 && n <= known));
        }
      }),
      propertyRuns(250),
    );
  },
);

function getExpectedType(annotation: Annotation, references: number): Annotation["type"] {
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
  "9: all markers outside of code are annotated, however the text is split into deltas",
  longTimeout,
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
          const message = startTask(entries).message();
          for (let index = 0; index < text.length;) {
            const length = cuts.next().value;
            message.delta(text.slice(index, index + length));
            index += length;
          }
          message.done();
          const annotations = entries.flatMap(({ event }) =>
            event.type === "task.text.annotation.added" ? [event.annotation] : [],
          );
          expect(annotations).toEqual(expected);
        },
      ),
      propertyRuns(300),
    );
  },
);

function startTask(entries: LogEntry[]) {
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
  "10: ids are unique in a session, and no public event contains the ids of the provider, which are not unique",
  longTimeout,
  () => {
    let repeated = 0;
    fc.assert(
      fc.property(randomSession, ([one, other]) => {
        const ids = [...collectIds(one), ...collectIds(other)];
        expect(new Set(ids).size).toBe(ids.length);
        for (const { json, private: hidden } of [...one.entries, ...other.entries]) {
          expect(json).not.toContain("provider_");
          if (hidden?.["call_id"] === providerIds(0).call_id) repeated += 1;
        }
      }),
      propertyRuns(150),
    );
    expect(repeated).toBeGreaterThan(150);
  },
);

function collectIds({ events }: Run): string[] {
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
        // A sub-agent's task has the id of its call.
        return event.task.parent_call_id === undefined ? [event.task_id] : [];
      default:
        return [];
    }
  });
}

test(
  "12: events of unknown types change nothing, and unknown fields are retained",
  longTimeout,
  () => {
    fc.assert(
      fc.property(randomRun, fc.array(anyIndex, { maxLength: 5 }), (run, indexes) => {
        // Unknown fields of a decision are part of the view, and so of its hash.
        const withUnknown: object[] = run.events.map((event) =>
          event.type === "task.approval.resolved" ? event : { ...event, later: { is: "retained" } },
        );
        for (const index of indexes) {
          // Between the task's first event and its last.
          const position = 1 + (index % (withUnknown.length - 1));
          withUnknown.splice(position, 0, {
            type: "task.not_yet_invented",
            task_id: "task_root",
            output_index: 0,
          });
        }
        const events = withUnknown.map(
          (event, sequence_number) => ({ ...event, sequence_number }) as TaskEvent,
        );
        expect(validateLog(events, { complete: true, sha256 })).toBeUndefined();
        expect(buildTaskView(reduce(emptyTree, events))).toEqual(buildTaskView(run.state));
        const withUnknownFields = run.events.map((event) =>
          event.type === "task.output_item.added"
            ? { ...event, item: { ...event.item, later: "retained" } }
            : event,
        );
        const items = Object.values(reduce(emptyTree, withUnknownFields).tasks).flatMap(
          ({ output }) => output,
        );
        for (const item of items.filter(({ type }) => type !== "retracted"))
          expect(item).toHaveProperty("later", "retained");
      }),
      propertyRuns(250),
    );
  },
);
