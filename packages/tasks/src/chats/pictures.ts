import type { AnswerVersion, Attachment } from "./shapes.ts";

/** The pictures that were made for an answer, as if somebody had attached them. */
export function picturesIn({ output }: AnswerVersion): Attachment[] {
  return output.flatMap((item) =>
    item.type === "message"
      ? item.block_list.flatMap((block): Attachment[] =>
          block.type === "image" ? [{ kind: "image", url: block.image_url.url }] : [],
        )
      : [],
  );
}
