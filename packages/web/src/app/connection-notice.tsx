import { assertNever } from "@deltawire/tasks";
import { useEffect, useState } from "react";
import { useCell } from "../hooks/use-cell.ts";
import { useAppStore } from "../hooks/use-app-store.ts";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import type { GatewayConnectionState } from "../state/app-store.ts";
import { useMessages } from "../messages/use-messages.ts";
import { appMessages, type AppMessages } from "./messages.ts";

/** Shows the connection state while it is not live, and a confirmation after a reconnect. */
export function ConnectionNotice() {
  const app = useAppStore();
  const connection = useCell(app.connection);
  const t = useMessages(appMessages);
  const seconds = useSecondsUntil(connection.status === "lost" ? connection.retryAt : undefined);
  return (
    <div className="app-connection" role="status" data-state={connection.status}>
      {connection.status === "live" && connection.isReconnected && <Icon name="check" />}
      {connection.status !== "live" && connection.status !== "connecting" && (
        <Icon name="warning" />
      )}
      <span>{formatConnection(connection, t)}</span>
      {connection.status === "lost" && (
        // Hidden from screen readers, which would announce it every second.
        <span className="app-countdown" aria-hidden="true">
          {seconds === undefined || seconds <= 0 ? t.retrying : t.retryIn(seconds)}
        </span>
      )}
      {connection.status === "lost" && (
        <Button small kind="ghost" onClick={() => app.reconnect()}>
          {t.tryAgain}
        </Button>
      )}
      {connection.status === "outdated" && (
        <Button small kind="ghost" onClick={() => window.location.reload()}>
          {t.reload}
        </Button>
      )}
    </div>
  );
}

function formatConnection(connection: GatewayConnectionState, t: AppMessages): string {
  switch (connection.status) {
    case "live":
      return connection.isReconnected ? t.reconnected : "";
    case "connecting":
      return t.connecting;
    case "offline":
      return t.offline;
    case "outdated":
      return t.outdated;
    case "lost":
      return connection.storeProblem === undefined ? t.disconnected : t.noStore;
    default:
      return assertNever(connection);
  }
}

function useSecondsUntil(time: number | undefined): number | undefined {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (time === undefined) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [time]);
  return time === undefined ? undefined : Math.ceil((time - now) / 1000);
}

/** Explains what to do if the gateway cannot open its store. */
export function StoreNotice() {
  const connection = useCell(useAppStore().connection);
  const t = useMessages(appMessages);
  const storeProblem = connection.status === "lost" ? connection.storeProblem : undefined;
  if (storeProblem === undefined) return null;
  return (
    <div className="app-store-notice" role="alert">
      <Icon name="warning" />
      <div>
        <strong>{storeProblem.isInUse ? t.storeInUse : t.storeProblem}</strong>
        {storeProblem.isInUse && (
          <p>
            {t.storeInUseAdvice} <code>--data FOLDER --port N</code>
          </p>
        )}
        <p className="plain-text" dir="auto">
          {storeProblem.message}
        </p>
      </div>
    </div>
  );
}
