import { backoff, type ConnectionInfo, type EventClient } from "@deltawire/tasks";
import { ChatApiError } from "@deltawire/tasks/chats";
import type { World } from "../browser/world.ts";
import { unreachable } from "../unreachable.ts";
import { cell, type Cell } from "../cell.ts";
import type { Connection, Session, StoreTrouble } from "./page.ts";

export interface ConnectionOptions {
  readonly world: World;
  readonly session: Pick<Session, "state" | "check">;
  readonly events: Pick<EventClient, "connection" | "subscribe" | "open" | "shut" | "retryNow">;
  /** The gateway lets this page in. */
  readonly onOpen: () => void;
  /** The stream runs, for the first time or again. */
  readonly onLive: () => void;
}

/** How long it is said that a lost connection is there again. */
const backForMs = 5000;
/** The session is good and the stream was refused: something between the two has changed. */
const openAgainMs = 2000;

/** Opens the event stream when the gateway lets this page in, and says how the connection is. */
export function keepConnected(options: ConnectionOptions): {
  connection: Cell<Connection>;
  /** Instead of waiting for the next try. */
  reconnect: () => void;
  close: () => void;
} {
  const { world, session, events, onOpen, onLive } = options;
  const connection = cell<Connection>({ is: "connecting" });
  /** Of the gateway that this page came from. */
  let version: string | undefined;
  let isOutdated = false;
  let wasLost = false;
  let isBack = false;
  let failures = 0;
  let isClosed = false;
  let cancelNext: (() => void) | undefined;
  let cancelBack: (() => void) | undefined;

  /** One thing at a time: what is to be done next takes the place of what was. */
  const nextIn = (ms: number, act: () => void) => {
    cancelNext?.();
    cancelNext = isClosed ? undefined : world.schedule(ms, act);
  };
  const checkIn = (ms: number) => nextIn(ms, () => void session.check());

  const show = () => {
    const live: Connection = isBack ? { is: "live", again: true } : { is: "live" };
    const whenLive: Connection = isOutdated ? { is: "outdated" } : live;
    connection.set(connectionOf(events.connection, whenLive, connection.get(), world));
  };
  const sayBack = () => {
    isBack = true;
    cancelBack?.();
    cancelBack = world.schedule(backForMs, () => {
      isBack = false;
      show();
    });
  };

  const hearSession = () => {
    const state = session.state.get();
    switch (state.is) {
      case "checking":
        return;
      case "open":
        if (failures > 0) connection.set({ is: "connecting" });
        failures = 0;
        version ??= state.version;
        isOutdated = state.version !== version;
        show();
        events.open();
        return onOpen();
      case "needs token":
        events.shut();
        return connection.set({ is: "connecting" });
      case "unreachable": {
        const wait = backoff(failures, world.random());
        failures += 1;
        checkIn(wait);
        if (!world.isOnline()) return connection.set({ is: "offline" });
        const reason = "the gateway does not answer";
        return connection.set({ is: "lost", reason, retryAt: Math.round(world.now() + wait) });
      }
      default:
        return unreachable(state);
    }
  };

  const onEvents = () => {
    if (session.state.get().is !== "open") return;
    const { state } = events.connection;
    if (state === "refused") {
      void session.check().then(openAgain);
      return;
    }
    if (state === "waiting" || state === "offline") wasLost = true;
    if (state === "live" && wasLost) sayBack();
    show();
    if (state !== "live") return;
    // Another gateway may have come back.
    if (wasLost) void session.check();
    wasLost = false;
    onLive();
  };

  const openAgain = () => {
    if (session.state.get().is === "open") nextIn(openAgainMs, () => events.open());
  };

  const leave = [
    session.state.subscribe(hearSession),
    events.subscribe(onEvents),
    world.onChange(() => {
      if (session.state.get().is === "unreachable" && world.isOnline()) checkIn(0);
    }),
  ];
  void session.check();
  return {
    connection,
    reconnect() {
      connection.set({ is: "connecting" });
      if (session.state.get().is === "unreachable") checkIn(0);
      else events.retryNow();
    },
    close() {
      isClosed = true;
      cancelNext?.();
      cancelBack?.();
      for (const each of leave) each();
    },
  };
}

function connectionOf(
  { state, reason = "", retryAt, cause }: ConnectionInfo,
  whenLive: Connection,
  before: Connection,
  world: Pick<World, "isOnline">,
): Connection {
  switch (state) {
    case "live":
      return whenLive;
    case "idle":
    case "suspended":
    case "refused":
    case "ended":
      return before; // Nobody looks, or it is about to be something else.
    case "connecting":
      // Said until it is live: each try would else be news.
      if (before.is === "lost") return { ...before, retryAt: undefined };
      return before.is === "offline" && !world.isOnline() ? before : { is: "connecting" };
    case "offline":
      return { is: "offline" };
    case "waiting": {
      const store = storeTroubleIn(cause);
      return { is: "lost", reason, retryAt, ...(store === undefined ? {} : { store }) };
    }
    default:
      return unreachable(state);
  }
}

function storeTroubleIn(cause: unknown): StoreTrouble | undefined {
  if (!(cause instanceof ChatApiError) || cause.code !== "store_unavailable") return undefined;
  const isInUse = cause.reason === "store_in_use";
  return { isInUse, message: (isInUse ? cause.detail : undefined) ?? cause.message };
}
