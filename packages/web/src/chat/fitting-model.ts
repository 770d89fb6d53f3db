import type { Attachment, ContextSnippet, ModelChoice } from "@deltawire/tasks/chats";
import { fateOf, mayBeCut, missingFor } from "./what-models-take.ts";

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
