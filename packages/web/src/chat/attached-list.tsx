import { useState } from "react";
import type { Attachment, ContextSnippet } from "@deltawire/tasks/chats";
import { Button, IconButton } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Field, Input, TextArea } from "../parts/field.tsx";
import { Icon, type IconName } from "../parts/icon.tsx";
import { useFormat } from "../words/format.ts";
import { useWords } from "../words/use-words.ts";
import { composerWords } from "./composer-words.ts";
import type { Upload, Uploads } from "./uploads.ts";

interface AttachedListProps {
  attachments: readonly Attachment[];
  contexts: readonly ContextSnippet[];
  pending: readonly Upload[];
  uploads: Uploads;
  onRemove: (attachment: Attachment) => void;
  onEditText: (index: number) => void;
  onRemoveText: (index: number) => void;
}

/** What goes with the words: files, those on their way to the gateway, and texts. */
export function AttachedList(props: AttachedListProps) {
  const { attachments, contexts, pending, uploads, onRemove, onEditText, onRemoveText } = props;
  const words = useWords(composerWords);
  const format = useFormat();
  if (attachments.length + contexts.length + pending.length === 0) return null;
  return (
    <ul className="chat-attached" aria-label={words.attached}>
      {contexts.map(({ title, text }, index) => (
        <li key={`text ${index}`} className="chat-attached-item">
          <button
            type="button"
            className="chat-attached-open"
            title={words.editText(title)}
            aria-label={words.editText(title)}
            onClick={() => onEditText(index)}
          >
            <Sign icon="quote" />
            <Names name={title} about={firstLine(text)} />
          </button>
          <IconButton
            small
            icon="close"
            label={words.remove(title)}
            onClick={() => onRemoveText(index)}
          />
        </li>
      ))}
      {attachments.map((attachment, index) => {
        const name = attachment.filename ?? words.unnamed;
        const { kind, url, size } = attachment;
        return (
          <li key={`${url} ${index}`} className="chat-attached-item">
            {kind === "image" ? <Thumbnail key={url} url={url} /> : <Sign icon={icons[kind]} />}
            <Names name={name} about={size === undefined ? "" : format.bytes(size)} />
            <IconButton
              small
              icon="close"
              label={words.remove(name)}
              onClick={() => onRemove(attachment)}
            />
          </li>
        );
      })}
      {pending.map(({ id, file, state }) => (
        <li key={id} className="chat-attached-item" data-state={state}>
          {state === "sending" ? (
            <span className="chat-attached-sign">
              <span className="spinner" aria-hidden="true" />
            </span>
          ) : (
            <Sign icon="warning" />
          )}
          <Names
            name={file.name}
            about={`${state === "sending" ? words.uploading : words.uploadFailed} · ${format.bytes(file.size)}`}
          />
          {state === "failed" && (
            <IconButton
              small
              icon="redo"
              label={words.retry(file.name)}
              onClick={() => uploads.retry(id)}
            />
          )}
          <IconButton
            small
            icon="close"
            label={words.remove(file.name)}
            onClick={() => uploads.dismiss(id)}
          />
        </li>
      ))}
    </ul>
  );
}

const icons: Readonly<Record<Attachment["kind"], IconName>> = {
  image: "image",
  audio: "sound",
  file: "file",
};

function Sign({ icon }: { icon: IconName }) {
  return (
    <span className="chat-attached-sign">
      <Icon name={icon} />
    </span>
  );
}

function Thumbnail({ url }: { url: string }) {
  const [isBroken, setBroken] = useState(false);
  if (isBroken) return <Sign icon="image" />;
  return <img className="chat-attached-sign" src={url} alt="" onError={() => setBroken(true)} />;
}

function Names({ name, about }: { name: string; about: string }) {
  return (
    <span className="chat-attached-names">
      <span dir="auto" title={name}>
        {name}
      </span>
      {about !== "" && <small dir="auto">{about}</small>}
    </span>
  );
}

function firstLine(text: string): string {
  return text.trim().slice(0, 80).split("\n", 1)[0] ?? "";
}

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
