import type { EventLine, LineState } from "../gateway/event-line.ts";
import { waitAfter } from "../gateway/waits.ts";
import type { World } from "../gateway/world.ts";
import { cell, type Cell } from "./cell.ts";
import type { Connection, Session } from "./page.ts";

export interface ConnectionOptions {
  readonly world: World;
  readonly session: Session;
  readonly line: EventLine;
  /** The gateway lets this page in. */
  readonly onOpen: () => void;
  /** The stream runs, for the first time or again. */
  readonly onLive: () => void;
}

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
  let failures = 0;
  let cancelCheck: (() => void) | undefined;

  const checkIn = (ms: number) => {
    cancelCheck?.();
    cancelCheck = world.schedule(ms, () => {
      cancelCheck = undefined;
      void session.check();
    });
  };

  const show = () => connection.set(connectionOf(line.state.get(), isOutdated, connection.get()));

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
    show();
    if (state.is !== "live") return;
    // Another gateway may have come back.
    if (wasLost) void session.check();
    wasLost = false;
    onLive();
  };

  /** The session is good and the stream was refused: something between the two has changed. */
  const openAgain = () => {
    if (session.state.get().is === "open") cancelCheck = world.schedule(2000, () => line.open());
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
      cancelCheck?.();
      for (const each of leave) each();
    },
  };
}

function connectionOf(state: LineState, isOutdated: boolean, before: Connection): Connection {
  switch (state.is) {
    case "live":
      return isOutdated ? { is: "outdated" } : { is: "live" };
    case "asleep":
    case "refused":
      return before; // Nobody looks, or it is about to be something else.
    default:
      return state;
  }
}
