import {
  normalizeToolOutput,
  toWellFormed,
  type BlobStore,
  type ToolOutput,
} from "@deltawire/tasks";
import { withBlobs } from "../log/blobs.ts";
import type { Redact } from "../redaction/redactor.ts";
import { redactedOutput } from "../redaction/tool-output.ts";

/** Whatever a tool returned, as parts and blocks; throws where it can be neither. */
export async function readable(output: unknown, blobs: BlobStore): Promise<ToolOutput> {
  const { message_content, block_list } = normalizeToolOutput(await withBlobs(output, blobs));
  return {
    message_content: message_content.map((part) =>
      part.type === "text" ? { ...part, text: toWellFormed(part.text) } : part,
    ),
    block_list,
  };
}

/**
 * What a tool has streamed with what it returned, of which secrets are removed here. Nothing returned: what was streamed is all. `message_content` replaces
 * what the model receives of the stream; blocks and any other value are added to it.
 */
export async function withStreamed(
  streamed: ToolOutput,
  returned: unknown,
  { blobs, redact }: { blobs: BlobStore; redact: Redact },
): Promise<ToolOutput> {
  const { message_content: parts, block_list: blocks } = streamed;
  const read = redactedOutput(await readable(returned, blobs), redact);
  if (blocks.length === 0) return read;
  if (returned === undefined || returned === null || returned === "") return streamed;
  const has = (key: string): boolean => typeof returned === "object" && key in returned;
  const isOwn = has("message_content");
  return {
    message_content: isOwn ? read.message_content : [...parts, ...read.message_content],
    block_list: isOwn && !has("block_list") ? blocks : [...blocks, ...read.block_list],
  };
}
