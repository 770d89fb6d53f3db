import { useEffect, useState } from "react";
import { useCell } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import type { Connection } from "../state/page.ts";
import { unreachable } from "../unreachable.ts";
import { useWords } from "../words/use-words.ts";
import { appWords, type AppWords } from "./words.ts";

/** Says what is the matter with the connection, and nothing while all is well. */
export function ConnectionNotice() {
  const page = usePage();
  const connection = useCell(page.connection);
  const words = useWords(appWords);
  const seconds = useSecondsUntil(connection.is === "lost" ? connection.retryAt : undefined);
  return (
    <div className="app-connection" role="status" data-is={connection.is}>
      {connection.is === "live" && connection.again && <Icon name="check" />}
      {connection.is !== "live" && connection.is !== "connecting" && <Icon name="warning" />}
      <span>{sentence(connection, words)}</span>
      {connection.is === "lost" && (
        // Not read out every second.
        <span aria-hidden="true">
          {seconds === undefined || seconds <= 0 ? words.retrying : words.retryIn(seconds)}
        </span>
      )}
      {connection.is === "lost" && (
        <Button small kind="ghost" onClick={() => page.reconnect()}>
          {words.tryAgain}
        </Button>
      )}
      {connection.is === "outdated" && (
        <Button small kind="ghost" onClick={() => window.location.reload()}>
          {words.reload}
        </Button>
      )}
    </div>
  );
}

function sentence(connection: Connection, words: AppWords): string {
  switch (connection.is) {
    case "live":
      return connection.again ? words.back : "";
    case "connecting":
      return words.connecting;
    case "offline":
      return words.offline;
    case "outdated":
      return words.outdated;
    case "lost":
      return connection.store === undefined ? words.lost : words.noStore;
    default:
      return unreachable(connection);
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

/** Says that there are no chats because the gateway cannot open its store, and what to do about it. */
export function StoreNotice() {
  const connection = useCell(usePage().connection);
  const words = useWords(appWords);
  const store = connection.is === "lost" ? connection.store : undefined;
  if (store === undefined) return null;
  return (
    <div className="app-store" role="alert">
      <Icon name="warning" />
      <div>
        <strong>{store.isInUse ? words.storeInUse : words.storeProblem}</strong>
        {store.isInUse && (
          <p>
            {words.storeInUseAdvice} <code>--data FOLDER --port N</code>
          </p>
        )}
        <p className="plain-text" dir="auto">
          {store.message}
        </p>
      </div>
    </div>
  );
}
