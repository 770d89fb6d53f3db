import { useState } from "react";
import { blobPath } from "@deltawire/tasks";
import type { Attachment } from "@deltawire/tasks/chats";
import { Dialog } from "../parts/dialog.tsx";
import { Icon } from "../parts/icon.tsx";
import { useFormat } from "../words/format.ts";
import { useWords } from "../words/use-words.ts";
import { chatWords } from "./words.ts";

/** What was sent beside the words. What lies on another server is linked: the page asks nobody but its gateway. */
export function Attachments({ attachments }: { attachments: readonly Attachment[] }) {
  if (attachments.length === 0) return null;
  return (
    <ul className="chat-attachments">
      {attachments.map((attachment, at) => (
        // The same file may be attached twice, and a version never changes.
        <li key={at}>
          <OneAttachment attachment={attachment} />
        </li>
      ))}
    </ul>
  );
}

function OneAttachment({ attachment }: { attachment: Attachment }) {
  const { kind, url } = attachment;
  const isOwn = url.startsWith(blobPath);
  if (kind === "image" && isOwn) return <Picture attachment={attachment} />;
  if (kind === "audio" && isOwn) return <Sound attachment={attachment} />;
  return <FileCard attachment={attachment} isOwn={isOwn} />;
}

function Picture({ attachment: { url, filename } }: { attachment: Attachment }) {
  const words = useWords(chatWords);
  const [isOpen, setOpen] = useState(false);
  const name = filename ?? words.image;
  return (
    <>
      <button
        type="button"
        className="chat-thumbnail"
        title={name}
        aria-label={words.openImage(name)}
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
              {words.download}
            </a>
          }
        >
          <img className="chat-picture" src={url} alt={name} />
        </Dialog>
      )}
    </>
  );
}

function Sound({ attachment: { url, filename } }: { attachment: Attachment }) {
  const words = useWords(chatWords);
  const name = filename ?? words.audio;
  return (
    <figure className="chat-sound">
      {/* What was said in it is not known. */}
      {/* oxlint-disable-next-line jsx-a11y/media-has-caption */}
      <audio controls preload="metadata" src={url} aria-label={name} />
      <figcaption dir="auto">{name}</figcaption>
    </figure>
  );
}

function FileCard({ attachment, isOwn }: { attachment: Attachment; isOwn: boolean }) {
  const words = useWords(chatWords);
  const format = useFormat();
  const { kind, url, filename, media_type, size } = attachment;
  const name = filename ?? (isOwn ? words[kind] : url);
  const about = [size === undefined ? undefined : format.bytes(size), media_type];
  const inside = (
    <>
      <Icon name={kind === "image" ? "image" : kind === "audio" ? "sound" : "file"} />
      <span className="one-line" dir="auto">
        {name}
      </span>
      <span className="chat-file-about">{about.filter(Boolean).join(" · ")}</span>
    </>
  );
  if (isOwn)
    return (
      <a className="file-box chat-file" href={url} download={name} title={words.download}>
        {inside}
      </a>
    );
  if (!/^https?:/i.test(url)) return <span className="file-box chat-file">{inside}</span>;
  return (
    <a
      className="file-box chat-file"
      href={url}
      target="_blank"
      rel="noopener noreferrer"
      title={url}
    >
      {inside}
    </a>
  );
}
