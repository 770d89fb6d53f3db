import type { Attachment, ContextSnippet, ModelChoice } from "@deltawire/tasks/chats";
import { bareType } from "@deltawire/tasks";

/** What somebody should know before the message is sent. */
export type ComposerNotice =
  | { readonly is: "left out" | "as text" | "cut"; readonly names: readonly string[] }
  | { readonly is: "needs picture" | "needs sound" };

export interface ToBeSent {
  readonly attachments: readonly Attachment[];
  readonly contexts: readonly ContextSnippet[];
  readonly model: ModelChoice | undefined;
  /** Some may have been made or attached before. */
  readonly mayHavePictures: boolean;
  readonly unnamed: string;
}

export function noticesFor(message: ToBeSent): ComposerNotice[] {
  const { attachments, contexts, model, mayHavePictures, unnamed } = message;
  if (model === undefined) return [];
  const named = attachments.map((each) => ({
    name: each.filename ?? unnamed,
    fate: fateOf(each, model),
    isPdf: each.media_type === "application/pdf",
    mayBeCut: mayBeCut(each),
  }));
  const texts = model.type === "chat" ? [] : contexts.map(({ title }) => title);
  const leftOut = [...named.filter(({ fate }) => fate === "left out").map(nameOf), ...texts];
  // That a text goes as a text is no news.
  const asText = named.filter(({ fate, isPdf }) => fate === "as text" && isPdf).map(nameOf);
  const cut = named
    .filter(({ fate, isPdf, mayBeCut: may }) => fate === "as text" && !isPdf && may)
    .map(nameOf);
  const missing = missingFor(attachments, model, mayHavePictures);
  return [
    ...(missing === undefined ? [] : [{ is: `needs ${missing}` as const }]),
    ...(leftOut.length === 0 ? [] : [{ is: "left out" as const, names: leftOut }]),
    ...(asText.length === 0 ? [] : [{ is: "as text" as const, names: asText }]),
    ...(cut.length === 0 ? [] : [{ is: "cut" as const, names: cut }]),
  ];
}

function nameOf({ name }: { name: string }): string {
  return name;
}

/** What becomes of something that is attached. `unknown`: its bytes decide. */
export type Fate = "taken" | "as text" | "left out" | "unknown";

type Attached = Pick<Attachment, "kind" | "filename" | "media_type" | "size">;

/** As the gateway will treat it for this model: docs/chats.md, "What the model gets". */
export function fateOf(attached: Attached, model: ModelChoice): Fate {
  switch (model.type) {
    case "chat":
      return fateInChat(attached, model);
    case "image-edit":
      return attached.kind === "image" ? "taken" : "left out";
    case "audio-stt":
      return attached.kind === "audio" ? "taken" : "left out";
    case "image-gen":
    case "audio-tts":
      return "left out";
    default:
      return "unknown";
  }
}

function fateInChat(
  { kind, filename = "", media_type, size = 0 }: Attached,
  model: ModelChoice,
): Fate {
  const type = bareType(media_type);
  const fits = size <= largestMedium;
  if (kind === "image" && type !== "image/svg+xml")
    return model.images && fits && pictures.test(type) ? "taken" : "left out";
  if (kind === "audio") return model.audio && fits && sounds.test(type) ? "taken" : "left out";
  if (type === "application/pdf" || /\.pdf$/i.test(filename))
    return model.files && fits ? "taken" : "as text";
  if (readable.test(type)) return "as text";
  return unreadable.test(type) ? "left out" : "unknown";
}

const largestMedium = 25 * 1024 * 1024;
const pictures = /^image\/(?:png|jpeg|gif|webp)$/;
const sounds = /^audio\/(?:mpeg|mp3|wav|wave|x-wav|vnd\.wave)$/;
const readable = /^text\/|[/+](?:json|xml|yaml|javascript|toml|sql|x-sh)$/;
const unreadable =
  /octet-stream|zip|officedocument|msword|ms-excel|ms-powerpoint|x-tar|x-7z|font\//;

/** Whether a model may get no more than the beginning of a text: a byte is a character at most. */
function mayBeCut({ size = 0 }: Attached): boolean {
  return size > longestText;
}

const longestText = 200_000;

/** What a model must have beside the words, and does not get from what is attached. */
function missingFor(
  attached: readonly Attached[],
  model: ModelChoice,
  mayHavePictures: boolean,
): "picture" | "sound" | undefined {
  const has = (kind: Attachment["kind"]) => attached.some((each) => each.kind === kind);
  if (model.type === "image-edit" && !mayHavePictures && !has("image")) return "picture";
  return model.type === "audio-stt" && !has("audio") ? "sound" : undefined;
}
