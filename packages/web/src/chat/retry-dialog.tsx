import { useState } from "react";
import { useCell } from "../hooks/use-cell.ts";
import { useAppStore } from "../hooks/use-app-store.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { Spinner } from "../ui/indicators.tsx";
import { getLoadedChat } from "../state/open-chat.ts";
import { useMessages } from "../messages/use-messages.ts";
import { ModelPicker } from "./model-picker.tsx";
import type { Thread } from "./thread.ts";
import {
  getSelectedResponder,
  resolveResponder,
  listResponderOptions,
  toAnswerResponder,
  type ResponderSelection,
} from "./responder.tsx";
import { chatViewMessages } from "./messages.ts";

/** Retries an answer with another model or agent, without changing the chat's settings. */
export function RetryDialog({ thread }: { thread: Thread }) {
  const nodeId = useCell(thread.retryDialogNodeId);
  return nodeId === undefined ? null : (
    <RetryDialogContent key={nodeId} thread={thread} nodeId={nodeId} />
  );
}

function RetryDialogContent({ thread, nodeId }: { thread: Thread; nodeId: string }) {
  const app = useAppStore();
  const t = useMessages(chatViewMessages);
  const choices = useCell(app.choices);
  const [selection, setSelection] = useState<ResponderSelection>(() =>
    getSelectedResponder(getLoadedChat(thread.chat)?.settings ?? {}),
  );
  const close = () => thread.retryDialogNodeId.set(undefined);
  const retry = () => {
    close();
    void thread.chat.rerun(nodeId, choices && toAnswerResponder(selection, choices));
  };
  return (
    <Dialog
      title={t.retryDialogTitle}
      onClose={close}
      footer={
        <>
          <Button onClick={close}>{t.cancel}</Button>
          <Button kind="primary" icon="redo" onClick={retry}>
            {t.retry}
          </Button>
        </>
      }
    >
      {choices === undefined ? (
        <Spinner label={t.loading} />
      ) : (
        <Field label={t.retryResponder}>
          <ModelPicker
            className="input chat-retry-picker"
            label={t.retryResponder}
            buttonText={resolveResponder(selection, choices)?.name ?? t.defaultModel}
            options={listResponderOptions(choices)}
            selected={selection}
            onSelect={setSelection}
          />
        </Field>
      )}
    </Dialog>
  );
}
