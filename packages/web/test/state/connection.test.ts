import type { ConnectionInfo } from "@deltawire/tasks";
import { ChatApiError } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { createCell } from "../../src/cell.ts";
import { createConnection } from "../../src/state/connection.ts";
import type { SessionState } from "../../src/state/app-store.ts";
import { createNodeEnvironment } from "../node-environment.ts";

const createOpenSession = (version = "1.0.0"): SessionState => ({
  status: "open",
  version,
  hasToken: false,
});

/** A connection with a fake event client, session and timers. */
function createTestConnection(first: SessionState = createOpenSession()) {
  const timers = new Map<() => void, number>();
  const events = createCell<ConnectionInfo>({ state: "connecting" });
  const session = createCell<SessionState>({ status: "checking" });
  const gateway = { sessionState: first, checks: 0, opened: 0, retries: 0 };
  const environment = createNodeEnvironment("");
  const { connection, reconnect, close } = createConnection({
    environment: {
      ...environment,
      schedule(ms, run) {
        timers.set(run, ms);
        return () => timers.delete(run);
      },
    },
    session: {
      state: session,
      async check() {
        gateway.checks += 1;
        session.set(gateway.sessionState);
      },
    },
    events: {
      get connection() {
        return events.get();
      },
      subscribe: events.subscribe,
      open: () => void (gateway.opened += 1),
      disconnect: () => undefined,
      retryNow: () => void (gateway.retries += 1),
    },
    onOpen: () => undefined,
    onLive: () => undefined,
  });
  /** Runs all scheduled timers. */
  const runTimers = async () => {
    const due = [...timers.keys()];
    timers.clear();
    for (const run of due) run();
    await flushPromises();
  };
  const setStreamState = async (state: ConnectionInfo) => {
    events.set(state);
    await flushPromises();
  };
  const getDelays = () => [...timers.values()];
  return {
    connection,
    reconnect,
    close,
    gateway,
    setStreamState,
    runTimers,
    environment,
    getDelays,
  };
}

const flushPromises = () => new Promise((resolve) => setTimeout(resolve, 0));
const waitingInfo: ConnectionInfo = { state: "waiting", reason: "gone", retryAt: 1 };
const lost = { status: "lost", reason: "gone", retryAt: 1 };

test("a restored connection is reported for a few seconds, but the first connection is not", async () => {
  const { connection, setStreamState, runTimers } = createTestConnection();
  await setStreamState({ state: "live" });
  expect(connection.get()).toEqual({ status: "live" });
  const cases = [
    [waitingInfo, lost],
    [{ state: "offline" } as const, { status: "offline" }],
  ] as const;
  for (const [info, shown] of cases) {
    await setStreamState(info);
    expect(connection.get()).toEqual(shown);
    await setStreamState({ state: "live" });
    expect(connection.get()).toEqual({ status: "live", isReconnected: true });
    await runTimers();
    expect(connection.get()).toEqual({ status: "live" });
  }
});

test("a connection that is lost again within these seconds is shown as lost", async () => {
  const { connection, setStreamState, runTimers } = createTestConnection();
  await setStreamState({ ...waitingInfo });
  await setStreamState({ state: "live" });
  await setStreamState({ ...waitingInfo });
  await runTimers();
  expect(connection.get()).toEqual(lost);
});

test("a stream that is rejected while the session is open is opened again", async () => {
  const { gateway, setStreamState, runTimers, getDelays } = createTestConnection();
  expect(gateway.opened).toBe(1);
  await setStreamState({ state: "live" });
  await setStreamState({ state: "rejected" });
  expect([gateway.checks, gateway.opened, getDelays().length]).toEqual([2, 1, 1]);
  await runTimers();
  expect(gateway.opened).toBe(2);
});

test("two rejections schedule one attempt to open the stream again, and closing cancels it", async () => {
  const { gateway, setStreamState, close, getDelays } = createTestConnection();
  await setStreamState({ state: "rejected" });
  await setStreamState({ state: "rejected" });
  expect(getDelays()).toHaveLength(1);
  void setStreamState({ state: "rejected" });
  // The session check has not ended yet.
  close();
  await flushPromises();
  expect(getDelays()).toEqual([]);
  expect(gateway.opened).toBe(1);
});

test("the page is outdated if a gateway of another version comes back", async () => {
  const { connection, gateway, setStreamState } = createTestConnection();
  await setStreamState({ state: "live" });
  gateway.sessionState = createOpenSession("1.1.0");
  await setStreamState({ ...waitingInfo });
  await setStreamState({ state: "live" });
  expect(connection.get()).toEqual({ status: "outdated" });
});

test("an unreachable gateway is checked again, and immediately when the network is back", async () => {
  const { connection, gateway, environment, runTimers, getDelays } = createTestConnection({
    status: "unreachable",
  });
  expect(connection.get()).toMatchObject({ status: "lost" });
  expect(getDelays()).toHaveLength(1);
  environment.simulate({ online: true });
  expect(getDelays()).toEqual([0]);
  gateway.sessionState = createOpenSession();
  await runTimers();
  expect([gateway.checks, gateway.opened]).toEqual([2, 1]);
  expect(connection.get()).toEqual({ status: "connecting" });
});

test('the connection stays "lost" during automatic attempts, and is "connecting" during a manual one', async () => {
  const { connection, reconnect, gateway, setStreamState } = createTestConnection();
  await setStreamState({ ...waitingInfo });
  await setStreamState({ state: "connecting" });
  expect(connection.get()).toEqual({ ...lost, retryAt: undefined });
  await setStreamState({ ...waitingInfo });
  reconnect();
  await setStreamState({ state: "connecting" });
  expect(connection.get()).toEqual({ status: "connecting" });
  expect(gateway.retries).toBe(1);
});

test("the connection is retried when the network is back, and stays offline until then", async () => {
  const { connection, setStreamState, environment } = createTestConnection();
  environment.simulate({ online: false });
  await setStreamState({ state: "offline" });
  await setStreamState({ state: "connecting" });
  expect(connection.get()).toEqual({ status: "offline" });
  environment.simulate({ online: true });
  await setStreamState({ state: "offline" });
  await setStreamState({ state: "connecting" });
  expect(connection.get()).toEqual({ status: "connecting" });
});

test("a store that the gateway cannot open is reported with the reason", async () => {
  const { connection, setStreamState } = createTestConnection();
  const facts = { status: 503, code: "store_unavailable" };
  const broken = new ChatApiError("no such disk", facts);
  await setStreamState({ ...waitingInfo, cause: broken });
  expect(connection.get()).toMatchObject({
    storeProblem: { isInUse: false, message: "no such disk" },
  });
  const used = { ...facts, reason: "store_in_use", detail: "by process 7" };
  await setStreamState({ ...waitingInfo, cause: new ChatApiError("in use", used) });
  expect(connection.get()).toMatchObject({
    storeProblem: { isInUse: true, message: "by process 7" },
  });
});
