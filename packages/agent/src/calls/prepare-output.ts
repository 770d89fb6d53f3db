import {
  normalizeToolOutput,
  toWellFormed,
  type BlobStore,
  type ToolOutput,
} from "@deltawire/tasks";
import { extractBlobs } from "../blobs/extract-blobs.ts";
import type { Redact } from "../redaction/redactor.ts";
import { redactToolOutput } from "../redaction/redact-tool-output.ts";

/** Converts the return value of a tool to content parts and blocks. Throws if it is not a valid tool output. */
export async function prepareOutput(output: unknown, blobs: BlobStore): Promise<ToolOutput> {
  const { message_content, block_list } = normalizeToolOutput(await extractBlobs(output, blobs));
  return {
    message_content: message_content.map((part) =>
      part.type === "text" ? { ...part, text: toWellFormed(part.text) } : part,
    ),
    block_list,
  };
}

/**
 * Merges streamed output with the return value, from which secrets are removed here. Without a return value the streamed output is
 * the result. A returned `message_content` replaces the streamed content for the model; blocks and other values are appended.
 */
export async function mergeStreamedOutput(
  streamed: ToolOutput,
  returned: unknown,
  { blobs, redact }: { blobs: BlobStore; redact: Redact },
): Promise<ToolOutput> {
  const { message_content: parts, block_list: blocks } = streamed;
  const prepared = redactToolOutput(await prepareOutput(returned, blobs), redact);
  if (blocks.length === 0) return prepared;
  if (returned === undefined || returned === null || returned === "") return streamed;
  const hasKey = (key: string): boolean => typeof returned === "object" && key in returned;
  const replacesContent = hasKey("message_content");
  return {
    message_content: replacesContent
      ? prepared.message_content
      : [...parts, ...prepared.message_content],
    block_list:
      replacesContent && !hasKey("block_list") ? blocks : [...blocks, ...prepared.block_list],
  };
}
