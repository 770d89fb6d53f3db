import { useState } from "react";
import type { Attachment, ContextSnippet } from "@deltawire/tasks/chats";
import { Button, IconButton } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Field, Input, TextArea } from "../ui/field.tsx";
import { Icon, type IconName } from "../ui/icon.tsx";
import { useFormatter } from "../messages/format.ts";
import { useMessages } from "../messages/use-messages.ts";
import { composerMessages } from "./composer-messages.ts";
import type { Upload, UploadQueue } from "./upload-queue.ts";

interface ComposerAttachmentsProps {
  attachments: readonly Attachment[];
  contexts: readonly ContextSnippet[];
  uploads: readonly Upload[];
  uploadQueue: UploadQueue;
  onRemove: (attachment: Attachment) => void;
  onEditContext: (index: number) => void;
  onRemoveContext: (index: number) => void;
}

/** Attached files and text snippets, and uploads in progress. */
export function ComposerAttachments(props: ComposerAttachmentsProps) {
  const { attachments, contexts, uploads, uploadQueue, onRemove, onEditContext, onRemoveContext } =
    props;
  const t = useMessages(composerMessages);
  const format = useFormatter();
  if (attachments.length + contexts.length + uploads.length === 0) return null;
  return (
    <ul className="chat-composer-attachments" aria-label={t.attachments}>
      {contexts.map(({ title, text }, index) => (
        <li key={`context ${index}`} className="chat-composer-attachment">
          <button
            type="button"
            className="chat-composer-attachment-open"
            title={t.editContext(title)}
            aria-label={t.editContext(title)}
            onClick={() => onEditContext(index)}
          >
            <AttachmentIcon icon="quote" />
            <AttachmentLabel name={title} details={excerptFirstLine(text)} />
          </button>
          <IconButton
            small
            icon="close"
            label={t.remove(title)}
            onClick={() => onRemoveContext(index)}
          />
        </li>
      ))}
      {attachments.map((attachment, index) => {
        const name = attachment.filename ?? t.unnamed;
        const { kind, url, size } = attachment;
        return (
          <li key={`${url} ${index}`} className="chat-composer-attachment">
            {kind === "image" ? (
              <Thumbnail key={url} url={url} />
            ) : (
              <AttachmentIcon icon={iconByKind[kind]} />
            )}
            <AttachmentLabel name={name} details={size === undefined ? "" : format.bytes(size)} />
            <IconButton
              small
              icon="close"
              label={t.remove(name)}
              onClick={() => onRemove(attachment)}
            />
          </li>
        );
      })}
      {uploads.map(({ id, file, state }) => (
        <li key={id} className="chat-composer-attachment" data-state={state}>
          {state === "sending" ? (
            <span className="chat-composer-attachment-icon">
              <span className="spinner" aria-hidden="true" />
            </span>
          ) : (
            <AttachmentIcon icon="warning" />
          )}
          <AttachmentLabel
            name={file.name}
            details={`${state === "sending" ? t.uploading : t.uploadFailed} · ${format.bytes(file.size)}`}
          />
          {state === "failed" && (
            <IconButton
              small
              icon="redo"
              label={t.retry(file.name)}
              onClick={() => uploadQueue.retry(id)}
            />
          )}
          <IconButton
            small
            icon="close"
            label={t.remove(file.name)}
            onClick={() => uploadQueue.dismiss(id)}
          />
        </li>
      ))}
    </ul>
  );
}

const iconByKind: Readonly<Record<Attachment["kind"], IconName>> = {
  image: "image",
  audio: "audio",
  file: "file",
};

function AttachmentIcon({ icon }: { icon: IconName }) {
  return (
    <span className="chat-composer-attachment-icon">
      <Icon name={icon} />
    </span>
  );
}

function Thumbnail({ url }: { url: string }) {
  const [isBroken, setBroken] = useState(false);
  if (isBroken) return <AttachmentIcon icon="image" />;
  return (
    <img
      className="chat-composer-attachment-icon"
      src={url}
      alt=""
      onError={() => setBroken(true)}
    />
  );
}

function AttachmentLabel({ name, details }: { name: string; details: string }) {
  return (
    <span className="chat-composer-attachment-label">
      <span dir="auto" title={name}>
        {name}
      </span>
      {details !== "" && <small dir="auto">{details}</small>}
    </span>
  );
}

function excerptFirstLine(text: string): string {
  return text.trim().slice(0, 80).split("\n", 1)[0] ?? "";
}

interface ContextDialogProps {
  context: ContextSnippet;
  /** Called on every keystroke, so that the text is saved no matter how the dialog is closed. */
  onChange: (context: ContextSnippet) => void;
  onClose: () => void;
}

/** Edits a text snippet that is sent along with the message. */
export function ContextDialog({ context, onChange, onClose }: ContextDialogProps) {
  const t = useMessages(composerMessages);
  const { title, text } = context;
  return (
    <Dialog
      title={t.contextTitle}
      onClose={onClose}
      footer={
        <Button kind="primary" onClick={onClose}>
          {t.done}
        </Button>
      }
    >
      <div className="chat-context-dialog">
        <p>{t.contextHint}</p>
        <Field label={t.contextName}>
          <Input
            dir="auto"
            value={title}
            onChange={(event) => onChange({ ...context, title: event.currentTarget.value })}
          />
        </Field>
        <Field label={t.contextText}>
          <TextArea
            data-autofocus
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
