import { useState } from "react";
import { blobPath } from "@deltawire/tasks";
import type { Attachment } from "@deltawire/tasks/chats";
import { Dialog } from "../ui/dialog.tsx";
import { Icon } from "../ui/icon.tsx";
import { useFormatter } from "../messages/format.ts";
import { useMessages } from "../messages/use-messages.ts";
import { chatViewMessages } from "./messages.ts";

/** Attachments of a message. Files on other servers are only linked, as the page loads nothing from other hosts. */
export function MessageAttachments({ attachments }: { attachments: readonly Attachment[] }) {
  if (attachments.length === 0) return null;
  return (
    <ul className="chat-attachments">
      {attachments.map((attachment, index) => (
        // Not keyed by URL: the same file may be attached twice. The list of a version never changes.
        <li key={index}>
          <AttachmentView attachment={attachment} />
        </li>
      ))}
    </ul>
  );
}

function AttachmentView({ attachment }: { attachment: Attachment }) {
  const { kind, url } = attachment;
  const isLocal = url.startsWith(blobPath);
  if (kind === "image" && isLocal) return <ImageAttachment attachment={attachment} />;
  if (kind === "audio" && isLocal) return <AudioAttachment attachment={attachment} />;
  return <FileAttachment attachment={attachment} isLocal={isLocal} />;
}

function ImageAttachment({ attachment: { url, filename } }: { attachment: Attachment }) {
  const t = useMessages(chatViewMessages);
  const [isOpen, setOpen] = useState(false);
  const name = filename ?? t.image;
  return (
    <>
      <button
        type="button"
        className="chat-thumbnail"
        title={name}
        aria-label={t.openImage(name)}
        onClick={() => setOpen(true)}
      >
        <img src={url} alt="" loading="lazy" decoding="async" />
      </button>
      {isOpen && (
        <Dialog
          title={name}
          wide
          onClose={() => setOpen(false)}
          footer={
            <a className="button" href={url} download={name}>
              <Icon name="download" />
              {t.download}
            </a>
          }
        >
          <img className="chat-image" src={url} alt={name} />
        </Dialog>
      )}
    </>
  );
}

function AudioAttachment({ attachment: { url, filename } }: { attachment: Attachment }) {
  const t = useMessages(chatViewMessages);
  const name = filename ?? t.audio;
  return (
    <figure className="chat-audio">
      {/* There is no transcript. */}
      {/* oxlint-disable-next-line jsx-a11y/media-has-caption */}
      <audio controls preload="metadata" src={url} aria-label={name} />
      <figcaption dir="auto">{name}</figcaption>
    </figure>
  );
}

function FileAttachment({ attachment, isLocal }: { attachment: Attachment; isLocal: boolean }) {
  const t = useMessages(chatViewMessages);
  const format = useFormatter();
  const { kind, url, filename, media_type, size } = attachment;
  const name = filename ?? (isLocal ? t[kind] : url);
  const details = [size === undefined ? undefined : format.bytes(size), media_type];
  const content = (
    <>
      <Icon name={kind === "image" ? "image" : kind === "audio" ? "audio" : "file"} />
      <span className="single-line" dir="auto">
        {name}
      </span>
      <span className="chat-file-details">{details.filter(Boolean).join(" · ")}</span>
    </>
  );
  if (isLocal)
    return (
      <a className="file-box chat-file" href={url} download={name} title={t.download}>
        {content}
      </a>
    );
  if (!/^https?:/i.test(url)) return <span className="file-box chat-file">{content}</span>;
  return (
    <a
      className="file-box chat-file"
      href={url}
      target="_blank"
      rel="noopener noreferrer"
      title={url}
    >
      {content}
    </a>
  );
}
