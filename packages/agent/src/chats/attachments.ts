import { bareType, blobPath, type BlobStore, type ContentPart } from "@deltawire/tasks";
import type { Attachment, ContextSnippet, UserVersion } from "@deltawire/tasks/chats";
import { beginningOf } from "../cuts.ts";
import { hashOf } from "../calls/long-results.ts";
import { fileKind } from "../groups/file-kind.ts";
import type { Vault } from "../privacy/vault.ts";
import { unreachable } from "../unreachable.ts";
import { called, kindOfType, leftOut, sentAsItIs, type SentKind } from "./attachment-notices.ts";
import type { ModelAbilities } from "../model.ts";
import { pdfTextOf } from "./pdf-text.ts";

/** What is private in a chat, for those who put its texts together before they are masked. */
export type PrivateValues = Pick<Vault, "cutBefore" | "isPrivate">;

export interface ForModel {
  readonly abilities: ModelAbilities;
  readonly blobs: BlobStore;
  /** What can be read is masked later, if given: then nothing that can be read as text goes as a file. */
  readonly vault?: PrivateValues | undefined;
  /** When the message was sent, for one whose exact time counts. */
  readonly timeNote?: string | undefined;
}

const longestText = 200_000;
/** No character has more bytes in UTF-8. */
const mostBytes = 4;
const largestMedium = 25 * 1024 * 1024;

/**
 * What a model is told of a user's message: what was put beside the words, each thing in a part of its own, then the words.
 * What the model does not take is converted, or left out with a note in its place and a notice for the user. The same
 * version always gives the same parts.
 */
export async function messageParts(
  version: UserVersion,
  world: ForModel,
): Promise<{ parts: ContentPart[]; notices: string[] }> {
  const notices: string[] = [];
  const parts = version.contexts.map((context) => contextPart(context, world, notices));
  for (const attachment of version.attachments)
    parts.push(await attachmentPart(attachment, world, notices));
  for (const text of [version.text, world.timeNote ?? ""])
    if (text !== "") parts.push({ type: "text", text });
  return { parts, notices };
}

function contextPart(
  { kind, title, text, url }: ContextSnippet,
  { vault }: ForModel,
  notices: string[],
): ContentPart {
  const shown = beginningOf(text, longestText, vault);
  const cut = shown === text ? undefined : firstCharacters;
  if (cut !== undefined) notices.push(`"${title}" was cut: ${cut} are sent.`);
  return element("context", { kind, title, url }, shown, cut);
}

const firstCharacters = `only the first ${longestText} characters`;

/** Something with a name around it that its content cannot leave. */
function element(
  tag: "context" | "file",
  attributes: Readonly<Record<string, string | undefined>>,
  content: string,
  cut: string | undefined,
): ContentPart {
  const named = Object.entries(attributes).flatMap(([name, value]) =>
    value === undefined ? [] : [` ${name}="${escaped(value)}"`],
  );
  const note = cut === undefined ? "" : `\n[cut: ${cut}]`;
  const text = `<${tag}${named.join("")}>\n${content.replace(closingTag, "&lt;")}${note}\n</${tag}>`;
  return { type: "text", text };
}

function escaped(value: string): string {
  const words = { "&": "&amp;", '"': "&quot;", "<": "&lt;", ">": "&gt;" } as const;
  return value
    .replace(/[\p{Cc}\u2028\u2029]+/gu, " ")
    .replace(/[&"<>]/g, (character) => words[character as keyof typeof words]);
}

/** In any case, and with blanks and invisible characters anywhere, as a model may read it. */
const closingTag = (() => {
  const gap = String.raw`[\s\p{Default_Ignorable_Code_Point}]*`;
  const spaced = (name: string): string => name.split("").join(gap);
  return new RegExp(`<(?=${gap}/${gap}(?:${spaced("context")}|${spaced("file")}))`, "giu");
})();

interface Loaded {
  /** Absent for what lies elsewhere. */
  readonly bytes?: Uint8Array;
  /** Without its parameters. */
  readonly mediaType: string;
}

async function attachmentPart(
  attachment: Attachment,
  world: ForModel,
  notices: string[],
): Promise<ContentPart> {
  const loaded = await load(attachment, world.blobs);
  if (loaded === undefined)
    return omitted(attachment, attachment.kind, "it is not stored any more", notices);
  const kind = kindOf(attachment, loaded);
  const refused = (why: string): ContentPart => omitted(attachment, kind, why, notices);
  switch (kind) {
    case "image":
    case "audio":
      return mediumPart(attachment, kind, loaded, world, notices);
    case "pdf":
      return pdfPart(attachment, loaded, world, notices);
    case "file": {
      if (loaded.bytes === undefined) return refused("only files that are stored here can be read");
      const text = textOf(loaded.bytes);
      if (text === undefined)
        return refused("it is neither text in UTF-8 nor a picture, a sound or a PDF");
      const shown = beginningOf(text, longestText, world.vault);
      const cut = text.length > longestText ? firstCharacters : undefined;
      return filePart(attachment, shown, cut, notices);
    }
    default:
      return unreachable(kind);
  }
}

async function load(
  { url, media_type }: Attachment,
  blobs: BlobStore,
): Promise<Loaded | undefined> {
  const declared = bareType(media_type);
  if (!url.startsWith(blobPath)) return { mediaType: declared };
  const blob = await blobs.get(hashOf({ url }));
  if (blob === undefined) return undefined;
  return { bytes: blob.bytes, mediaType: declared || bareType(blob.mediaType) };
}

/** Browsers call files of TypeScript a video and others nothing at all: so their bytes are asked too. */
function kindOf(attachment: Attachment, { bytes, mediaType }: Loaded): SentKind {
  const told = kindOfType(mediaType);
  if (told !== undefined) return told;
  const start = bytes === undefined ? "" : Buffer.from(bytes.subarray(0, 5)).toString("latin1");
  if (start === "%PDF-") return "pdf";
  if (bytes !== undefined && fileKind(bytes).is === "image") return "image";
  if (bytes === undefined && /\.pdf$/i.test(attachment.filename ?? "")) return "pdf";
  return attachment.kind;
}

/** A note in its place. */
function omitted(
  attachment: Attachment,
  kind: SentKind,
  why: string,
  notices: string[],
): ContentPart {
  const notice = leftOut(called(attachment, kind), why);
  notices.push(notice);
  return { type: "text", text: `[${notice}]` };
}

function mediumPart(
  attachment: Attachment,
  kind: "image" | "audio",
  loaded: Loaded,
  { abilities, vault }: ForModel,
  notices: string[],
): ContentPart {
  const { url } = attachment;
  const size = loaded.bytes?.length ?? attachment.size ?? 0;
  const problem =
    kind === "image"
      ? imageProblem(loaded, abilities)
      : audioProblem(attachment, loaded, abilities);
  const why = problem ?? sizeProblem(size) ?? addressProblem(url, vault);
  if (why !== undefined) return omitted(attachment, kind, why, notices);
  if (vault !== undefined) notices.push(sentAsItIs(called(attachment, kind), kind));
  return kind === "image"
    ? { type: "image_url", image_url: { url } }
    : { type: "audio_url", audio_url: { url } };
}

function sizeProblem(size: number): string | undefined {
  if (size <= largestMedium) return undefined;
  return `it has more than ${largestMedium / 1024 / 1024} MB`;
}

/** Masked it would be no address any more. */
export function addressProblem(url: string, vault: PrivateValues | undefined): string | undefined {
  if (!/^https?:/i.test(url) || vault?.isPrivate(url) !== true) return undefined;
  return "its address has a private value in it";
}

/** What servers take. One that they refuse would be refused again with every later message. */
const knownImages = /^image\/(?:png|jpe?g|gif|webp)$/;

export const seesNone = "this model does not see pictures";

function imageProblem(
  { bytes, mediaType }: Loaded,
  { images }: ModelAbilities,
): string | undefined {
  if (!images) return seesNone;
  if (mediaType === "" || knownImages.test(mediaType)) return undefined;
  if (bytes !== undefined && fileKind(bytes).is === "image") return undefined;
  return `models see PNG, JPEG, GIF and WebP, and not ${mediaType}`;
}

const knownSounds = /^audio\/(?:mpeg|mp3|(?:x-|vnd\.)?wave?)$/;

function audioProblem(
  { url }: Attachment,
  { bytes, mediaType }: Loaded,
  { audio, type }: ModelAbilities,
): string | undefined {
  if (!audio) return "this model does not hear";
  if (bytes === undefined && !url.startsWith("data:"))
    return "only sounds that are stored here can be sent";
  if (type === "audio-stt" || mediaType === "" || knownSounds.test(mediaType)) return undefined;
  return `models hear MP3 and WAV, and not ${mediaType}`;
}

async function pdfPart(
  attachment: Attachment,
  { bytes }: Loaded,
  { abilities, blobs, vault }: ForModel,
  notices: string[],
): Promise<ContentPart> {
  const { url, filename } = attachment;
  const size = bytes?.length ?? attachment.size ?? 0;
  if (abilities.files && vault === undefined && size <= largestMedium)
    return {
      type: "file_url",
      file_url: { url },
      ...(filename === undefined ? {} : { filename }),
      media_type: "application/pdf",
    };
  if (bytes === undefined)
    return omitted(attachment, "pdf", "only files that are stored here can be read", notices);
  const read = await pdfTextOf(hashOf({ url }), bytes, blobs, vault);
  if (read.is === "none") return omitted(attachment, "pdf", read.why, notices);
  const why =
    vault === undefined ? "as this model does not take it as it is" : "so that it can be masked";
  notices.push(`Of the ${called(attachment, "pdf")} only the text is sent, ${why}.`);
  return filePart(attachment, read.text, read.cut, notices);
}

function filePart(
  attachment: Attachment,
  text: string,
  cut: string | undefined,
  notices: string[],
): ContentPart {
  if (cut !== undefined)
    notices.push(`The ${called(attachment, "file")} was cut: ${cut} are sent.`);
  return element("file", { name: attachment.filename ?? "file" }, text, cut);
}

/** The beginning of a text, a little longer than is sent of it if it is too long; undefined for what is no text. */
function textOf(bytes: Uint8Array): string | undefined {
  if (fileKind(bytes).is !== "text") return undefined;
  const most = (longestText + 1) * mostBytes;
  try {
    const utf8 = new TextDecoder("utf-8", { fatal: true });
    const text = utf8.decode(bytes.subarray(0, most), { stream: bytes.length > most });
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}
