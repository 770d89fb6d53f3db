import { useCell } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { Icon } from "../parts/icon.tsx";
import { useWords } from "../words/use-words.ts";
import { appWords } from "./words.ts";

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
