import type { Block } from "../items.ts";
import type { AnswerVersion, Attachment, UserVersion } from "./chat-types.ts";

/** Returns the text of a version for search, excerpts and titles, without reasoning and tool calls. */
export function getVersionText(version: UserVersion | AnswerVersion): string {
  const texts = "output" in version ? getAnswerTexts(version) : getUserTexts(version);
  return texts.filter((text) => text !== "").join("\n");
}

export function collapseWhitespace(text: string): string {
  return text.trim().replaceAll(/\s+/g, " ");
}

function getUserTexts({ text, attachments }: UserVersion): string[] {
  return [text, ...attachments.map(({ filename }) => filename ?? "")];
}

function getAnswerTexts({ output }: AnswerVersion): string[] {
  return output.flatMap((item) =>
    item.type === "message" ? item.block_list.map(getBlockText) : [],
  );
}

function getBlockText(block: Block): string {
  if (block.type === "text") return block.text;
  return block.type === "audio" ? (block.transcript ?? "") : "";
}

/** Returns the generated images of an answer as attachments. */
export function findImages({ output }: AnswerVersion): Attachment[] {
  return output.flatMap((item) =>
    item.type === "message"
      ? item.block_list.flatMap((block): Attachment[] =>
          block.type === "image" ? [{ kind: "image", url: block.image_url.url }] : [],
        )
      : [],
  );
}
