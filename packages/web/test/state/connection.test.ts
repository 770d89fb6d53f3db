import { expect, test } from "vitest";
import type { LineState } from "../../src/gateway/event-line.ts";
import { cell } from "../../src/state/cell.ts";
import { keepConnected } from "../../src/state/connection.ts";
import type { SessionState } from "../../src/state/page.ts";
import { nodeWorld } from "../node-world.ts";

const open = (version = "1.0.0"): SessionState => ({ is: "open", version, withToken: false });

/** A connection with a line, a gateway and timers of the test's own. */
function connected(first: SessionState = open()) {
  const timers = new Map<() => void, number>();
  const line = cell<LineState>({ is: "connecting" });
  const session = cell<SessionState>({ is: "checking" });
  const gateway = { says: first, checks: 0, opened: 0 };
  const world = nodeWorld("");
  const { connection, close } = keepConnected({
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
    line: { state: line, open: () => (gateway.opened += 1), shut: () => undefined },
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
  const become = async (state: LineState) => {
    line.set(state);
    await settled();
  };
  return { connection, close, gateway, become, later, world, waiting: () => [...timers.values()] };
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 0));
const lost: LineState = { is: "lost", reason: "gone", retryAt: 1 };

test("that a lost connection is back is said for some seconds, and of the first one nothing", async () => {
  const { connection, become, later } = connected();
  await become({ is: "live" });
  expect(connection.get()).toEqual({ is: "live" });
  for (const state of [lost, { is: "offline" } as const]) {
    await become(state);
    expect(connection.get()).toEqual(state);
    await become({ is: "live" });
    expect(connection.get()).toEqual({ is: "live", again: true });
    await later();
    expect(connection.get()).toEqual({ is: "live" });
  }
});

test("one that is lost again before that was said is lost", async () => {
  const { connection, become, later } = connected();
  await become(lost);
  await become({ is: "live" });
  await become(lost);
  await later();
  expect(connection.get()).toEqual(lost);
});

test("a stream that is refused while the session is good is opened again", async () => {
  const { gateway, become, later, waiting } = connected();
  expect(gateway.opened).toBe(1);
  await become({ is: "live" });
  await become({ is: "refused" });
  expect([gateway.checks, gateway.opened, waiting().length]).toEqual([2, 1, 1]);
  await later();
  expect(gateway.opened).toBe(2);
});

test("of two refusals the stream is opened once, and after the end not at all", async () => {
  const { gateway, become, close, waiting } = connected();
  await become({ is: "refused" });
  await become({ is: "refused" });
  expect(waiting()).toHaveLength(1);
  void become({ is: "refused" });
  // Before the gateway has answered.
  close();
  await settled();
  expect(waiting()).toEqual([]);
  expect(gateway.opened).toBe(1);
});

test("a gateway of another version that comes back makes the page an old one", async () => {
  const { connection, gateway, become } = connected();
  await become({ is: "live" });
  gateway.says = open("1.1.0");
  await become(lost);
  await become({ is: "live" });
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
