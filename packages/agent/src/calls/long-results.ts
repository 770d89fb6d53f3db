import {
  blobPath,
  trimSplitSurrogates,
  type BlobStore,
  type Block,
  type ToolBlock,
  type ToolOutput,
  type ToolPart,
} from "@deltawire/tasks";
import { builtInToolNames } from "../define-tool.ts";
import { truncateSafely, type TruncationGuard } from "../truncate.ts";
import { formatVariableNote, type SavedVariable } from "./save-variables.ts";
import { variableToolNames } from "../variables/variables.ts";

/** Maximum length of one result in a model request, about 8,000 tokens. */
export const maxModelCharacters = 32_000;
/** Maximum length of text and data blocks in the event stream; longer ones become files. */
const maxStreamCharacters = 200_000;

export interface TruncatedOutput {
  output: ToolOutput;
  /**
   * The complete text if anything was truncated for the model. Stored as a URL, because the store finds the blobs in use by
   * their URLs.
   */
  fullText?: { url: string; length: number };
}

/** Returns the hash of the blob with the complete text. Older logs contain the hash instead of the URL. */
export function getBlobHash(fullText: { url: string } | { hash: string }): string {
  return "url" in fullText ? fullText.url.slice(blobPath.length) : fullText.hash;
}

/** Truncates what is too long for the model, with a note on how to read the rest, and stores the complete text. */
export async function truncateOutput(
  output: ToolOutput,
  callId: string,
  blobs: BlobStore,
  {
    variable,
    truncationGuard,
  }: { variable?: SavedVariable | undefined; truncationGuard?: TruncationGuard | undefined } = {},
): Promise<TruncatedOutput> {
  const blocks = await moveLongBlocksToFiles(output.block_list, blobs);
  const fullText = joinOutputText(output);
  const variableNotes: ToolPart[] = variable
    ? [{ type: "text", text: formatVariableNote(variable.name) }]
    : [];
  if (fullText.length <= maxModelCharacters)
    return {
      output: {
        message_content: [...output.message_content, ...variableNotes],
        block_list: blocks,
      },
    };
  const hash = await blobs.put(Buffer.from(fullText, "utf8"), "text/plain; charset=utf-8");
  const end = truncateSafely(fullText, maxModelCharacters, truncationGuard).length;
  let remaining = end;
  const parts = output.message_content.flatMap((part): ToolPart[] => {
    if (part.type !== "text") return [part];
    if (remaining <= 0) return [];
    const text = part.text.slice(0, remaining);
    remaining -= part.text.length + 1;
    return [{ ...part, text }];
  });
  const nextPageCall =
    variable?.isReadable === true
      ? formatReadVariableCall(variable.name, end)
      : formatReadResultCall(callId, end);
  const note = formatTruncationNote(nextPageCall, end, fullText.length);
  return {
    output: {
      message_content: [...parts, { type: "text", text: note }, ...variableNotes],
      block_list: blocks,
    },
    fullText: { url: blobPath + hash, length: fullText.length },
  };
}

/** Returns all text parts of a result as the model receives them. */
export function joinOutputText({ message_content }: ToolOutput): string {
  return message_content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

/** Replaces text and data blocks that exceed the limit of the event stream with files. */
async function moveLongBlocksToFiles(
  blocks: readonly ToolBlock[],
  blobs: BlobStore,
): Promise<ToolBlock[]> {
  const list: ToolBlock[] = [];
  let remaining = maxStreamCharacters;
  for (const block of blocks) {
    const text = getBlockText(block);
    remaining -= text.length;
    if (remaining >= 0 || (block.type !== "text" && block.type !== "data")) {
      list.push(block);
      continue;
    }
    remaining += text.length;
    const [filename, media_type] =
      block.type === "text" ? ["result.txt", "text/plain"] : ["result.json", "application/json"];
    const hash = await blobs.put(Buffer.from(text, "utf8"), `${media_type}; charset=utf-8`);
    const { id, title, url } = block;
    list.push({
      type: "file",
      file_url: { url: blobPath + hash },
      filename,
      media_type,
      ...(id === undefined ? {} : { id }),
      ...(title === undefined ? {} : { title }),
      ...(url === undefined ? {} : { url }),
    });
  }
  return list;
}

/** Returns the blocks to show with an approval request. Long ones are truncated instead of stored as files. */
export function buildExcerpts(blocks: readonly ToolBlock[]): Block[] {
  return blocks.map((block): Block => {
    const { id: _id, title: _title, url: _url, ...rest } = block;
    const text = getBlockText(block);
    if (text.length <= maxModelCharacters) return rest;
    const start = trimSplitSurrogates(text.slice(0, maxModelCharacters));
    return {
      type: "text",
      text: `${start}\n[truncated: ${start.length} of ${text.length} characters]`,
    };
  });
}

function getBlockText(block: ToolBlock): string {
  if (block.type === "text") return block.text;
  return block.type === "data" ? JSON.stringify(block.data) : "";
}

export interface TextPageOptions {
  /** Formats the tool call that reads the next page. */
  formatNextPageCall?: (name: string, offset: number) => string;
  truncationGuard?: TruncationGuard | undefined;
}

/** Returns one page of long text. It starts a little earlier if `offset` is inside a private value. */
export function renderTextPage(
  fullText: string,
  name: string,
  offset: number,
  { formatNextPageCall = formatReadResultCall, truncationGuard }: TextPageOptions = {},
): string {
  if (offset >= fullText.length) return `(end of the text: ${fullText.length} characters)`;
  const start = truncationGuard?.cutBefore(fullText, offset) ?? offset;
  const maxEnd = Math.min(start + maxModelCharacters - 200, fullText.length);
  const page = trimSplitSurrogates(
    fullText.slice(start, truncationGuard?.cutBefore(fullText, maxEnd) ?? maxEnd),
  );
  const end = start + page.length;
  return end >= fullText.length
    ? page
    : `${page}\n${formatTruncationNote(formatNextPageCall(name, end), end, fullText.length)}`;
}

function formatReadResultCall(result: string, offset: number): string {
  return `${builtInToolNames.read} {"result":"${result}","offset":${offset}}`;
}

export function formatReadVariableCall(name: string, offset: number): string {
  return `${variableToolNames.read} {"name":"${name}","offset":${offset}}`;
}

function formatTruncationNote(nextPageCall: string, end: number, length: number): string {
  return `[truncated: ${end} of ${length} characters; continue with ${nextPageCall}]`;
}
