import type { DraftState } from "../state/page.ts";
import type { Upload } from "./uploads.ts";

/** Why what is written cannot be sent now. */
export type Obstacle = "deleted" | "sending" | "uploading" | "failed upload" | "empty" | "no model";

export interface Writing {
  readonly draft: Pick<DraftState, "text" | "attachments" | "contexts">;
  readonly uploads: readonly Pick<Upload, "state">[];
  readonly isDeleted: boolean;
  readonly isSending: boolean;
  /** False: nothing is chosen to answer, as far as that is known. */
  readonly hasAnswerer: boolean;
}

export function obstacleTo({
  draft,
  uploads,
  isDeleted,
  isSending,
  hasAnswerer,
}: Writing): Obstacle | undefined {
  if (isDeleted) return "deleted";
  if (isSending) return "sending";
  if (uploads.some(({ state }) => state === "sending")) return "uploading";
  if (uploads.length > 0) return "failed upload";
  const hasSomething =
    draft.text.trim() !== "" ||
    draft.attachments.length > 0 ||
    draft.contexts.some(({ text }) => text.trim() !== "");
  if (!hasSomething) return "empty";
  return hasAnswerer ? undefined : "no model";
}
