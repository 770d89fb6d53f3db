import {
  assertNever,
  mediaTypeEssence,
  blobPath,
  type BlobStore,
  type ContentPart,
} from "@deltawire/tasks";
import type { Attachment, ContextSnippet, UserVersion } from "@deltawire/tasks/chats";
import { truncateSafely } from "../truncate.ts";
import { getBlobHash } from "../calls/long-results.ts";
import { detectFileKind } from "../tool-groups/detect-file-kind.ts";
import type { Vault } from "../privacy/vault.ts";
import {
  describeAttachment,
  kindFromMediaType,
  formatOmittedNotice,
  formatUnmaskedNotice,
  type ModelAttachmentKind,
} from "./attachment-notices.ts";
import type { ModelCapabilities } from "../model.ts";
import { extractPdfTextCached } from "./pdf-text.ts";

/** Detects private values in text that is masked later. */
export type PrivateValueDetector = Pick<Vault, "cutBefore" | "isPrivate">;

export interface MessageRenderOptions {
  readonly capabilities: ModelCapabilities;
  readonly blobs: BlobStore;
  /** Set if private values are masked. PDFs are then sent as extracted text, so that they can be masked. */
  readonly vault?: PrivateValueDetector | undefined;
  /** A note with the time at which the message was sent. */
  readonly timeNote?: string | undefined;
}

const maxTextLength = 200_000;
/** Maximum length of a UTF-8 character. */
const maxBytesPerCharacter = 4;
const maxMediaBytes = 25 * 1024 * 1024;

/**
 * Renders a user message for a model: each context and attachment as one part, then the text. Unsupported attachments are
 * converted, or replaced by a note for the model and a notice for the user. The result depends only on the version and
 * the options.
 */
export async function renderMessageParts(
  version: UserVersion,
  options: MessageRenderOptions,
): Promise<{ parts: ContentPart[]; notices: string[] }> {
  const notices: string[] = [];
  const parts = version.contexts.map((context) => renderContext(context, options, notices));
  for (const attachment of version.attachments)
    parts.push(await renderAttachment(attachment, options, notices));
  for (const text of [version.text, options.timeNote ?? ""])
    if (text !== "") parts.push({ type: "text", text });
  return { parts, notices };
}

function renderContext(
  { kind, title, text, url }: ContextSnippet,
  { vault }: MessageRenderOptions,
  notices: string[],
): ContentPart {
  const truncated = truncateSafely(text, maxTextLength, vault);
  const truncation = truncated === text ? undefined : truncationNote;
  if (truncation !== undefined) notices.push(`"${title}" was truncated: ${truncation} are sent.`);
  return wrapInTag("context", { kind, title, url }, truncated, truncation);
}

const truncationNote = `only the first ${maxTextLength} characters`;

/** Wraps the content in a tag that the content cannot close. */
function wrapInTag(
  tag: "context" | "file",
  attributes: Readonly<Record<string, string | undefined>>,
  content: string,
  truncation: string | undefined,
): ContentPart {
  const attributeTexts = Object.entries(attributes).flatMap(([name, value]) =>
    value === undefined ? [] : [` ${name}="${escapeAttribute(value)}"`],
  );
  const note = truncation === undefined ? "" : `\n[truncated: ${truncation}]`;
  const text = `<${tag}${attributeTexts.join("")}>\n${content.replace(closingTag, "&lt;")}${note}\n</${tag}>`;
  return { type: "text", text };
}

function escapeAttribute(value: string): string {
  const entities = { "&": "&amp;", '"': "&quot;", "<": "&lt;", ">": "&gt;" } as const;
  return value
    .replace(/[\p{Cc}\u2028\u2029]+/gu, " ")
    .replace(/[&"<>]/g, (character) => entities[character as keyof typeof entities]);
}

/** Matches regardless of case and with spaces or invisible characters anywhere, because a model may ignore them. */
const closingTag = (() => {
  const gap = String.raw`[\s\p{Default_Ignorable_Code_Point}]*`;
  const spaced = (name: string): string => name.split("").join(gap);
  return new RegExp(`<(?=${gap}/${gap}(?:${spaced("context")}|${spaced("file")}))`, "giu");
})();

interface LoadedAttachment {
  /** Undefined for attachments that are not in the blob store. */
  readonly bytes?: Uint8Array;
  /** Without parameters. */
  readonly mediaType: string;
}

async function renderAttachment(
  attachment: Attachment,
  options: MessageRenderOptions,
  notices: string[],
): Promise<ContentPart> {
  const loaded = await loadAttachment(attachment, options.blobs);
  if (loaded === undefined)
    return renderOmitted(attachment, attachment.kind, "it is no longer stored", notices);
  const kind = sniffKind(attachment, loaded);
  const omit = (reason: string): ContentPart => renderOmitted(attachment, kind, reason, notices);
  switch (kind) {
    case "image":
    case "audio":
      return renderMedia(attachment, kind, loaded, options, notices);
    case "pdf":
      return renderPdf(attachment, loaded, options, notices);
    case "file": {
      if (loaded.bytes === undefined) return omit("only uploaded files can be read");
      const text = decodeText(loaded.bytes);
      if (text === undefined) return omit("it is not UTF-8 text, an image, audio or a PDF");
      const truncated = truncateSafely(text, maxTextLength, options.vault);
      const truncation = text.length > maxTextLength ? truncationNote : undefined;
      return renderFile(attachment, truncated, truncation, notices);
    }
    default:
      return assertNever(kind);
  }
}

async function loadAttachment(
  { url, media_type }: Attachment,
  blobs: BlobStore,
): Promise<LoadedAttachment | undefined> {
  const declaredType = mediaTypeEssence(media_type);
  if (!url.startsWith(blobPath)) return { mediaType: declaredType };
  const blob = await blobs.get(getBlobHash({ url }));
  if (blob === undefined) return undefined;
  return { bytes: blob.bytes, mediaType: declaredType || mediaTypeEssence(blob.mediaType) };
}

/** Determines the kind by type and content: browsers report TypeScript files as video, and no type for many others. */
function sniffKind(
  attachment: Attachment,
  { bytes, mediaType }: LoadedAttachment,
): ModelAttachmentKind {
  const declaredKind = kindFromMediaType(mediaType);
  if (declaredKind !== undefined) return declaredKind;
  const start = bytes === undefined ? "" : Buffer.from(bytes.subarray(0, 5)).toString("latin1");
  if (start === "%PDF-") return "pdf";
  if (bytes !== undefined && detectFileKind(bytes).type === "image") return "image";
  if (bytes === undefined && /\.pdf$/i.test(attachment.filename ?? "")) return "pdf";
  return attachment.kind;
}

/** Returns a note for the model and adds a notice for the user. */
function renderOmitted(
  attachment: Attachment,
  kind: ModelAttachmentKind,
  reason: string,
  notices: string[],
): ContentPart {
  const notice = formatOmittedNotice(describeAttachment(attachment, kind), reason);
  notices.push(notice);
  return { type: "text", text: `[${notice}]` };
}

function renderMedia(
  attachment: Attachment,
  kind: "image" | "audio",
  loaded: LoadedAttachment,
  { capabilities, vault }: MessageRenderOptions,
  notices: string[],
): ContentPart {
  const { url } = attachment;
  const size = loaded.bytes?.length ?? attachment.size ?? 0;
  const problem =
    kind === "image"
      ? findImageProblem(loaded, capabilities)
      : findAudioProblem(attachment, loaded, capabilities);
  const reason = problem ?? findSizeProblem(size) ?? findUrlProblem(url, vault);
  if (reason !== undefined) return renderOmitted(attachment, kind, reason, notices);
  if (vault !== undefined)
    notices.push(formatUnmaskedNotice(describeAttachment(attachment, kind), kind));
  return kind === "image"
    ? { type: "image_url", image_url: { url } }
    : { type: "audio_url", audio_url: { url } };
}

function findSizeProblem(size: number): string | undefined {
  if (size <= maxMediaBytes) return undefined;
  return `it is larger than ${maxMediaBytes / 1024 / 1024} MB`;
}

/** Returns the reason why a URL cannot be sent: it contains a private value, and a masked URL would not work. */
export function findUrlProblem(
  url: string,
  vault: PrivateValueDetector | undefined,
): string | undefined {
  if (!/^https?:/i.test(url) || vault?.isPrivate(url) !== true) return undefined;
  return "its URL contains a private value";
}

/** The types that servers accept. A rejected image would also make all later requests of the chat fail. */
const supportedImageTypes = /^image\/(?:png|jpe?g|gif|webp)$/;

export const noVisionReason = "this model does not support images";

function findImageProblem(
  { bytes, mediaType }: LoadedAttachment,
  { images }: ModelCapabilities,
): string | undefined {
  if (!images) return noVisionReason;
  if (mediaType === "" || supportedImageTypes.test(mediaType)) return undefined;
  if (bytes !== undefined && detectFileKind(bytes).type === "image") return undefined;
  return `only PNG, JPEG, GIF and WebP images are supported, got ${mediaType}`;
}

const supportedAudioTypes = /^audio\/(?:mpeg|mp3|(?:x-|vnd\.)?wave?)$/;

function findAudioProblem(
  { url }: Attachment,
  { bytes, mediaType }: LoadedAttachment,
  { audio, type }: ModelCapabilities,
): string | undefined {
  if (!audio) return "this model does not support audio";
  if (bytes === undefined && !url.startsWith("data:"))
    return "only uploaded audio files can be sent";
  if (type === "audio-stt" || mediaType === "" || supportedAudioTypes.test(mediaType))
    return undefined;
  return `only MP3 and WAV audio is supported, got ${mediaType}`;
}

async function renderPdf(
  attachment: Attachment,
  { bytes }: LoadedAttachment,
  { capabilities, vault }: MessageRenderOptions,
  notices: string[],
): Promise<ContentPart> {
  const { url, filename } = attachment;
  const size = bytes?.length ?? attachment.size ?? 0;
  if (capabilities.files && vault === undefined && size <= maxMediaBytes)
    return {
      type: "file_url",
      file_url: { url },
      ...(filename === undefined ? {} : { filename }),
      media_type: "application/pdf",
    };
  if (bytes === undefined)
    return renderOmitted(attachment, "pdf", "only uploaded files can be read", notices);
  const extracted = await extractPdfTextCached(getBlobHash({ url }), bytes, vault);
  if (extracted.type === "none") return renderOmitted(attachment, "pdf", extracted.reason, notices);
  const reason =
    vault !== undefined
      ? "so that it can be masked"
      : capabilities.files
        ? "because the file is larger than 25 MB"
        : "because this model does not accept PDF files";
  notices.push(`Only the text of the ${describeAttachment(attachment, "pdf")} is sent, ${reason}.`);
  return renderFile(attachment, extracted.text, extracted.truncation, notices);
}

function renderFile(
  attachment: Attachment,
  text: string,
  truncation: string | undefined,
  notices: string[],
): ContentPart {
  if (truncation !== undefined)
    notices.push(
      `The ${describeAttachment(attachment, "file")} was truncated: ${truncation} are sent.`,
    );
  return wrapInTag("file", { name: attachment.filename ?? "file" }, text, truncation);
}

/** Decodes at least one character more than is sent, so that truncation is detected. Returns undefined if the bytes are not UTF-8 text. */
function decodeText(bytes: Uint8Array): string | undefined {
  if (detectFileKind(bytes).type !== "text") return undefined;
  const maxBytes = (maxTextLength + 1) * maxBytesPerCharacter;
  try {
    const utf8 = new TextDecoder("utf-8", { fatal: true });
    const text = utf8.decode(bytes.subarray(0, maxBytes), { stream: bytes.length > maxBytes });
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}
