import {
  coalesce,
  createTaskStore,
  emptyTree,
  reduce,
  taskView,
  type TaskEvent,
  type TaskEventBody,
} from "@deltawire/tasks";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sampleLog } from "./sample-log.ts";
import { answer, heartbeat, opened, Script, snapshotAfter } from "./scripted-stream.ts";

const whole = reduce(emptyTree, sampleLog);
const after = (count: number) => reduce(emptyTree, sampleLog.slice(0, count));
const event = (index: number) => sampleLog[index] as TaskEvent;

/** A script that follows the sample task and has its first events. */
function following(count: number, options = {}): Script {
  const script = new Script();
  script.store.follow("task_1", { after: -1, ...options });
  script.send(opened(), ...sampleLog.slice(0, count));
  return script;
}

describe("following", () => {
  test("a task from its first event to its last", () => {
    const script = new Script();
    const { store } = script;
    expect(store.connection("task_1")).toBeUndefined();
    store.follow("task_1", { after: -1 });
    expect(store.connection("task_1")).toEqual({ state: "connecting" });
    script.send(opened());
    expect(store.connection("task_1")).toEqual({ state: "live" });
    expect(store.tree("task_1")).toBeUndefined();
    script.send(...sampleLog.slice(0, 30));
    expect(store.tree("task_1")).toEqual(after(30));
    expect(store.view("task_1")).toEqual(taskView(after(30)));
    script.send(...sampleLog.slice(30));
    expect(store.view("task_1")).toEqual(taskView(whole));
    expect(store.view("task_1")).toBe(store.view("task_1"));
    expect(store.connection("task_1")).toEqual({ state: "ended", reason: "completed" });
    expect(script.last.isClosed).toBe(true);
    expect(script.timers).toBe(0);
    expect(script.cursors).toEqual([-1]);
  });

  test("without a cursor the server begins with a snapshot, and events go on after it", () => {
    const script = new Script();
    script.store.follow("task_1");
    script.send(opened(), snapshotAfter(40), ...sampleLog.slice(40));
    expect(script.cursors).toEqual([undefined]);
    expect(script.store.tree("task_1")).toEqual(whole);
  });

  test("a server that begins with event 0 where nobody asked for a number is understood too", () => {
    const script = new Script();
    script.store.follow("task_1");
    script.send(opened(), ...sampleLog);
    expect(script.store.tree("task_1")).toEqual(whole);
  });

  test("a snapshot of a task that is over ends it", () => {
    const script = new Script();
    script.store.follow("task_1");
    script.send(opened(), snapshotAfter(sampleLog.length));
    expect(script.store.connection("task_1")).toEqual({ state: "ended", reason: "completed" });
    expect(script.timers).toBe(0);
  });

  test("the end of a sub-agent is not the end", () => {
    const childEnds = sampleLog.findIndex(({ type }) => type === "task.completed");
    expect(event(childEnds).task_id).toBe("call_1");
    const script = following(childEnds + 1);
    expect(script.store.connection("task_1")).toEqual({ state: "live" });
  });

  test("what a page knows already is not asked for again", () => {
    const script = new Script();
    script.store.follow("task_1", { from: after(30) });
    expect(script.store.tree("task_1")).toEqual(after(30));
    expect(script.cursors).toEqual([29]);
    script.send(opened(), ...sampleLog.slice(30));
    expect(script.store.tree("task_1")).toEqual(whole);
  });

  test("a page that knows the end already asks for nothing", () => {
    const script = new Script();
    script.store.follow("task_1", { from: whole });
    script.pass();
    expect(script.openings).toEqual([]);
    expect(script.store.connection("task_1")).toEqual({ state: "ended", reason: "completed" });
  });

  test("several tasks are followed each on its own, and twice is once", () => {
    const script = new Script();
    for (const id of ["task_1", "task_2", "task_1"]) script.store.follow(id, { after: -1 });
    expect(script.openings.map(({ cursor }) => cursor.task_id)).toEqual(["task_1", "task_2"]);
    script.openings[0]?.handlers.closed();
    script.send(opened({ task_id: "task_2" }));
    expect(script.store.connection("task_1")?.state).toBe("waiting");
    expect(script.store.connection("task_2")?.state).toBe("live");
  });

  test("words of the connection that are not known yet, or tell how far it is, are passed over", () => {
    const script = following(5);
    script.send({ type: "task.round.progress", task_id: "task_1", round: 0, message: "half" });
    script.send({ type: "task.stream.weather", task_id: "task_1" } as never);
    script.send(event(5));
    expect(script.store.tree("task_1")).toEqual(after(6));
    expect(script.openings).toHaveLength(1);
  });
});

describe("cut connections", () => {
  test("the end of a connection is not the end of the task: it goes on after the last number", () => {
    const script = following(20);
    script.last.handlers.closed("reset by peer");
    script.pass();
    expect(script.store.connection("task_1")).toEqual({
      state: "waiting",
      reason: "reset by peer",
    });
    expect(script.store.tree("task_1")).toEqual(after(20));
    script.pass(200);
    expect(script.store.connection("task_1")?.state).toBe("connecting");
    expect(script.cursors).toEqual([-1, 19]);
    script.send(...answer(script.last.cursor));
    expect(script.store.tree("task_1")).toEqual(whole);
  });

  test("a connection that is cut after every event comes to the same state", () => {
    for (const start of [undefined, -1]) {
      const script = new Script();
      script.onConnect = ({ cursor, handlers }) => {
        const frames =
          cursor.after === undefined ? [opened(), snapshotAfter(1)] : answer(cursor).slice(0, 2);
        script.later(1, () => {
          for (const frame of frames) handlers.event(frame);
          handlers.closed();
        });
      };
      script.store.follow("task_1", start === undefined ? {} : { after: start });
      script.pass(sampleLog.length * 250);
      expect(script.store.tree("task_1")).toEqual(whole);
      expect(script.store.connection("task_1")?.state).toBe("ended");
      expect(script.openings).toHaveLength(sampleLog.length);
    }
  });

  test("cuts anywhere, doubled and joined events and snapshots come to the same state", () => {
    const connection = fc.record({
      frames: fc.integer({ min: 0, max: 30 }),
      doubled: fc.integer({ min: 0, max: 5 }),
      joined: fc.boolean(),
      snapshot: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(connection, { maxLength: 12 }), (connections) => {
        const script = new Script();
        const plan = connections.values();
        script.onConnect = ({ cursor, handlers }) => {
          const step = plan.next().value;
          script.later(1, () => {
            if (step === undefined) {
              for (const frame of answer(cursor)) handlers.event(frame);
              return;
            }
            const known = cursor.after ?? -1;
            const at = Math.max(known + 1, 1);
            const start = step.snapshot || cursor.after === undefined ? [snapshotAfter(at)] : [];
            const from = start.length > 0 ? at : Math.max(0, known + 1 - step.doubled);
            const rest = sampleLog.slice(from);
            const events = step.joined && step.doubled === 0 ? coalesce(rest) : rest;
            for (const frame of [opened(), ...start, ...events].slice(0, step.frames))
              handlers.event(frame);
            handlers.closed();
          });
        };
        script.store.follow("task_1");
        script.pass(600_000);
        expect(script.store.tree("task_1")).toEqual(whole);
        expect(script.store.connection("task_1")?.state).toBe("ended");
        expect(script.timers).toBe(0);
      }),
    );
  });

  test("waits grow to ten seconds, and begin again when something new came", () => {
    const script = new Script();
    const waits: number[] = [];
    let closedAt = 0;
    script.onConnect = ({ handlers }) => {
      waits.push(script.now - closedAt);
      closedAt = script.now;
      handlers.event(opened());
      handlers.closed();
    };
    script.store.follow("task_1", { after: -1 });
    script.pass(34_000);
    expect(waits).toEqual([0, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
    script.onConnect = () => {};
    script.pass(10_000);
    script.send(opened(), event(0));
    script.last.handlers.closed();
    script.pass(199);
    const count = script.openings.length;
    script.pass(1);
    expect(script.openings).toHaveLength(count + 1);
  });

  test("a heartbeat is enough for a connection to count as a good one", () => {
    const script = new Script();
    script.store.follow("task_1", { after: -1 });
    for (let time = 0; time < 4; time += 1) {
      script.send(opened(), heartbeat);
      script.last.handlers.closed();
      script.pass(200);
    }
    expect(script.openings).toHaveLength(5);
  });

  test("a page spreads its waits by the chance that it hands in", () => {
    const script = new Script(() => 0);
    script.store.follow("task_1");
    script.last.handlers.closed();
    script.pass(99);
    expect(script.openings).toHaveLength(1);
    script.pass(1);
    expect(script.openings).toHaveLength(2);
  });

  test("a connection that cannot even be opened is tried again", () => {
    const script = new Script();
    script.onConnect = () => {
      throw new Error("no such address");
    };
    script.store.follow("task_1");
    expect(script.store.connection("task_1")).toEqual({
      state: "waiting",
      reason: "no such address",
    });
    script.onConnect = ({ cursor, handlers }) => {
      for (const frame of answer(cursor)) handlers.event(frame);
    };
    script.pass(200);
    expect(script.store.tree("task_1")).toEqual(whole);
    expect(script.last.isClosed).toBe(true);
  });

  test("what an earlier connection still says is not heard", () => {
    const script = following(10);
    const [first] = script.openings;
    first?.handlers.closed();
    first?.handlers.event(event(10));
    first?.handlers.refused("too late");
    script.pass(200);
    first?.handlers.closed();
    script.send(opened());
    expect(script.store.tree("task_1")).toEqual(after(10));
    expect(script.store.connection("task_1")).toEqual({ state: "live" });
    expect(first?.isClosed).toBe(true);
  });
});

describe("starting again without a cursor", () => {
  test("after a gap; what was known is shown until the snapshot has come", () => {
    const script = following(10);
    script.send(event(12));
    expect(script.store.connection("task_1")).toEqual({
      state: "waiting",
      reason: "event 12 came after event 9",
    });
    expect(script.last.isClosed).toBe(true);
    script.pass(200);
    expect(script.cursors).toEqual([-1, undefined]);
    expect(script.store.tree("task_1")).toEqual(after(10));
    script.send(...answer(script.last.cursor));
    expect(script.store.tree("task_1")).toEqual(whole);
  });

  test("for a cursor that nothing here belongs to", () => {
    const script = new Script();
    script.store.follow("task_1", { after: 20 });
    script.send(opened(), event(21));
    script.pass(200);
    expect(script.cursors).toEqual([20, undefined]);
  });

  test("after an event that cannot be read", () => {
    const script = following(10);
    script.send({ ...event(3), output_index: 1, item: null, sequence_number: 10 } as never);
    expect(script.store.connection("task_1")?.state).toBe("waiting");
    script.pass(200);
    expect(script.cursors).toEqual([-1, undefined]);
  });

  test("when the server asks for it: a snapshot follows on the same connection", () => {
    const script = following(10);
    script.send(
      { type: "task.resync_required", task_id: "task_1", reason: "slow", head: 50 },
      snapshotAfter(51),
      ...sampleLog.slice(51, 55),
    );
    expect(script.store.tree("task_1")).toEqual(after(55));
    expect(script.openings).toHaveLength(1);
  });

  test("when the server asks for it and hangs up", () => {
    const script = following(10);
    script.send({ type: "task.resync_required", task_id: "task_1", reason: "slow", head: 50 });
    script.last.handlers.closed();
    script.pass(200);
    expect(script.cursors).toEqual([-1, undefined]);
  });

  test("when the server asks for it and sends neither a snapshot nor the end", () => {
    const script = following(10);
    script.send(
      { type: "task.resync_required", task_id: "task_1", reason: "slow", head: 50 },
      event(10),
    );
    script.pass(200);
    expect(script.cursors).toEqual([-1, undefined]);
    expect(script.store.tree("task_1")).toEqual(after(10));
  });

  test("a server that never sends what is due is not asked without end", () => {
    const script = new Script();
    script.onConnect = ({ handlers }) => {
      handlers.event(opened());
      handlers.event(event(12));
    };
    script.store.follow("task_1");
    script.pass(60_000);
    expect(script.openings.length).toBeLessThan(15);
  });
});

describe("a server that was taken up again after a crash", () => {
  /** Follows, is cut with ten events, and comes back to what `more` says. */
  function reopened(more: object, options = {}): Script {
    const script = following(10, options);
    script.last.handlers.closed();
    script.pass(200);
    script.send(opened(more));
    script.pass(400);
    return script;
  }

  test("before what was seen here: that is void", () => {
    const script = reopened({ epoch: 1, recovered_at: 9 });
    expect(script.cursors).toEqual([-1, 9, undefined]);
    const other: TaskEventBody[] = [{ type: "task.working", recovered: true, epoch: 1 }];
    const log = [
      ...sampleLog.slice(0, 9),
      ...other.map((body) => ({ ...body, task_id: "task_1", sequence_number: 9 })),
    ];
    script.send(opened({ epoch: 1, recovered_at: 9, head: 9 }), snapshotAfter(10, log));
    expect(script.store.tree("task_1")).toEqual(reduce(emptyTree, log));
    script.last.handlers.closed();
    script.pass(800);
    script.send(opened({ epoch: 1, recovered_at: 9, head: 9 }));
    expect(script.cursors).toEqual([-1, 9, undefined, 9]);
    expect(script.store.connection("task_1")).toEqual({ state: "live" });
  });

  test("after what was seen here: nothing is void", () => {
    expect(reopened({ epoch: 1, recovered_at: 10 }).cursors).toEqual([-1, 9]);
  });

  test("in an epoch that is known: nothing is void", () => {
    const script = new Script();
    script.store.follow("task_1", { after: -1 });
    script.send(opened({ epoch: 1, recovered_at: 5 }), ...sampleLog.slice(0, 10));
    script.last.handlers.closed();
    script.pass(200);
    script.send(opened({ epoch: 1, recovered_at: 5 }));
    script.pass(1000);
    expect(script.cursors).toEqual([-1, 9]);
  });

  test("in an epoch that its own events have told of: nothing is void", () => {
    const script = following(5);
    script.send({
      type: "task.working",
      recovered: true,
      epoch: 1,
      task_id: "task_1",
      sequence_number: 5,
    });
    script.last.handlers.closed();
    script.pass(200);
    script.send(opened({ epoch: 1, recovered_at: 5 }));
    script.pass(1000);
    expect(script.cursors).toEqual([-1, 5]);
  });

  test("twice since: where the first takeover began nobody can tell, so it is void", () => {
    expect(reopened({ epoch: 2, recovered_at: 50 }).cursors).toEqual([-1, 9, undefined]);
  });

  test("with a head below what was seen here: that is void", () => {
    expect(reopened({ head: 8 }).cursors).toEqual([-1, 9, undefined]);
    expect(reopened({ head: 9 }).cursors).toEqual([-1, 9]);
  });
});

describe("silence", () => {
  test("of two and a half heartbeats is the end of the connection", () => {
    const script = following(10);
    script.pass(2499);
    expect(script.store.connection("task_1")).toEqual({ state: "live" });
    script.pass(1);
    expect(script.store.connection("task_1")).toEqual({
      state: "waiting",
      reason: "nothing was heard for 2500 ms",
    });
    expect(script.last.isClosed).toBe(true);
    script.pass(200);
    expect(script.cursors).toEqual([-1, 9]);
  });

  test("is broken by heartbeats and by events", () => {
    const script = following(10);
    for (let beat = 0; beat < 20; beat += 1) {
      script.pass(2000);
      script.send(beat % 2 === 0 ? heartbeat : event(10 + (beat - 1) / 2));
    }
    expect(script.openings).toHaveLength(1);
    expect(script.store.tree("task_1")).toEqual(after(20));
  });

  test("of one task is not broken by the words of another", () => {
    const script = following(10);
    script.store.follow("task_2");
    for (let beat = 0; beat < 4; beat += 1) {
      script.pass(600);
      script.send(heartbeat);
    }
    script.pass(300);
    expect(script.store.connection("task_1")?.state).toBe("connecting");
    expect(script.openings.map(({ cursor }) => cursor.task_id)).toEqual([
      "task_1",
      "task_2",
      "task_1",
    ]);
  });

  test("right after connecting is not borne for ever either", () => {
    const script = new Script();
    script.store.follow("task_1");
    script.pass(37_499);
    expect(script.store.connection("task_1")).toEqual({ state: "connecting" });
    script.pass(1);
    expect(script.store.connection("task_1")?.state).toBe("waiting");
  });
});

describe("refusals", () => {
  test("a major version that is not known is refused, with both versions named", () => {
    for (const version of ["2.0", "0.9", "new"]) {
      const script = new Script();
      script.store.follow("task_1");
      script.send(opened({ protocol_version: version }), snapshotAfter(10));
      expect(script.store.connection("task_1")).toEqual({
        state: "refused",
        reason: `the server speaks version ${version} of the task stream, this reader 1.0`,
      });
      expect(script.store.tree("task_1")).toBeUndefined();
      expect(script.last.isClosed).toBe(true);
      expect(script.timers).toBe(0);
    }
  });

  test("a minor version that is not known is read", () => {
    const script = new Script();
    script.store.follow("task_1");
    script.send(opened({ protocol_version: "1.7" }), snapshotAfter(10));
    expect(script.store.tree("task_1")).toEqual(after(10));
  });

  test("a task that is refused on a connection of many is not asked for again", () => {
    const script = new Script();
    script.store.follow("task_1");
    const message = 'there is no task "task_1"';
    script.send({
      type: "task.stream.refused",
      task_id: "task_1",
      code: "task_not_found",
      message,
    });
    script.pass(60_000);
    expect(script.store.connection("task_1")).toEqual({ state: "refused", reason: message });
    expect(script.openings).toHaveLength(1);
  });

  test("what the server will never give is not asked for again, until someone says so", () => {
    const script = new Script();
    script.store.follow("task_1");
    script.last.handlers.refused("there is no such task");
    script.pass(60_000);
    expect(script.store.connection("task_1")).toEqual({
      state: "refused",
      reason: "there is no such task",
    });
    expect(script.openings).toHaveLength(1);
    script.store.unfollow("task_1");
    script.store.follow("task_1");
    expect(script.openings).toHaveLength(2);
  });
});

describe("subscribers", () => {
  /** Counts how often it was told. */
  function counter() {
    const told = () => void (told.times += 1);
    told.times = 0;
    return told;
  }

  test("are told once for all that came before a flush", () => {
    const script = following(3);
    const told = counter();
    script.store.subscribe("task_1", told);
    for (const next of sampleLog.slice(3, 40)) script.last.handlers.event(next);
    expect(told.times).toBe(0);
    expect(script.store.tree("task_1")).toEqual(after(3));
    script.pass();
    expect(told.times).toBe(1);
    expect(script.store.tree("task_1")).toEqual(after(40));
  });

  test("hear of the connection too, and nothing of heartbeats and doubled events", () => {
    const script = new Script();
    const told = counter();
    script.store.subscribe("task_1", told);
    script.store.follow("task_1", { after: -1 });
    script.pass();
    expect(told.times).toBe(1);
    script.send(opened());
    expect(told.times).toBe(2);
    script.send(event(0));
    expect(told.times).toBe(3);
    script.send(heartbeat, event(0), heartbeat);
    expect(told.times).toBe(3);
    script.last.handlers.closed();
    script.pass();
    expect(told.times).toBe(4);
  });

  test("of an item are told when that item changed, and only then", () => {
    const script = new Script();
    const items = ["rs_1", "fc_1", "fc_2", "fco_2", "msg_1", "msg_2"];
    const told = new Map(items.map((id) => [id, counter()]));
    for (const [id, tell] of told) script.store.subscribeItem("task_1", id, tell);
    script.store.follow("task_1", { after: -1 });
    script.send(opened());
    const expected = new Map(items.map((id) => [id, 0]));
    for (const next of sampleLog) {
      const before = new Map(items.map((id) => [id, script.store.item("task_1", id)]));
      script.send(next);
      for (const id of items)
        if (script.store.item("task_1", id) !== before.get(id))
          expected.set(id, (expected.get(id) ?? 0) + 1);
    }
    expect(Object.fromEntries(items.map((id) => [id, told.get(id)?.times]))).toEqual(
      Object.fromEntries(expected),
    );
    expect(expected.get("rs_1")).toBe(10);
    expect(expected.get("fc_2")).toBe(3);
    expect(script.store.item("task_1", "msg_1")).toMatchObject({ type: "retracted" });
    expect(script.store.item("task_1", "fco_2")).toMatchObject({ type: "tool_result" });
    expect(script.store.item("task_1", "none")).toBeUndefined();
  });

  test("of an item hear nothing of a snapshot that repeats it", () => {
    const script = following(40);
    const [known, open] = [counter(), counter()];
    script.store.subscribeItem("task_1", "rs_1", known);
    script.store.subscribeItem("task_1", "fco_2", open);
    script.last.handlers.closed();
    script.pass(200);
    script.send(opened(), snapshotAfter(sampleLog.length));
    expect(known.times).toBe(0);
    expect(open.times).toBe(1);
  });

  test("are not told when they have left, nor by a store that is closed", () => {
    const script = following(3);
    const [left, stayed] = [counter(), counter()];
    const leave = script.store.subscribe("task_1", left);
    script.store.subscribe("task_1", stayed);
    leave();
    script.send(event(3));
    expect([left.times, stayed.times]).toEqual([0, 1]);
    script.last.handlers.event(event(4));
    script.store.close();
    script.pass(60_000);
    expect(stayed.times).toBe(1);
  });

  test("may unfollow and close while they are told", () => {
    const script = following(3);
    const late = counter();
    script.store.subscribe("task_1", () => script.store.close());
    script.store.subscribe("task_1", late);
    script.send(event(3));
    expect(late.times).toBe(0);
    expect(script.timers).toBe(0);
  });

  test("of a task that is let go see it gone, and of one that is taken up again see it come", () => {
    const script = following(10);
    const [told, ofItem] = [counter(), counter()];
    script.store.subscribe("task_1", told);
    script.store.subscribeItem("task_1", "rs_1", ofItem);
    script.store.unfollow("task_1");
    expect(script.store.tree("task_1")).toBeUndefined();
    expect(script.store.view("task_1")).toBeUndefined();
    expect(script.store.connection("task_1")).toBeUndefined();
    expect(script.last.isClosed).toBe(true);
    script.pass();
    expect([told.times, ofItem.times]).toEqual([1, 1]);
    expect(script.timers).toBe(0);
    script.store.follow("task_1");
    script.send(...answer(script.last.cursor));
    expect([told.times, ofItem.times]).toEqual([2, 2]);
  });
});

test("closing a store leaves no connection and no timer, whatever it was doing", () => {
  const script = new Script();
  for (const id of ["task_1", "task_2", "task_3", "task_4"]) script.store.follow(id);
  script.openings[0]?.handlers.event(opened());
  script.openings[1]?.handlers.closed();
  script.openings[2]?.handlers.refused("no");
  script.store.close();
  expect(script.openings.map(({ isClosed }) => isClosed)).toEqual([true, true, true, true]);
  expect(script.timers).toBe(0);
});

test("with the timers of the platform it is the same", async () => {
  const store = createTaskStore({
    connect(cursor, { event: tell, closed }) {
      const frames = answer(cursor);
      const timer = setInterval(() => {
        const frame = frames.shift();
        if (frame === undefined) closed();
        else tell(frame);
      }, 0);
      return { close: () => clearInterval(timer) };
    },
    schedule(ms, run) {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
  });
  store.follow("task_1", { after: -1 });
  await new Promise<void>((resolve) => {
    store.subscribe("task_1", () => {
      if (store.connection("task_1")?.state === "ended") resolve();
    });
  });
  expect(store.view("task_1")).toEqual(taskView(whole));
  store.close();
});
