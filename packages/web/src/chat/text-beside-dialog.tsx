import type { ContextSnippet } from "@deltawire/tasks/chats";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Field, Input, TextArea } from "../parts/field.tsx";
import { useWords } from "../words/use-words.ts";
import { composerWords } from "./composer-words.ts";

interface TextBesideDialogProps {
  context: ContextSnippet;
  /** At once: however the dialog is closed, what was written stays. */
  onChange: (context: ContextSnippet) => void;
  onClose: () => void;
}

/** A text that goes beside the words. */
export function TextBesideDialog({ context, onChange, onClose }: TextBesideDialogProps) {
  const words = useWords(composerWords);
  const { title, text } = context;
  return (
    <Dialog
      title={words.textTitle}
      onClose={onClose}
      footer={
        <Button kind="primary" onClick={onClose}>
          {words.done}
        </Button>
      }
    >
      <div className="chat-text-beside">
        <p>{words.textHint}</p>
        <Field label={words.textName}>
          <Input
            dir="auto"
            value={title}
            onChange={(event) => onChange({ ...context, title: event.currentTarget.value })}
          />
        </Field>
        <Field label={words.textWords}>
          <TextArea
            data-first
            dir="auto"
            rows={12}
            value={text}
            onChange={(event) => onChange({ ...context, text: event.currentTarget.value })}
          />
        </Field>
      </div>
    </Dialog>
  );
}
