import { unreachable } from "./error.ts";
import type { Block, ContentPart, OutputItem } from "./items.ts";
import type { TaskView } from "./state.ts";

/** What the model said, as parts: a message's `content`. */
export function messageContent(blocks: readonly Block[]): ContentPart[] {
  return blocks.map(contentPart);
}

/**
 * A view as it is of a task that was created with `include: ["content"]`: every closed message and result has its
 * `content`, those of sub-agents included. `contentOf` returns what the model received of a result, by item id.
 */
export function withContent(
  view: TaskView,
  contentOf: (itemId: string) => ContentPart[] | undefined,
): TaskView {
  const complete = (item: OutputItem): OutputItem => {
    switch (item.type) {
      case "message":
        if (item.content !== undefined || item.status === "in_progress") return item;
        return { ...item, content: messageContent(item.block_list) };
      case "tool_result": {
        const block_list = item.block_list.map((one) => (isItem(one) ? complete(one) : one));
        const content = item.status === "in_progress" ? undefined : contentOf(item.id);
        return { ...item, block_list, ...(content === undefined ? {} : { content }) };
      }
      default:
        return item;
    }
  };
  return { ...view, output: view.output.map(complete) };
}

/** Whether it is an item of a sub-agent, as they stand among the blocks of a result in a view. */
export function isItem(one: Block | OutputItem): one is OutputItem {
  return (
    one.type === "reasoning" ||
    one.type === "tool_call" ||
    one.type === "tool_result" ||
    one.type === "message"
  );
}

function contentPart(block: Block): ContentPart {
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
      return unreachable(block);
  }
}
