import type { EventLine, LineState } from "../gateway/event-line.ts";
import { waitAfter } from "../gateway/waits.ts";
import type { World } from "../gateway/world.ts";
import { unreachable } from "../unreachable.ts";
import { cell, type Cell } from "./cell.ts";
import type { Connection, Session } from "./page.ts";

export interface ConnectionOptions {
  readonly world: World;
  readonly session: Pick<Session, "state" | "check">;
  readonly line: Pick<EventLine, "state" | "open" | "shut">;
  /** The gateway lets this page in. */
  readonly onOpen: () => void;
  /** The stream runs, for the first time or again. */
  readonly onLive: () => void;
}

/** How long it is said that a lost connection is there again. */
const backForMs = 5000;
/** The session is good and the stream was refused: something between the two has changed. */
const openAgainMs = 2000;

/** Opens the line when the gateway lets this page in, and tells how it stands with it. */
export function keepConnected(options: ConnectionOptions): {
  connection: Cell<Connection>;
  close: () => void;
} {
  const { world, session, line, onOpen, onLive } = options;
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
    connection.set(connectionOf(line.state.get(), whenLive, connection.get()));
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
        failures = 0;
        version ??= state.version;
        isOutdated = state.version !== version;
        show();
        line.open();
        return onOpen();
      case "needs token":
        line.shut();
        return connection.set({ is: "connecting" });
      case "unreachable": {
        const wait = waitAfter(failures, world.random());
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

  const hearLine = () => {
    if (session.state.get().is !== "open") return;
    const state = line.state.get();
    if (state.is === "refused") {
      void session.check().then(openAgain);
      return;
    }
    if (state.is === "lost" || state.is === "offline") wasLost = true;
    if (state.is === "live" && wasLost) sayBack();
    show();
    if (state.is !== "live") return;
    // Another gateway may have come back.
    if (wasLost) void session.check();
    wasLost = false;
    onLive();
  };

  const openAgain = () => {
    if (session.state.get().is === "open") nextIn(openAgainMs, () => line.open());
  };

  const leave = [
    session.state.subscribe(hearSession),
    line.state.subscribe(hearLine),
    world.onChange(() => {
      if (session.state.get().is === "unreachable" && world.isOnline()) checkIn(0);
    }),
  ];
  void session.check();
  return {
    connection,
    close() {
      isClosed = true;
      cancelNext?.();
      cancelBack?.();
      for (const each of leave) each();
    },
  };
}

function connectionOf(state: LineState, whenLive: Connection, before: Connection): Connection {
  switch (state.is) {
    case "live":
      return whenLive;
    case "asleep":
    case "refused":
      return before; // Nobody looks, or it is about to be something else.
    case "connecting":
    case "lost":
    case "offline":
      return state;
    default:
      return unreachable(state);
  }
}
