import { assertNever } from "./error.ts";
import type { Block, ContentPart, OutputItem } from "./items.ts";
import type { TaskView } from "./state.ts";

/** Converts the blocks of a message to its `content`. */
export function toMessageContent(blocks: readonly Block[]): ContentPart[] {
  return blocks.map(toContentPart);
}

/**
 * Returns the view of a task as if it had been created with `include: ["content"]`: every closed message and result,
 * including those of sub-agents, has its `content`. `getContent` returns the parts that the model received for a result, by item
 * id.
 */
export function withContent(
  view: TaskView,
  getContent: (itemId: string) => ContentPart[] | undefined,
): TaskView {
  const addContent = (item: OutputItem): OutputItem => {
    switch (item.type) {
      case "message":
        if (item.content !== undefined || item.status === "in_progress") return item;
        return { ...item, content: toMessageContent(item.block_list) };
      case "tool_result": {
        const block_list = item.block_list.map((block) =>
          isOutputItem(block) ? addContent(block) : block,
        );
        const content = item.status === "in_progress" ? undefined : getContent(item.id);
        return { ...item, block_list, ...(content === undefined ? {} : { content }) };
      }
      default:
        return item;
    }
  };
  return { ...view, output: view.output.map(addContent) };
}

/** True for an item of a sub-agent; in a view, these are among the blocks of a result. */
export function isOutputItem(value: Block | OutputItem): value is OutputItem {
  return (
    value.type === "reasoning" ||
    value.type === "tool_call" ||
    value.type === "tool_result" ||
    value.type === "message"
  );
}

function toContentPart(block: Block): ContentPart {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text };
    case "image":
      return { type: "image_url", image_url: block.image_url };
    case "audio":
      return { type: "audio_url", audio_url: block.audio_url };
    case "file": {
      const { filename, media_type } = block;
      return {
        type: "file_url",
        file_url: block.file_url,
        ...(filename === undefined ? {} : { filename }),
        ...(media_type === undefined ? {} : { media_type }),
      };
    }
    case "data":
      return { type: "text", text: JSON.stringify(block.data) };
    default:
      return assertNever(block);
  }
}
