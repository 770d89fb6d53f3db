import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { coalesce, encodeTaskEvent, reduce, emptyTree } from "@deltawire/tasks";
import { measureCpuTime } from "../../../test/cpu-time.ts";
import type { TaskEvent, TaskEventBody } from "../src/events.ts";

const usage = (n: number) => ({ input_tokens: n, output_tokens: 0, total_tokens: n });
const itemFields = { item_id: "msg_1", output_index: 3 };

/** Opens one item of each type in two tasks, as targets for deltas. */
const openingEvents: (TaskEventBody & { task_id: string })[] = ["root", "call_1"].flatMap(
  (task_id) => [
    {
      type: "task.created" as const,
      task_id,
      task: {
        root_task_id: "root",
        ...(task_id === "root" ? {} : { parent_task_id: "root", parent_call_id: task_id }),
        attempt: 1,
        depth: task_id === "root" ? 0 : 1,
        agent: "a",
        model: "m",
        status: "created" as const,
        limits: {},
        created_at: "2025-01-01T00:00:00Z",
        protocol_version: "1.0",
      },
    },
    {
      type: "task.output_item.added" as const,
      task_id,
      output_index: 0,
      item: { type: "reasoning" as const, id: "rs_1", summary: [] },
    },
    {
      type: "task.reasoning_summary_item.added" as const,
      task_id,
      item_id: "rs_1",
      output_index: 0,
      summary_index: 0,
      item: { type: "text" as const, text: "" },
    },
    {
      type: "task.output_item.added" as const,
      task_id,
      output_index: 1,
      item: { type: "tool_call" as const, id: "fc_1", call_id: "c", name: "t", arguments: "" },
    },
    {
      type: "task.output_item.added" as const,
      task_id,
      output_index: 2,
      item: { type: "tool_result" as const, id: "fco_1", call_id: "c", block_list: [] },
    },
    {
      type: "task.image.added" as const,
      task_id,
      item_id: "fco_1",
      output_index: 2,
      block_index: 0,
      item: { type: "image" as const, image_url: { url: "" }, id: 1 },
    },
    {
      type: "task.output_item.added" as const,
      task_id,
      output_index: 3,
      item: { type: "message" as const, id: "msg_1", role: "assistant" as const, block_list: [] },
    },
    ...[0, 1].map((block_index) => ({
      type: "task.text.added" as const,
      task_id,
      ...itemFields,
      block_index,
      item: { type: "text" as const, text: "" },
    })),
  ],
);

const shortText = fc.string({ maxLength: 4 });
const anyBody: fc.Arbitrary<TaskEventBody> = fc.oneof(
  fc.record({
    type: fc.constant("task.text.delta" as const),
    item_id: fc.constant("msg_1"),
    output_index: fc.constant(3),
    block_index: fc.constantFrom(0, 1),
    delta: shortText,
  }),
  fc.record({
    type: fc.constant("task.reasoning_summary_text.delta" as const),
    item_id: fc.constant("rs_1"),
    output_index: fc.constant(0),
    summary_index: fc.constant(0),
    delta: shortText,
  }),
  fc.record({
    type: fc.constant("task.reasoning_text.delta" as const),
    item_id: fc.constant("rs_1"),
    output_index: fc.constant(0),
    content_index: fc.constant(0),
    delta: shortText,
  }),
  fc.record({
    type: fc.constant("task.tool_call_arguments.delta" as const),
    item_id: fc.constant("fc_1"),
    output_index: fc.constant(1),
    delta: shortText,
  }),
  fc.record({
    type: fc.constant("task.image.delta" as const),
    item_id: fc.constant("fco_1"),
    output_index: fc.constant(2),
    block_index: fc.constant(0),
    partial_image_index: fc.nat({ max: 9 }),
    item: fc.record({
      type: fc.constant("image" as const),
      image_url: fc.record({ url: shortText }),
    }),
  }),
  fc.record({
    type: fc.constant("task.usage.updated" as const),
    usage: fc.nat({ max: 99 }).map(usage),
  }),
  fc.record({
    type: fc.constant("task.usage.updated" as const),
    usage: fc.nat({ max: 99 }).map(usage),
    tree_usage: fc.nat({ max: 99 }).map(usage),
  }),
  fc.record({
    type: fc.constant("task.tool_execution.progress" as const),
    call_id: fc.constant("c"),
    execution_id: fc.constantFrom("e1", "e2"),
    message: shortText,
  }),
  fc.record({
    type: fc.constant("task.round.progress" as const),
    round: fc.constantFrom(1, 2),
    message: shortText,
  }),
  fc.constant({ type: "task.warning" as const, code: "retry", message: "again" }),
);

/** Logs with long runs of the same event, as in real streams. */
const anyLog = fc
  .array(fc.tuple(fc.constantFrom("root", "call_1"), anyBody, fc.nat({ max: 4 }), fc.boolean()), {
    maxLength: 30,
  })
  .map((runs) => {
    const bodies = runs.flatMap(([task_id, body, more, offsets]) =>
      Array.from({ length: more + 1 }, () => ({ body: { ...body, task_id }, offsets })),
    );
    const lengths = new Map<string, number>();
    const events: TaskEvent[] = openingEvents.map((body, sequence_number) => ({
      ...body,
      sequence_number,
    }));
    for (const { body, offsets } of bodies) {
      const event: TaskEvent = { ...body, sequence_number: events.length };
      if ("delta" in event) {
        const { delta: _delta, sequence_number: _number, ...deltaFields } = event;
        const key = JSON.stringify(deltaFields);
        const offset = lengths.get(key) ?? 0;
        lengths.set(key, offset + event.delta.length);
        events.push(offsets ? { ...event, offset } : event);
      } else {
        events.push(event);
      }
    }
    return events;
  });

describe("coalesce", () => {
  test("does not change the reduced state", () => {
    fc.assert(
      fc.property(anyLog, (events) => {
        expect(reduce(emptyTree, coalesce(events))).toEqual(reduce(emptyTree, events));
      }),
      { numRuns: 500 },
    );
  });

  test("returns consecutive ranges of sequence numbers", () => {
    fc.assert(
      fc.property(anyLog, (events) => {
        let next = 0;
        for (const { coalesced_from, sequence_number } of coalesce(events)) {
          expect(coalesced_from ?? sequence_number).toBe(next);
          next = sequence_number + 1;
        }
        expect(next).toBe(events.length);
      }),
    );
  });

  test("gives the same result if it was already applied to parts of the events", () => {
    fc.assert(
      fc.property(anyLog, fc.nat(), (events, offset) => {
        const index = offset % events.length;
        const coalesced = coalesce(events);
        expect(coalesce(coalesced)).toEqual(coalesced);
        expect(
          coalesce([...coalesce(events.slice(0, index)), ...coalesce(events.slice(index))]),
        ).toEqual(coalesced);
      }),
    );
  });

  test("does not change its input", () => {
    fc.assert(
      fc.property(anyLog, (events) => {
        const before = structuredClone(events);
        coalesce(events);
        expect(events).toEqual(before);
      }),
    );
  });

  test("merges text deltas into one with the offset of the first", () => {
    const delta = { type: "task.text.delta" as const, task_id: "t", ...itemFields, block_index: 0 };
    expect(
      coalesce([
        { ...delta, sequence_number: 4, ts: "1", delta: "Hel", offset: 7 },
        { ...delta, sequence_number: 5, ts: "2", delta: "lo", offset: 10 },
        { ...delta, sequence_number: 6, ts: "3", delta: "!" },
      ]),
    ).toEqual([
      { ...delta, sequence_number: 6, coalesced_from: 4, ts: "3", delta: "Hello!", offset: 7 },
    ]);
  });

  test("does not merge across gaps, blocks or tasks", () => {
    const delta = { type: "task.text.delta" as const, task_id: "t", ...itemFields, block_index: 0 };
    const events: TaskEvent[] = [
      { ...delta, sequence_number: 4, delta: "a" },
      { ...delta, sequence_number: 6, delta: "b" },
      { ...delta, sequence_number: 7, block_index: 1, delta: "c" },
      { ...delta, sequence_number: 8, block_index: 1, task_id: "u", delta: "d" },
    ];
    expect(coalesce(events)).toEqual(events);
  });

  test("merges 100,000 deltas in less than a second", () => {
    const delta = { type: "task.text.delta" as const, task_id: "t", ...itemFields, block_index: 0 };
    const events = Array.from({ length: 100_000 }, (_, sequence_number) => ({
      ...delta,
      sequence_number,
      delta: "word ",
    }));
    let merged: ReturnType<typeof coalesce> = [];
    expect(measureCpuTime(() => (merged = coalesce(events)))).toBeLessThan(1_000);
    expect(merged).toMatchObject([{ coalesced_from: 0, delta: "word ".repeat(100_000) }]);
  });
});

describe("encodeTaskEvent", () => {
  test("writes the number or cursors of an event as its id, and no id for connection events", () => {
    expect(encodeTaskEvent('{"type":"x"}', 12)).toBe('id: 12\ndata: {"type":"x"}\n\n');
    expect(encodeTaskEvent("{}", "a:1,b:2")).toBe("id: a:1,b:2\ndata: {}\n\n");
    expect(encodeTaskEvent("{}", undefined)).toBe("data: {}\n\n");
  });

  test("writes indented JSON on one line", () => {
    const value = { a: ["x\ny", 1] };
    const frame = encodeTaskEvent(JSON.stringify(value, null, 2), 1);
    expect(frame.split("\n")).toHaveLength(4);
    expect(JSON.parse(frame.split("\n")[1]?.slice(6) ?? "")).toEqual(value);
  });
});
