import type { Attachment } from "@deltawire/tasks/chats";

/** What an attachment is for a model, whatever its sender calls it. */
export type SentKind = Attachment["kind"] | "pdf";

/** By its media type, without parameters; undefined: that says nothing. */
export function kindOfType(mediaType: string): SentKind | undefined {
  if (mediaType === "image/svg+xml") return "file";
  if (mediaType.startsWith("image/")) return "image";
  if (mediaType.startsWith("audio/")) return "audio";
  return mediaType === "application/pdf" ? "pdf" : undefined;
}

/** For people: that the model gets nothing of it. */
export function leftOut(what: string, why: string): string {
  return `The ${what} was left out: ${why}.`;
}

/** For people who want their private values masked: that here nothing is. */
export function sentAsItIs(what: string, kind: "image" | "audio"): string {
  return `The ${what} is sent as it is: nothing in a ${nouns[kind]} can be masked.`;
}

export function called({ filename }: Attachment, kind: SentKind): string {
  return filename === undefined ? nouns[kind] : `${nouns[kind]} "${filename}"`;
}

const nouns = { image: "picture", audio: "sound", pdf: "file", file: "file" } as const;
