import type { Attachment } from "@deltawire/tasks/chats";

/** The kind under which an attachment is sent to a model; may differ from the kind that the client declared. */
export type ModelAttachmentKind = Attachment["kind"] | "pdf";

/** Expects a media type without parameters. Returns undefined if the type does not determine the kind. */
export function kindFromMediaType(mediaType: string): ModelAttachmentKind | undefined {
  if (mediaType === "image/svg+xml") return "file";
  if (mediaType.startsWith("image/")) return "image";
  if (mediaType.startsWith("audio/")) return "audio";
  return mediaType === "application/pdf" ? "pdf" : undefined;
}

/** Returns the notice for an attachment that the model does not receive. */
export function formatOmittedNotice(subject: string, reason: string): string {
  return `The ${subject} was not sent: ${reason}.`;
}

/** Returns the notice for an attachment that is sent unmasked although private values are masked. */
export function formatUnmaskedNotice(subject: string, kind: "image" | "audio"): string {
  return `The ${subject} is sent unmasked: ${pluralNouns[kind]} cannot be masked.`;
}

export function describeAttachment({ filename }: Attachment, kind: ModelAttachmentKind): string {
  return filename === undefined ? kindNouns[kind] : `${kindNouns[kind]} "${filename}"`;
}

const kindNouns = { image: "image", audio: "audio file", pdf: "file", file: "file" } as const;
const pluralNouns = { image: "images", audio: "audio files" } as const;
