import {
  blobPath,
  wholeCharacters,
  type BlobStore,
  type Block,
  type ToolBlock,
  type ToolOutput,
  type ToolPart,
} from "@deltawire/tasks";
import { ownNames } from "../define-tool.ts";
import { beginningOf, type Cuts } from "../cuts.ts";
import { nameNote, type Named } from "./named-values.ts";
import { variableTools } from "../variables/variables.ts";

/** What of one result a model is told at once: some 8,000 tokens. */
export const longestForModel = 32_000;
/** What of texts and data people get in the stream; the rest is a file. */
const longestForPeople = 200_000;

export interface Shortened {
  output: ToolOutput;
  /** Where the whole is, if anything was cut for the model: an address, by which a store knows what is in use. */
  whole?: { url: string; length: number };
}

/** Logs of before have the hash alone. */
export function hashOf(whole: { url: string } | { hash: string }): string {
  return "url" in whole ? whole.url.slice(blobPath.length) : whole.hash;
}

/** Cuts what is too long for the model, with a note that says how to read on, and keeps the whole. */
export async function shorten(
  output: ToolOutput,
  callId: string,
  blobs: BlobStore,
  { named, cuts }: { named?: Named | undefined; cuts?: Cuts | undefined } = {},
): Promise<Shortened> {
  const blocks = await asFiles(output.block_list, blobs);
  const whole = wholeText(output);
  const nameNotes: ToolPart[] = named ? [{ type: "text", text: nameNote(named.name) }] : [];
  if (whole.length <= longestForModel)
    return {
      output: { message_content: [...output.message_content, ...nameNotes], block_list: blocks },
    };
  const hash = await blobs.put(Buffer.from(whole, "utf8"), "text/plain; charset=utf-8");
  const end = beginningOf(whole, longestForModel, cuts).length;
  let left = end;
  const parts = output.message_content.flatMap((part): ToolPart[] => {
    if (part.type !== "text") return [part];
    if (left <= 0) return [];
    const text = part.text.slice(0, left);
    left -= part.text.length + 1;
    return [{ ...part, text }];
  });
  const readOn =
    named?.readable === true ? readOnInVariable(named.name, end) : readOnInResult(callId, end);
  const note = cutNote(readOn, end, whole.length);
  return {
    output: {
      message_content: [...parts, { type: "text", text: note }, ...nameNotes],
      block_list: blocks,
    },
    whole: { url: blobPath + hash, length: whole.length },
  };
}

/** All that the model is told of a result in words. */
export function wholeText({ message_content }: ToolOutput): string {
  return message_content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

/** What people get in the stream, with texts and data as files where there are too many of them. */
async function asFiles(blocks: readonly ToolBlock[], blobs: BlobStore): Promise<ToolBlock[]> {
  const list: ToolBlock[] = [];
  let left = longestForPeople;
  for (const block of blocks) {
    const text = textOf(block);
    left -= text.length;
    if (left >= 0 || (block.type !== "text" && block.type !== "data")) {
      list.push(block);
      continue;
    }
    left += text.length;
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

/** Blocks for one who decides whether the model may see them: nothing is kept of them, so what is too long is cut. */
export function excerpts(blocks: readonly ToolBlock[]): Block[] {
  return blocks.map((block): Block => {
    const { id: _id, title: _title, url: _url, ...shown } = block;
    const text = textOf(block);
    if (text.length <= longestForModel) return shown;
    const start = wholeCharacters(text.slice(0, longestForModel));
    return { type: "text", text: `${start}\n[cut: ${start.length} of ${text.length} characters]` };
  });
}

function textOf(block: ToolBlock): string {
  if (block.type === "text") return block.text;
  return block.type === "data" ? JSON.stringify(block.data) : "";
}

export interface PageOptions {
  /** Tells how the next page is had. */
  readOn?: (name: string, offset: number) => string;
  cuts?: Cuts | undefined;
}

/** A page of a result that was cut, or of another long text. It begins a little earlier where a private value would be cut. */
export function pageOf(
  whole: string,
  name: string,
  offset: number,
  { readOn = readOnInResult, cuts }: PageOptions = {},
): string {
  if (offset >= whole.length) return `(the end: it has ${whole.length} characters)`;
  const start = cuts?.cutBefore(whole, offset) ?? offset;
  const most = Math.min(start + longestForModel - 200, whole.length);
  const page = wholeCharacters(whole.slice(start, cuts?.cutBefore(whole, most) ?? most));
  const end = start + page.length;
  return end >= whole.length ? page : `${page}\n${cutNote(readOn(name, end), end, whole.length)}`;
}

function readOnInResult(result: string, offset: number): string {
  return `${ownNames.read} {"result":"${result}","offset":${offset}}`;
}

export function readOnInVariable(name: string, offset: number): string {
  return `${variableTools.read} {"name":"${name}","offset":${offset}}`;
}

function cutNote(readOn: string, end: number, length: number): string {
  return `[cut: ${end} of ${length} characters; read on with ${readOn}]`;
}
