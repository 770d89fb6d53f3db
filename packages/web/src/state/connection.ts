import { assertNever, backoffMs, type ConnectionInfo, type EventClient } from "@deltawire/tasks";
import { ChatApiError } from "@deltawire/tasks/chats";
import type { BrowserEnvironment } from "../browser/browser-environment.ts";
import { createCell, type Cell } from "../cell.ts";
import type { GatewayConnectionState, Session, StoreProblem } from "./app-store.ts";

export interface ConnectionOptions {
  readonly environment: BrowserEnvironment;
  readonly session: Pick<Session, "state" | "check">;
  readonly events: Pick<
    EventClient,
    "connection" | "subscribe" | "open" | "disconnect" | "retryNow"
  >;
  /** Called when the session is open. */
  readonly onOpen: () => void;
  /** Called when the event stream is live, including after a reconnect. */
  readonly onLive: () => void;
}

/** How long "Reconnected" is shown. */
const reconnectedNoticeMs = 5000;
/** Delay before the stream is opened again if it was rejected although the session is open. */
const reopenDelayMs = 2000;

/** Opens the event stream when the session is open, and publishes the state of the connection. */
export function createConnection(options: ConnectionOptions): {
  connection: Cell<GatewayConnectionState>;
  /** Retries a lost connection now. */
  reconnect: () => void;
  close: () => void;
} {
  const { environment, session, events, onOpen, onLive } = options;
  const connection = createCell<GatewayConnectionState>({ status: "connecting" });
  /** Version of the gateway that served this page. */
  let version: string | undefined;
  let isOutdated = false;
  let wasLost = false;
  let isReconnected = false;
  let failures = 0;
  let isClosed = false;
  let cancelNext: (() => void) | undefined;
  let cancelReconnected: (() => void) | undefined;

  /** Replaces the scheduled action, if any. */
  const scheduleNext = (ms: number, action: () => void) => {
    cancelNext?.();
    cancelNext = isClosed ? undefined : environment.schedule(ms, action);
  };
  const scheduleCheck = (ms: number) => scheduleNext(ms, () => void session.check());

  const publish = () => {
    const live: GatewayConnectionState = isReconnected
      ? { status: "live", isReconnected: true }
      : { status: "live" };
    const liveState: GatewayConnectionState = isOutdated ? { status: "outdated" } : live;
    connection.set(toConnectionState(events.connection, liveState, connection.get(), environment));
  };
  const showReconnected = () => {
    isReconnected = true;
    cancelReconnected?.();
    cancelReconnected = environment.schedule(reconnectedNoticeMs, () => {
      isReconnected = false;
      publish();
    });
  };

  const onSessionChange = () => {
    const state = session.state.get();
    switch (state.status) {
      case "checking":
        return;
      case "open":
        if (failures > 0) connection.set({ status: "connecting" });
        failures = 0;
        version ??= state.version;
        isOutdated = state.version !== version;
        publish();
        events.open();
        return onOpen();
      case "needs_token":
        events.disconnect();
        return connection.set({ status: "connecting" });
      case "unreachable": {
        const wait = backoffMs(failures, environment.random());
        failures += 1;
        scheduleCheck(wait);
        if (!environment.isOnline()) return connection.set({ status: "offline" });
        const reason = "the gateway does not answer";
        return connection.set({
          status: "lost",
          reason,
          retryAt: Math.round(environment.now() + wait),
        });
      }
      default:
        return assertNever(state);
    }
  };

  const onStreamChange = () => {
    if (session.state.get().status !== "open") return;
    const { state } = events.connection;
    if (state === "rejected") {
      void session.check().then(reopenLater);
      return;
    }
    if (state === "waiting" || state === "offline") wasLost = true;
    if (state === "live" && wasLost) showReconnected();
    publish();
    if (state !== "live") return;
    // The gateway may have been updated meanwhile.
    if (wasLost) void session.check();
    wasLost = false;
    onLive();
  };

  const reopenLater = () => {
    if (session.state.get().status === "open") scheduleNext(reopenDelayMs, () => events.open());
  };

  const unsubscribers = [
    session.state.subscribe(onSessionChange),
    events.subscribe(onStreamChange),
    environment.onChange(() => {
      if (session.state.get().status === "unreachable" && environment.isOnline()) scheduleCheck(0);
    }),
  ];
  void session.check();
  return {
    connection,
    reconnect() {
      connection.set({ status: "connecting" });
      if (session.state.get().status === "unreachable") scheduleCheck(0);
      else events.retryNow();
    },
    close() {
      isClosed = true;
      cancelNext?.();
      cancelReconnected?.();
      for (const unsubscribe of unsubscribers) unsubscribe();
    },
  };
}

function toConnectionState(
  { state, reason = "", retryAt, cause }: ConnectionInfo,
  liveState: GatewayConnectionState,
  previous: GatewayConnectionState,
  environment: Pick<BrowserEnvironment, "isOnline">,
): GatewayConnectionState {
  switch (state) {
    case "live":
      return liveState;
    case "idle":
    case "suspended":
    case "rejected":
    case "ended":
      return previous; // The page is hidden, or the state is about to change.
    case "connecting":
      // A lost connection stays "lost" until it is live, so that attempts are not announced as changes.
      if (previous.status === "lost") return { ...previous, retryAt: undefined };
      return previous.status === "offline" && !environment.isOnline()
        ? previous
        : { status: "connecting" };
    case "offline":
      return { status: "offline" };
    case "waiting": {
      const storeProblem = toStoreProblem(cause);
      return {
        status: "lost",
        reason,
        retryAt,
        ...(storeProblem === undefined ? {} : { storeProblem }),
      };
    }
    default:
      return assertNever(state);
  }
}

function toStoreProblem(cause: unknown): StoreProblem | undefined {
  if (!(cause instanceof ChatApiError) || cause.code !== "store_unavailable") return undefined;
  const isInUse = cause.reason === "store_in_use";
  return { isInUse, message: (isInUse ? cause.detail : undefined) ?? cause.message };
}
