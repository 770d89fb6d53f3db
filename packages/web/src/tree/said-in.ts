import type { Block as ItemBlock } from "@deltawire/tasks";
import type { AnswerVersion, UserVersion } from "@deltawire/tasks/chats";
import { parseMarkdown, withCites, type Block, type Inline } from "@deltawire/tasks/markdown";
import { comparedWords } from "../markdown/markdown-words.ts";

/** What is compared of a version. */
export interface Said {
  readonly words: string;
  /** A model writes Markdown, people write what they mean. */
  readonly blocks?: readonly Block[];
}

export function saidIn(version: UserVersion | AnswerVersion): Said {
  if (!("output" in version)) return { words: version.text };
  const blocks = version.output.flatMap((item) =>
    item.type === "message" ? item.block_list.flatMap(readBlock) : [],
  );
  return { words: comparedWords(blocks), blocks };
}

function readBlock(block: ItemBlock): Block[] {
  if (block.type === "text") return parseMarkdown(withCites(block.text, block.annotations ?? []));
  return block.type === "audio" ? asSpoken(block.transcript ?? "") : [];
}

/** Nobody speaks Markdown. */
function asSpoken(transcript: string): Block[] {
  if (transcript.trim() === "") return [];
  const inline = transcript
    .split("\n")
    .flatMap((text, at): Inline[] => [
      ...(at === 0 ? [] : [{ type: "break" as const }]),
      { type: "text", text },
    ]);
  return [{ type: "paragraph", inline }];
}
