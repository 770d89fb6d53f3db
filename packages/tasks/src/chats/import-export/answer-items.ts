import { assertNever } from "../../error.ts";
import type { Block, InputItem, OutputItem } from "../../items.ts";
import { isOutputItem } from "../../content.ts";
import { toPublicItem } from "../../task-view.ts";
import { toAnswerTree } from "../answer-task.ts";
import type { AnswerVersion, Attachment } from "../chat-types.ts";

/**
 * Lists the items of an answer in order, with the user's inputs at the positions where the model received them. The items of a
 * sub-agent are in the result of its call.
 */
export function listAnswerItems(version: AnswerVersion): (OutputItem | InputItem)[] {
  const { output, inputs = [] } = version;
  const tree = toAnswerTree(version);
  const root = tree.tasks[tree.root_task_id];
  const items: (OutputItem | InputItem)[] = [];
  for (let index = 0; index <= output.length; index += 1) {
    for (const { item, taken_at = output.length } of inputs)
      if (Math.min(taken_at, output.length) === index) items.push(item);
    const item = output[index];
    if (item !== undefined && item.type !== "retracted" && root !== undefined)
      items.push(toPublicItem(tree, root, item));
  }
  return items;
}

/** Separates the blocks of an agent's result from the items of the sub-agent that produced it. */
export function splitResult(list: readonly (Block | OutputItem)[]): {
  blocks: Block[];
  nested: OutputItem[];
} {
  const blocks: Block[] = [];
  const nested: OutputItem[] = [];
  for (const entry of list) {
    if (isOutputItem(entry)) nested.push(entry);
    else blocks.push(entry);
  }
  return { blocks, nested };
}

/** Formats blocks as text. Of the items of a sub-agent, only messages are included. */
export function blocksToText(list: readonly (Block | OutputItem)[]): string {
  return list
    .map((entry) => {
      if (isOutputItem(entry))
        return entry.type === "message" ? blocksToText(entry.block_list) : "";
      return blockToText(entry);
    })
    .filter((text) => text !== "")
    .join("\n");
}

function blockToText(block: Block): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
      return `[image${formatUrlSuffix(block.image_url.url)}]`;
    case "audio":
      return block.transcript ?? `[audio${formatUrlSuffix(block.audio_url.url)}]`;
    case "file":
      return `[file: ${block.filename ?? "unnamed"}${formatUrlSuffix(block.file_url.url)}]`;
    case "data":
      return JSON.stringify(block.data, null, 2);
    default:
      return assertNever(block);
  }
}

/** Separates the text of a user input from its attachments. */
export function splitInput({ content }: InputItem): { text: string; attachments: Attachment[] } {
  const texts: string[] = [];
  const attachments: Attachment[] = [];
  for (const part of content) {
    switch (part.type) {
      case "text":
        texts.push(part.text);
        break;
      case "image_url":
        attachments.push({ kind: "image", url: part.image_url.url });
        break;
      case "audio_url":
        attachments.push({ kind: "audio", url: part.audio_url.url });
        break;
      case "file_url":
        attachments.push({
          kind: "file",
          url: part.file_url.url,
          ...(part.filename === undefined ? {} : { filename: part.filename }),
          ...(part.media_type === undefined ? {} : { media_type: part.media_type }),
        });
        break;
      default:
        assertNever(part);
    }
  }
  return { text: texts.join("\n\n"), attachments };
}

/** Returns "" for data URLs, which would be longer than the surrounding text. */
function formatUrlSuffix(url: string): string {
  return url.startsWith("data:") ? "" : `: ${url}`;
}

/** Formats the heading of an answer, for example `Assistant (gpt-5)`. */
export function formatAnswerAuthor(chain: readonly AnswerVersion[]): string {
  const names = chain.map(
    ({ model, agent, by }) => model ?? agent ?? (by === "user" ? "by hand" : ""),
  );
  const authors = [...new Set(names)].filter((name) => name !== "").join(", ");
  return authors === "" ? "Assistant" : `Assistant (${authors})`;
}

/** Describes how an answer ended, if it did not complete. */
export function describeEnding({ status, error }: AnswerVersion): string[] {
  const facts: string[] = [];
  if (error !== undefined) facts.push(`Error (${error.phase}, ${error.code}): ${error.message}`);
  else if (status === "error") facts.push("Error");
  if (status === "aborted") facts.push("This answer was stopped.");
  if (status === "timeout") facts.push("This answer reached its time limit.");
  if (status === "running") facts.push("This answer was still running.");
  return facts;
}
