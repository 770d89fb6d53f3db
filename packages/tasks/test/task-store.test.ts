import {
  coalesce,
  createTaskStore,
  emptyTree,
  reduce,
  buildTaskView,
  type TaskEvent,
  type TaskEventBody,
} from "@deltawire/tasks";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sampleLog } from "./sample-log.ts";
import {
  createServerFrames,
  heartbeat,
  createOpenedEvent,
  ScriptedStore,
  createSnapshotEvent,
} from "./scripted-stream.ts";

const finalTree = reduce(emptyTree, sampleLog);
const reduceFirst = (count: number) => reduce(emptyTree, sampleLog.slice(0, count));
const getEvent = (index: number) => sampleLog[index] as TaskEvent;

/** Creates a store that follows the sample task and has received its first events. */
function followSample(count: number, options = {}): ScriptedStore {
  const script = new ScriptedStore();
  script.store.follow("task_1", { after: -1, ...options });
  script.send(createOpenedEvent(), ...sampleLog.slice(0, count));
  return script;
}

describe("a store that follows", () => {
  test("a task applies its events from the first to the last", () => {
    const script = new ScriptedStore();
    const { store } = script;
    expect(store.connection("task_1")).toBeUndefined();
    store.follow("task_1", { after: -1 });
    expect(store.connection("task_1")).toEqual({ state: "connecting" });
    script.send(createOpenedEvent());
    expect(store.connection("task_1")).toEqual({ state: "live" });
    expect(store.tree("task_1")).toBeUndefined();
    script.send(...sampleLog.slice(0, 30));
    expect(store.tree("task_1")).toEqual(reduceFirst(30));
    expect(store.view("task_1")).toEqual(buildTaskView(reduceFirst(30)));
    script.send(...sampleLog.slice(30));
    expect(store.view("task_1")).toEqual(buildTaskView(finalTree));
    expect(store.view("task_1")).toBe(store.view("task_1"));
    expect(store.connection("task_1")).toEqual({ state: "ended", reason: "completed" });
    expect(script.lastConnection.isClosed).toBe(true);
    expect(script.timerCount).toBe(0);
    expect(script.cursors).toEqual([-1]);
  });

  test("a task without a cursor accepts a snapshot followed by events", () => {
    const script = new ScriptedStore();
    script.store.follow("task_1");
    script.send(createOpenedEvent(), createSnapshotEvent(40), ...sampleLog.slice(40));
    expect(script.cursors).toEqual([undefined]);
    expect(script.store.tree("task_1")).toEqual(finalTree);
  });

  test("a task without a cursor accepts a server that starts with event 0", () => {
    const script = new ScriptedStore();
    script.store.follow("task_1");
    script.send(createOpenedEvent(), ...sampleLog);
    expect(script.store.tree("task_1")).toEqual(finalTree);
  });

  test("a finished task closes the connection after the snapshot", () => {
    const script = new ScriptedStore();
    script.store.follow("task_1");
    script.send(createOpenedEvent(), createSnapshotEvent(sampleLog.length));
    expect(script.store.connection("task_1")).toEqual({ state: "ended", reason: "completed" });
    expect(script.timerCount).toBe(0);
  });

  test("a task keeps the connection at the end of a sub-agent", () => {
    const childEnds = sampleLog.findIndex(({ type }) => type === "task.completed");
    expect(getEvent(childEnds).task_id).toBe("call_1");
    const script = followSample(childEnds + 1);
    expect(script.store.connection("task_1")).toEqual({ state: "live" });
  });

  test("a task from a known state requests only later events", () => {
    const script = new ScriptedStore();
    script.store.follow("task_1", { from: reduceFirst(30) });
    expect(script.store.tree("task_1")).toEqual(reduceFirst(30));
    expect(script.cursors).toEqual([29]);
    script.send(createOpenedEvent(), ...sampleLog.slice(30));
    expect(script.store.tree("task_1")).toEqual(finalTree);
  });

  test("a task from its final state opens no connection", () => {
    const script = new ScriptedStore();
    script.store.follow("task_1", { from: finalTree });
    script.advance();
    expect(script.connections).toEqual([]);
    expect(script.store.connection("task_1")).toEqual({ state: "ended", reason: "completed" });
  });

  test("several tasks opens one connection for each", () => {
    const script = new ScriptedStore();
    for (const id of ["task_1", "task_2", "task_1"]) script.store.follow(id, { after: -1 });
    expect(script.connections.map(({ cursor }) => cursor.task_id)).toEqual(["task_1", "task_2"]);
    script.connections[0]?.handlers.onClosed();
    script.send(createOpenedEvent({ task_id: "task_2" }));
    expect(script.store.connection("task_1")?.state).toBe("waiting");
    expect(script.store.connection("task_2")?.state).toBe("live");
  });

  test("a task ignores progress reports and unknown connection events", () => {
    const script = followSample(5);
    script.send({ type: "task.round.progress", task_id: "task_1", round: 0, message: "half" });
    script.send({ type: "task.stream.weather", task_id: "task_1" } as never);
    script.send(getEvent(5));
    expect(script.store.tree("task_1")).toEqual(reduceFirst(6));
    expect(script.connections).toHaveLength(1);
  });
});

describe("a closed connection", () => {
  test("is reopened after the last received event", () => {
    const script = followSample(20);
    script.lastConnection.handlers.onClosed("reset by peer");
    script.advance();
    expect(script.store.connection("task_1")).toEqual({
      state: "waiting",
      reason: "reset by peer",
    });
    expect(script.store.tree("task_1")).toEqual(reduceFirst(20));
    script.advance(200);
    expect(script.store.connection("task_1")?.state).toBe("connecting");
    expect(script.cursors).toEqual([-1, 19]);
    script.send(...createServerFrames(script.lastConnection.cursor));
    expect(script.store.tree("task_1")).toEqual(finalTree);
  });

  test("after every single event results in the same state", () => {
    for (const start of [undefined, -1]) {
      const script = new ScriptedStore();
      script.onConnect = ({ cursor, handlers }) => {
        const frames =
          cursor.after === undefined
            ? [createOpenedEvent(), createSnapshotEvent(1)]
            : createServerFrames(cursor).slice(0, 2);
        script.schedule(1, () => {
          for (const frame of frames) handlers.onEvent(frame);
          handlers.onClosed();
        });
      };
      script.store.follow("task_1", start === undefined ? {} : { after: start });
      script.advance(sampleLog.length * 250);
      expect(script.store.tree("task_1")).toEqual(finalTree);
      expect(script.store.connection("task_1")?.state).toBe("ended");
      expect(script.connections).toHaveLength(sampleLog.length);
    }
  });

  test("after any event, with duplicated and coalesced events and snapshots, results in the same state", () => {
    const connection = fc.record({
      frames: fc.integer({ min: 0, max: 30 }),
      duplicated: fc.integer({ min: 0, max: 5 }),
      coalesced: fc.boolean(),
      snapshot: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(connection, { maxLength: 12 }), (connections) => {
        const script = new ScriptedStore();
        const connectionPlans = connections.values();
        script.onConnect = ({ cursor, handlers }) => {
          const step = connectionPlans.next().value;
          script.schedule(1, () => {
            if (step === undefined) {
              for (const frame of createServerFrames(cursor)) handlers.onEvent(frame);
              return;
            }
            const unchangedItem = cursor.after ?? -1;
            const index = Math.max(unchangedItem + 1, 1);
            const start =
              step.snapshot || cursor.after === undefined ? [createSnapshotEvent(index)] : [];
            const from =
              start.length > 0 ? index : Math.max(0, unchangedItem + 1 - step.duplicated);
            const rest = sampleLog.slice(from);
            const events = step.coalesced && step.duplicated === 0 ? coalesce(rest) : rest;
            for (const frame of [createOpenedEvent(), ...start, ...events].slice(0, step.frames))
              handlers.onEvent(frame);
            handlers.onClosed();
          });
        };
        script.store.follow("task_1");
        script.advance(600_000);
        expect(script.store.tree("task_1")).toEqual(finalTree);
        expect(script.store.connection("task_1")?.state).toBe("ended");
        expect(script.timerCount).toBe(0);
      }),
    );
  });

  test("is retried with a backoff of up to ten seconds, which is reset by a new event", () => {
    const script = new ScriptedStore();
    const waits: number[] = [];
    let closedAt = 0;
    script.onConnect = ({ handlers }) => {
      waits.push(script.now - closedAt);
      closedAt = script.now;
      handlers.onEvent(createOpenedEvent());
      handlers.onClosed();
    };
    script.store.follow("task_1", { after: -1 });
    script.advance(34_000);
    expect(waits).toEqual([0, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
    script.onConnect = () => {};
    script.advance(10_000);
    script.send(createOpenedEvent(), getEvent(0));
    script.lastConnection.handlers.onClosed();
    script.advance(199);
    const count = script.connections.length;
    script.advance(1);
    expect(script.connections).toHaveLength(count + 1);
  });

  test("is retried without backoff after a heartbeat", () => {
    const script = new ScriptedStore();
    script.store.follow("task_1", { after: -1 });
    for (let time = 0; time < 4; time += 1) {
      script.send(createOpenedEvent(), heartbeat);
      script.lastConnection.handlers.onClosed();
      script.advance(200);
    }
    expect(script.connections).toHaveLength(5);
  });

  test("is retried with jitter from the given random function", () => {
    const script = new ScriptedStore(() => 0);
    script.store.follow("task_1");
    script.lastConnection.handlers.onClosed();
    script.advance(99);
    expect(script.connections).toHaveLength(1);
    script.advance(1);
    expect(script.connections).toHaveLength(2);
  });

  test("is retried if it could not be opened", () => {
    const script = new ScriptedStore();
    script.onConnect = () => {
      throw new Error("no such address");
    };
    script.store.follow("task_1");
    expect(script.store.connection("task_1")).toEqual({
      state: "waiting",
      reason: "no such address",
    });
    script.onConnect = ({ cursor, handlers }) => {
      for (const frame of createServerFrames(cursor)) handlers.onEvent(frame);
    };
    script.advance(200);
    expect(script.store.tree("task_1")).toEqual(finalTree);
    expect(script.lastConnection.isClosed).toBe(true);
  });

  test("can no longer change the state", () => {
    const script = followSample(10);
    const [first] = script.connections;
    first?.handlers.onClosed();
    first?.handlers.onEvent(getEvent(10));
    first?.handlers.onRejected("too late");
    script.advance(200);
    first?.handlers.onClosed();
    script.send(createOpenedEvent());
    expect(script.store.tree("task_1")).toEqual(reduceFirst(10));
    expect(script.store.connection("task_1")).toEqual({ state: "live" });
    expect(first?.isClosed).toBe(true);
  });
});

describe("the store asks for a snapshot", () => {
  test("after a gap, and shows the known state until it arrives", () => {
    const script = followSample(10);
    script.send(getEvent(12));
    expect(script.store.connection("task_1")).toEqual({
      state: "waiting",
      reason: "event 12 follows event 9",
    });
    expect(script.lastConnection.isClosed).toBe(true);
    script.advance(200);
    expect(script.cursors).toEqual([-1, undefined]);
    expect(script.store.tree("task_1")).toEqual(reduceFirst(10));
    script.send(...createServerFrames(script.lastConnection.cursor));
    expect(script.store.tree("task_1")).toEqual(finalTree);
  });

  test("if it has a cursor but no state", () => {
    const script = new ScriptedStore();
    script.store.follow("task_1", { after: 20 });
    script.send(createOpenedEvent(), getEvent(21));
    script.advance(200);
    expect(script.cursors).toEqual([20, undefined]);
  });

  test("after an event that cannot be applied", () => {
    const script = followSample(10);
    script.send({ ...getEvent(3), output_index: 1, item: null, sequence_number: 10 } as never);
    expect(script.store.connection("task_1")?.state).toBe("waiting");
    script.advance(200);
    expect(script.cursors).toEqual([-1, undefined]);
  });

  test("unless the server sends one after task.resync_required", () => {
    const script = followSample(10);
    script.send(
      { type: "task.resync_required", task_id: "task_1", reason: "slow", head: 50 },
      createSnapshotEvent(51),
      ...sampleLog.slice(51, 55),
    );
    expect(script.store.tree("task_1")).toEqual(reduceFirst(55));
    expect(script.connections).toHaveLength(1);
  });

  test("if the server requires a resync and closes the connection", () => {
    const script = followSample(10);
    script.send({ type: "task.resync_required", task_id: "task_1", reason: "slow", head: 50 });
    script.lastConnection.handlers.onClosed();
    script.advance(200);
    expect(script.cursors).toEqual([-1, undefined]);
  });

  test("if the server requires a resync but does not send it", () => {
    const script = followSample(10);
    script.send(
      { type: "task.resync_required", task_id: "task_1", reason: "slow", head: 50 },
      getEvent(10),
    );
    script.advance(200);
    expect(script.cursors).toEqual([-1, undefined]);
    expect(script.store.tree("task_1")).toEqual(reduceFirst(10));
  });

  test("with backoff if it never arrives", () => {
    const script = new ScriptedStore();
    script.onConnect = ({ handlers }) => {
      handlers.onEvent(createOpenedEvent());
      handlers.onEvent(getEvent(12));
    };
    script.store.follow("task_1");
    script.advance(60_000);
    expect(script.connections.length).toBeLessThan(15);
  });
});

describe("a task that was resumed after a crash", () => {
  /** Follows the sample task, loses the connection after ten events, and reconnects. `fields`: those of the opening event. */
  function reconnect(fields: object, options = {}): ScriptedStore {
    const script = followSample(10, options);
    script.lastConnection.handlers.onClosed();
    script.advance(200);
    script.send(createOpenedEvent(fields));
    script.advance(400);
    return script;
  }

  test("before the local head is followed from a new snapshot", () => {
    const script = reconnect({ epoch: 1, recovered_at: 9 });
    expect(script.cursors).toEqual([-1, 9, undefined]);
    const recoveryEvents: TaskEventBody[] = [{ type: "task.working", recovered: true, epoch: 1 }];
    const log = [
      ...sampleLog.slice(0, 9),
      ...recoveryEvents.map((body) => ({ ...body, task_id: "task_1", sequence_number: 9 })),
    ];
    script.send(
      createOpenedEvent({ epoch: 1, recovered_at: 9, head: 9 }),
      createSnapshotEvent(10, log),
    );
    expect(script.store.tree("task_1")).toEqual(reduce(emptyTree, log));
    script.lastConnection.handlers.onClosed();
    script.advance(800);
    script.send(createOpenedEvent({ epoch: 1, recovered_at: 9, head: 9 }));
    expect(script.cursors).toEqual([-1, 9, undefined, 9]);
    expect(script.store.connection("task_1")).toEqual({ state: "live" });
  });

  test("after the local head is continued", () => {
    expect(reconnect({ epoch: 1, recovered_at: 10 }).cursors).toEqual([-1, 9]);
  });

  test("in an epoch that is known from the opening event is continued", () => {
    const script = new ScriptedStore();
    script.store.follow("task_1", { after: -1 });
    script.send(createOpenedEvent({ epoch: 1, recovered_at: 5 }), ...sampleLog.slice(0, 10));
    script.lastConnection.handlers.onClosed();
    script.advance(200);
    script.send(createOpenedEvent({ epoch: 1, recovered_at: 5 }));
    script.advance(1000);
    expect(script.cursors).toEqual([-1, 9]);
  });

  test("in an epoch that is known from its events is continued", () => {
    const script = followSample(5);
    script.send({
      type: "task.working",
      recovered: true,
      epoch: 1,
      task_id: "task_1",
      sequence_number: 5,
    });
    script.lastConnection.handlers.onClosed();
    script.advance(200);
    script.send(createOpenedEvent({ epoch: 1, recovered_at: 5 }));
    script.advance(1000);
    expect(script.cursors).toEqual([-1, 5]);
  });

  test("twice is followed from a new snapshot, because the start of the first recovery is not known", () => {
    expect(reconnect({ epoch: 2, recovered_at: 50 }).cursors).toEqual([-1, 9, undefined]);
  });

  test("with a head before the local head is followed from a new snapshot", () => {
    expect(reconnect({ head: 8 }).cursors).toEqual([-1, 9, undefined]);
    expect(reconnect({ head: 9 }).cursors).toEqual([-1, 9]);
  });
});

describe("a time without data", () => {
  test("of 2.5 heartbeats closes the connection", () => {
    const script = followSample(10);
    script.advance(2499);
    expect(script.store.connection("task_1")).toEqual({ state: "live" });
    script.advance(1);
    expect(script.store.connection("task_1")).toEqual({
      state: "waiting",
      reason: "no data for 2500 ms",
    });
    expect(script.lastConnection.isClosed).toBe(true);
    script.advance(200);
    expect(script.cursors).toEqual([-1, 9]);
  });

  test("ends with heartbeats and events", () => {
    const script = followSample(10);
    for (let beat = 0; beat < 20; beat += 1) {
      script.advance(2000);
      script.send(beat % 2 === 0 ? heartbeat : getEvent(10 + (beat - 1) / 2));
    }
    expect(script.connections).toHaveLength(1);
    expect(script.store.tree("task_1")).toEqual(reduceFirst(20));
  });

  test("on the connection of one task does not end with events of another", () => {
    const script = followSample(10);
    script.store.follow("task_2");
    for (let beat = 0; beat < 4; beat += 1) {
      script.advance(600);
      script.send(heartbeat);
    }
    script.advance(300);
    expect(script.store.connection("task_1")?.state).toBe("connecting");
    expect(script.connections.map(({ cursor }) => cursor.task_id)).toEqual([
      "task_1",
      "task_2",
      "task_1",
    ]);
  });

  test("while connecting closes the connection after 37.5 seconds", () => {
    const script = new ScriptedStore();
    script.store.follow("task_1");
    script.advance(37_499);
    expect(script.store.connection("task_1")).toEqual({ state: "connecting" });
    script.advance(1);
    expect(script.store.connection("task_1")?.state).toBe("waiting");
  });
});

describe("a rejected connection", () => {
  test("is the result of an unknown major version, and its reason names both versions", () => {
    for (const version of ["2.0", "0.9", "new"]) {
      const script = new ScriptedStore();
      script.store.follow("task_1");
      script.send(createOpenedEvent({ protocol_version: version }), createSnapshotEvent(10));
      expect(script.store.connection("task_1")).toEqual({
        state: "rejected",
        reason: `the server uses version ${version} of the task stream, but this client supports 1.0`,
      });
      expect(script.store.tree("task_1")).toBeUndefined();
      expect(script.lastConnection.isClosed).toBe(true);
      expect(script.timerCount).toBe(0);
    }
  });

  test("is not the result of an unknown minor version", () => {
    const script = new ScriptedStore();
    script.store.follow("task_1");
    script.send(createOpenedEvent({ protocol_version: "1.7" }), createSnapshotEvent(10));
    expect(script.store.tree("task_1")).toEqual(reduceFirst(10));
  });

  test("of one task on a shared connection is not retried", () => {
    const script = new ScriptedStore();
    script.store.follow("task_1");
    const message = 'unknown task "task_1"';
    script.send({
      type: "task.stream.rejected",
      task_id: "task_1",
      code: "task_not_found",
      message,
    });
    script.advance(60_000);
    expect(script.store.connection("task_1")).toEqual({ state: "rejected", reason: message });
    expect(script.connections).toHaveLength(1);
  });

  test("is only retried when the task is followed again", () => {
    const script = new ScriptedStore();
    script.store.follow("task_1");
    script.lastConnection.handlers.onRejected("there is no such task");
    script.advance(60_000);
    expect(script.store.connection("task_1")).toEqual({
      state: "rejected",
      reason: "there is no such task",
    });
    expect(script.connections).toHaveLength(1);
    script.store.unfollow("task_1");
    script.store.follow("task_1");
    expect(script.connections).toHaveLength(2);
  });
});

describe("subscribers", () => {
  /** Creates a listener that counts its calls. */
  function createCountingListener() {
    const listener = () => void (listener.calls += 1);
    listener.calls = 0;
    return listener;
  }

  test("are notified once for all events before a flush", () => {
    const script = followSample(3);
    const listener = createCountingListener();
    script.store.subscribe("task_1", listener);
    for (const next of sampleLog.slice(3, 40)) script.lastConnection.handlers.onEvent(next);
    expect(listener.calls).toBe(0);
    expect(script.store.tree("task_1")).toEqual(reduceFirst(3));
    script.advance();
    expect(listener.calls).toBe(1);
    expect(script.store.tree("task_1")).toEqual(reduceFirst(40));
  });

  test("are notified of connection changes, but not of heartbeats and duplicated events", () => {
    const script = new ScriptedStore();
    const listener = createCountingListener();
    script.store.subscribe("task_1", listener);
    script.store.follow("task_1", { after: -1 });
    script.advance();
    expect(listener.calls).toBe(1);
    script.send(createOpenedEvent());
    expect(listener.calls).toBe(2);
    script.send(getEvent(0));
    expect(listener.calls).toBe(3);
    script.send(heartbeat, getEvent(0), heartbeat);
    expect(listener.calls).toBe(3);
    script.lastConnection.handlers.onClosed();
    script.advance();
    expect(listener.calls).toBe(4);
  });

  test("of an item are notified only when that item changes", () => {
    const script = new ScriptedStore();
    const items = ["rs_1", "fc_1", "fc_2", "fco_2", "msg_1", "msg_2"];
    const listeners = new Map(items.map((id) => [id, createCountingListener()]));
    for (const [id, listener] of listeners) script.store.subscribeItem("task_1", id, listener);
    script.store.follow("task_1", { after: -1 });
    script.send(createOpenedEvent());
    const expected = new Map(items.map((id) => [id, 0]));
    for (const next of sampleLog) {
      const before = new Map(items.map((id) => [id, script.store.item("task_1", id)]));
      script.send(next);
      for (const id of items)
        if (script.store.item("task_1", id) !== before.get(id))
          expected.set(id, (expected.get(id) ?? 0) + 1);
    }
    expect(Object.fromEntries(items.map((id) => [id, listeners.get(id)?.calls]))).toEqual(
      Object.fromEntries(expected),
    );
    expect(expected.get("rs_1")).toBe(10);
    expect(expected.get("fc_2")).toBe(3);
    expect(script.store.item("task_1", "msg_1")).toMatchObject({ type: "retracted" });
    expect(script.store.item("task_1", "fco_2")).toMatchObject({ type: "tool_result" });
    expect(script.store.item("task_1", "none")).toBeUndefined();
  });

  test("of an item are not notified of a snapshot with the same item", () => {
    const script = followSample(40);
    const [unchangedItem, changedItem] = [createCountingListener(), createCountingListener()];
    script.store.subscribeItem("task_1", "rs_1", unchangedItem);
    script.store.subscribeItem("task_1", "fco_2", changedItem);
    script.lastConnection.handlers.onClosed();
    script.advance(200);
    script.send(createOpenedEvent(), createSnapshotEvent(sampleLog.length));
    expect(unchangedItem.calls).toBe(0);
    expect(changedItem.calls).toBe(1);
  });

  test("are not notified after they unsubscribed or the store was closed", () => {
    const script = followSample(3);
    const [removed, remaining] = [createCountingListener(), createCountingListener()];
    const unsubscribe = script.store.subscribe("task_1", removed);
    script.store.subscribe("task_1", remaining);
    unsubscribe();
    script.send(getEvent(3));
    expect([removed.calls, remaining.calls]).toEqual([0, 1]);
    script.lastConnection.handlers.onEvent(getEvent(4));
    script.store.close();
    script.advance(60_000);
    expect(remaining.calls).toBe(1);
  });

  test("may close the store while they are notified", () => {
    const script = followSample(3);
    const laterListener = createCountingListener();
    script.store.subscribe("task_1", () => script.store.close());
    script.store.subscribe("task_1", laterListener);
    script.send(getEvent(3));
    expect(laterListener.calls).toBe(0);
    expect(script.timerCount).toBe(0);
  });

  test("are notified when the task is unfollowed and followed again", () => {
    const script = followSample(10);
    const [listener, itemListener] = [createCountingListener(), createCountingListener()];
    script.store.subscribe("task_1", listener);
    script.store.subscribeItem("task_1", "rs_1", itemListener);
    script.store.unfollow("task_1");
    expect(script.store.tree("task_1")).toBeUndefined();
    expect(script.store.view("task_1")).toBeUndefined();
    expect(script.store.connection("task_1")).toBeUndefined();
    expect(script.lastConnection.isClosed).toBe(true);
    script.advance();
    expect([listener.calls, itemListener.calls]).toEqual([1, 1]);
    expect(script.timerCount).toBe(0);
    script.store.follow("task_1");
    script.send(...createServerFrames(script.lastConnection.cursor));
    expect([listener.calls, itemListener.calls]).toEqual([2, 2]);
  });
});

test("closing a store closes its connections in every state and stops all timers", () => {
  const script = new ScriptedStore();
  for (const id of ["task_1", "task_2", "task_3", "task_4"]) script.store.follow(id);
  script.connections[0]?.handlers.onEvent(createOpenedEvent());
  script.connections[1]?.handlers.onClosed();
  script.connections[2]?.handlers.onRejected("no");
  script.store.close();
  expect(script.connections.map(({ isClosed }) => isClosed)).toEqual([true, true, true, true]);
  expect(script.timerCount).toBe(0);
});

test("a store works with the timers of the platform", async () => {
  const store = createTaskStore({
    connect(cursor, { onEvent, onClosed }) {
      const frames = createServerFrames(cursor);
      const timer = setInterval(() => {
        const frame = frames.shift();
        if (frame === undefined) onClosed();
        else onEvent(frame);
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
  expect(store.view("task_1")).toEqual(buildTaskView(finalTree));
  store.close();
});
