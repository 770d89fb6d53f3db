import type { ConnectionInfo } from "@deltawire/tasks";
import { ChatApiError } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { cell } from "../../src/cell.ts";
import { keepConnected } from "../../src/state/connection.ts";
import type { SessionState } from "../../src/state/page.ts";
import { nodeWorld } from "../node-world.ts";

const open = (version = "1.0.0"): SessionState => ({ is: "open", version, withToken: false });

/** A connection with events, a gateway and timers of the test's own. */
function connected(first: SessionState = open()) {
  const timers = new Map<() => void, number>();
  const events = cell<ConnectionInfo>({ state: "connecting" });
  const session = cell<SessionState>({ is: "checking" });
  const gateway = { says: first, checks: 0, opened: 0, retries: 0 };
  const world = nodeWorld("");
  const { connection, reconnect, close } = keepConnected({
    world: {
      ...world,
      schedule(ms, run) {
        timers.set(run, ms);
        return () => timers.delete(run);
      },
    },
    session: {
      state: session,
      async check() {
        gateway.checks += 1;
        session.set(gateway.says);
      },
    },
    events: {
      get connection() {
        return events.get();
      },
      subscribe: events.subscribe,
      open: () => void (gateway.opened += 1),
      shut: () => undefined,
      retryNow: () => void (gateway.retries += 1),
    },
    onOpen: () => undefined,
    onLive: () => undefined,
  });
  /** All that waits is done. */
  const later = async () => {
    const due = [...timers.keys()];
    timers.clear();
    for (const run of due) run();
    await settled();
  };
  const become = async (state: ConnectionInfo) => {
    events.set(state);
    await settled();
  };
  const waiting = () => [...timers.values()];
  return { connection, reconnect, close, gateway, become, later, world, waiting };
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 0));
const waitingInfo: ConnectionInfo = { state: "waiting", reason: "gone", retryAt: 1 };
const lost = { is: "lost", reason: "gone", retryAt: 1 };

test("that a lost connection is back is said for some seconds, and of the first one nothing", async () => {
  const { connection, become, later } = connected();
  await become({ state: "live" });
  expect(connection.get()).toEqual({ is: "live" });
  const cases = [
    [waitingInfo, lost],
    [{ state: "offline" } as const, { is: "offline" }],
  ] as const;
  for (const [info, shown] of cases) {
    await become(info);
    expect(connection.get()).toEqual(shown);
    await become({ state: "live" });
    expect(connection.get()).toEqual({ is: "live", again: true });
    await later();
    expect(connection.get()).toEqual({ is: "live" });
  }
});

test("one that is lost again before that was said is lost", async () => {
  const { connection, become, later } = connected();
  await become({ ...waitingInfo });
  await become({ state: "live" });
  await become({ ...waitingInfo });
  await later();
  expect(connection.get()).toEqual(lost);
});

test("a stream that is refused while the session is good is opened again", async () => {
  const { gateway, become, later, waiting } = connected();
  expect(gateway.opened).toBe(1);
  await become({ state: "live" });
  await become({ state: "refused" });
  expect([gateway.checks, gateway.opened, waiting().length]).toEqual([2, 1, 1]);
  await later();
  expect(gateway.opened).toBe(2);
});

test("of two refusals the stream is opened once, and after the end not at all", async () => {
  const { gateway, become, close, waiting } = connected();
  await become({ state: "refused" });
  await become({ state: "refused" });
  expect(waiting()).toHaveLength(1);
  void become({ state: "refused" });
  // Before the gateway has answered.
  close();
  await settled();
  expect(waiting()).toEqual([]);
  expect(gateway.opened).toBe(1);
});

test("a gateway of another version that comes back makes the page an old one", async () => {
  const { connection, gateway, become } = connected();
  await become({ state: "live" });
  gateway.says = open("1.1.0");
  await become({ ...waitingInfo });
  await become({ state: "live" });
  expect(connection.get()).toEqual({ is: "outdated" });
});

test("one that does not answer is asked again, and at once when the network is back", async () => {
  const { connection, gateway, world, later, waiting } = connected({ is: "unreachable" });
  expect(connection.get()).toMatchObject({ is: "lost" });
  expect(waiting()).toHaveLength(1);
  world.turn({ online: true });
  expect(waiting()).toEqual([0]);
  gateway.says = open();
  await later();
  expect([gateway.checks, gateway.opened]).toEqual([2, 1]);
  expect(connection.get()).toEqual({ is: "connecting" });
});

test("each try of a lost connection is said to be one, and only one that a person asked for looks like the first", async () => {
  const { connection, reconnect, gateway, become } = connected();
  await become({ ...waitingInfo });
  await become({ state: "connecting" });
  expect(connection.get()).toEqual({ ...lost, retryAt: undefined });
  await become({ ...waitingInfo });
  reconnect();
  await become({ state: "connecting" });
  expect(connection.get()).toEqual({ is: "connecting" });
  expect(gateway.retries).toBe(1);
});

test("a network that is back is tried, one that is not stays offline", async () => {
  const { connection, become, world } = connected();
  world.turn({ online: false });
  await become({ state: "offline" });
  await become({ state: "connecting" });
  expect(connection.get()).toEqual({ is: "offline" });
  world.turn({ online: true });
  await become({ state: "offline" });
  await become({ state: "connecting" });
  expect(connection.get()).toEqual({ is: "connecting" });
});

test("a gateway that cannot open its store is said to be one", async () => {
  const { connection, become } = connected();
  const facts = { status: 503, code: "store_unavailable" };
  const broken = new ChatApiError("no such disk", facts);
  await become({ ...waitingInfo, cause: broken });
  expect(connection.get()).toMatchObject({ store: { isInUse: false, message: "no such disk" } });
  const used = { ...facts, reason: "store_in_use", detail: "by process 7" };
  await become({ ...waitingInfo, cause: new ChatApiError("in use", used) });
  expect(connection.get()).toMatchObject({ store: { isInUse: true, message: "by process 7" } });
});
