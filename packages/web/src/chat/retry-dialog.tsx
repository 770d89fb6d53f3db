import { useState } from "react";
import { useCell } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Field } from "../parts/field.tsx";
import { Spinner } from "../parts/signs.tsx";
import { useWords } from "../words/use-words.ts";
import { ModelPicker } from "./model-picker.tsx";
import type { Thread } from "./thread.ts";
import { answererIn, choicesToPick, type Who } from "./who-answers.tsx";
import { chatWords } from "./words.ts";

/** Another answer, by somebody else this once. */
export function RetryDialog({ thread }: { thread: Thread }) {
  const nodeId = useCell(thread.retrying);
  return nodeId === undefined ? null : <OpenRetry key={nodeId} thread={thread} nodeId={nodeId} />;
}

function OpenRetry({ thread, nodeId }: { thread: Thread; nodeId: string }) {
  const page = usePage();
  const words = useWords(chatWords);
  const choices = useCell(page.choices);
  const [who, setWho] = useState<Who>({});
  const close = () => thread.retrying.set(undefined);
  const retry = () => {
    close();
    void thread.chat.rerun(nodeId, who);
  };
  return (
    <Dialog
      title={words.anotherModelTitle}
      onClose={close}
      footer={
        <>
          <Button onClick={close}>{words.cancel}</Button>
          <Button kind="primary" icon="redo" onClick={retry}>
            {words.retry}
          </Button>
        </>
      }
    >
      {choices === undefined ? (
        <Spinner label={words.loading} />
      ) : (
        <Field label={words.anotherModel}>
          <ModelPicker
            className="input chat-retry-picker"
            label={words.anotherModel}
            shown={answererIn(who, choices)?.name ?? words.defaultModel}
            choices={choicesToPick(choices)}
            chosen={who}
            onChoose={setWho}
          />
        </Field>
      )}
    </Dialog>
  );
}
