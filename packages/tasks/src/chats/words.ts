import type { Block } from "../items.ts";
import type { AnswerVersion, Attachment, UserVersion } from "./shapes.ts";

/** What was said in a version, for searching, excerpts and titles: no reasoning, and nothing of its tools. */
export function wordsOf(version: UserVersion | AnswerVersion): string {
  const said = "output" in version ? saidInAnswer(version) : saidByUser(version);
  return said.filter((text) => text !== "").join("\n");
}

export function onOneLine(text: string): string {
  return text.trim().replaceAll(/\s+/g, " ");
}

function saidByUser({ text, attachments }: UserVersion): string[] {
  return [text, ...attachments.map(({ filename }) => filename ?? "")];
}

function saidInAnswer({ output }: AnswerVersion): string[] {
  return output.flatMap((item) => (item.type === "message" ? item.block_list.map(textOf) : []));
}

function textOf(block: Block): string {
  if (block.type === "text") return block.text;
  return block.type === "audio" ? (block.transcript ?? "") : "";
}

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
