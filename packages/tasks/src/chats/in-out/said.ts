import { unreachable } from "../../error.ts";
import type { Block, InputItem, OutputItem } from "../../items.ts";
import { isItem } from "../../content.ts";
import { publicItem } from "../../view.ts";
import { answerTree } from "../answer-task.ts";
import type { AnswerVersion, Attachment } from "../shapes.ts";

/**
 * An answer's items in their order, with what the user said into it where the model heard it. What a sub-agent did stands in
 * the result of its call.
 */
export function saidIn(version: AnswerVersion): (OutputItem | InputItem)[] {
  const { output, inputs = [] } = version;
  const tree = answerTree(version);
  const root = tree.tasks[tree.root_task_id];
  const said: (OutputItem | InputItem)[] = [];
  for (let index = 0; index <= output.length; index += 1) {
    for (const { item, taken_at = output.length } of inputs)
      if (Math.min(taken_at, output.length) === index) said.push(item);
    const item = output[index];
    if (item !== undefined && item.type !== "retracted" && root !== undefined)
      said.push(publicItem(tree, root, item));
  }
  return said;
}

/** What an agent's result shows, and what its sub-agent did for it. */
export function splitResult(list: readonly (Block | OutputItem)[]): {
  blocks: Block[];
  nested: OutputItem[];
} {
  const blocks: Block[] = [];
  const nested: OutputItem[] = [];
  for (const one of list) {
    if (isItem(one)) nested.push(one);
    else blocks.push(one);
  }
  return { blocks, nested };
}

/** In words; of a sub-agent's items only what it said. */
export function plainText(list: readonly (Block | OutputItem)[]): string {
  return list
    .map((one) => {
      if (isItem(one)) return one.type === "message" ? plainText(one.block_list) : "";
      return blockText(one);
    })
    .filter((text) => text !== "")
    .join("\n");
}

function blockText(block: Block): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
      return `[image${address(block.image_url.url)}]`;
    case "audio":
      return block.transcript ?? `[audio${address(block.audio_url.url)}]`;
    case "file":
      return `[file: ${block.filename ?? "unnamed"}${address(block.file_url.url)}]`;
    case "data":
      return JSON.stringify(block.data, null, 2);
    default:
      return unreachable(block);
  }
}

/** The words of what a user said into an answer; the rest of it stands behind them. */
export function inputParts({ content }: InputItem): { text: string; attachments: Attachment[] } {
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
        unreachable(part);
    }
  }
  return { text: texts.join("\n\n"), attachments };
}

/** A data url would be longer than all that stands around it. */
function address(url: string): string {
  return url.startsWith("data:") ? "" : `: ${url}`;
}

/** Who gave an answer. */
export function answerSpeaker(chain: readonly AnswerVersion[]): string {
  const names = chain.map(
    ({ model, agent, by }) => model ?? agent ?? (by === "user" ? "by hand" : ""),
  );
  const told = [...new Set(names)].filter((name) => name !== "").join(", ");
  return told === "" ? "Assistant" : `Assistant (${told})`;
}

/** How it ended, if not well. */
export function answerFacts({ status, error }: AnswerVersion): string[] {
  const facts: string[] = [];
  if (error !== undefined) facts.push(`Error (${error.phase}, ${error.code}): ${error.message}`);
  else if (status === "error") facts.push("Error");
  if (status === "aborted") facts.push("This answer was stopped.");
  if (status === "timeout") facts.push("This answer took too long and was ended.");
  if (status === "running") facts.push("This answer was still being written.");
  return facts;
}
