import { useAppStore } from "../hooks/use-app-store.ts";
import { Button } from "../ui/button.tsx";
import { EmptyState } from "../ui/indicators.tsx";
import { useMessages } from "../messages/use-messages.ts";
import { chatViewMessages } from "./messages.ts";

/** Shown for a chat that does not exist. (A recently deleted chat still exists and can be restored.) */
export function MissingChat() {
  const app = useAppStore();
  const t = useMessages(chatViewMessages);
  return (
    <EmptyState title={t.missingTitle} text={t.missingText}>
      <Button icon="add" kind="primary" onClick={() => app.router.navigate({ type: "new" })}>
        {t.newChat}
      </Button>
    </EmptyState>
  );
}
