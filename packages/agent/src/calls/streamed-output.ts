import {
  blobPath,
  PairJoiner,
  wholeCharacters,
  type BlobStore,
  type Block,
  type Grouped,
  type ToolBlock,
  type ToolOutput,
  type ToolPart,
  type ToolResultWriter,
} from "@deltawire/tasks";
import { messageOf } from "../event-text.ts";
import type { Redact } from "../redaction/redactor.ts";
import { redactedOutput } from "../redaction/tool-output.ts";
import type { FileAbout, ImageStream, Media, StreamedBlock, ToolStream } from "../tool.ts";
import { unreachable } from "../unreachable.ts";
import { readable } from "./readable.ts";

export interface StreamedOutputOptions {
  blobs: BlobStore;
  /** Where blocks are shown while the tool runs. Undefined: they are only collected. */
  result?: ToolResultWriter | undefined;
  redact?: Redact;
  /** Where a secret may begin that continues behind the end of a text. Undefined: it may begin anywhere. */
  secretStart?: ((text: string) => number) | undefined;
}

/** What a tool has streamed. The first `written` of its blocks are in the log already. */
export interface Streamed {
  output: ToolOutput;
  written: number;
  /** Why some of it could not be stored. */
  failure?: Error;
}

/** Text is shown at once, and then so often: each delta is stored and sent to every reader. */
const intervalMs = 50;
/** What is shown of texts and data while a tool runs; the rest follows as a file. */
const maxShown = 180_000;
const maxCharacters = 10_000_000;
const maxBlocks = 1_000;
/** Of one image; further ones are left out, as the complete one replaces them all. */
const maxPartials = 100;
const maxBytes = 128 * 1024 * 1024;

type MediumKind = "image" | "audio" | "file";

interface OpenText {
  readonly group: Grouped;
  readonly pairs: PairJoiner;
  /** Not redacted yet. */
  pending: string;
  /** Redacted: for the model. */
  complete: string;
  /** The beginning of it, for people. */
  shown: string;
}

/** A medium that was announced. `latest` is the last partial image. */
interface OpenMedium {
  readonly kind: MediumKind;
  readonly about: FileAbout;
  latest: ToolBlock | undefined;
}

/**
 * The blocks that a tool adds to its result while it runs. Calls of the tool take effect in their order, though media have to
 * be stored first. Text is joined for a few milliseconds, so that a tool that writes character by character does not cost
 * an event for each; nothing is serialized twice.
 */
export class StreamedOutput implements ToolStream {
  readonly #options: StreamedOutputOptions;
  readonly #blocks: ToolBlock[] = [];
  readonly #parts: ToolPart[] = [];
  #text: OpenText | undefined;
  /** Of the text that the tool's last call has added to: `#text` follows when the calls before are done. */
  #textGroup: Grouped | undefined;
  #medium: OpenMedium | undefined;
  #shownLeft: number;
  #characters = 0;
  #bytes = 0;
  #added = 0;
  #queue: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #lastShown = -Infinity;
  #hasEnded = false;
  #isStopped = false;
  #failure: Error | undefined;

  constructor(options: StreamedOutputOptions) {
    this.#options = options;
    this.#shownLeft = options.result === undefined ? Infinity : maxShown;
  }

  text(delta: string, group: Grouped = {}): void {
    if (typeof delta !== "string") throw new TypeError("stream.text needs a string");
    if (this.#hasEnded || delta === "") return;
    this.#mustBeFree();
    const isNew = this.#textGroup === undefined || this.#textGroup.id !== group.id;
    this.#count({ characters: delta.length, blocks: isNew ? 1 : 0 });
    this.#textGroup = group;
    this.#run(() => this.#grow(delta, group));
  }

  block(block: StreamedBlock): void {
    if (this.#hasEnded) return;
    this.#mustBeFree();
    this.#textGroup = undefined;
    switch (block.type) {
      case "text": {
        const { text, id, title, url } = block;
        if (typeof text !== "string") throw new TypeError("a text block needs a string text");
        this.#count({ characters: text.length, blocks: 1 });
        this.#run(async () => {
          await this.#closeText();
          await this.#grow(text, groupOf({ id, title, url }));
          await this.#closeText();
        });
        return;
      }
      case "data":
        this.#count({ blocks: 1 });
        break;
      case "image":
      case "audio":
      case "file":
        this.#count({ ...sizeOf(block, block.type), blocks: 1 });
        break;
      default: {
        const { type } = block as { type?: unknown };
        throw new TypeError(
          `a block of type ${JSON.stringify(type)}: the type must be text, image, audio, file or data`,
        );
      }
    }
    this.#run(async () => {
      await this.#closeText();
      await this.#add(await this.#read(block));
    });
  }

  image(group: Grouped = {}): ImageStream {
    const medium = this.#open("image", group);
    let waiting: Media<"image"> | undefined;
    let partials = 0;
    return {
      partial: (image) => {
        if (!this.#isOpen(medium) || partials >= maxPartials) return;
        this.#count(sizeOf(image, "image"));
        const isQueued = waiting !== undefined;
        waiting = image;
        if (isQueued) return;
        partials += 1;
        this.#run(async () => {
          const latest = waiting;
          waiting = undefined;
          if (latest === undefined) return;
          const made = await this.#read({ type: "image", ...latest, ...group });
          medium.latest = made.block;
          const shown = bare(made.block);
          if (shown.type === "image") this.#result?.partialImage(shown);
        });
      },
      done: (image) => this.#complete(medium, { type: "image", ...image, ...group }),
    };
  }

  audio(group: Grouped & { transcript?: string } = {}) {
    const medium = this.#open("audio", group);
    return {
      done: (audio: Media<"audio">) =>
        this.#complete(medium, { type: "audio" as const, ...audio, ...group }),
    };
  }

  file(about: FileAbout = {}) {
    const medium = this.#open("file", about);
    return {
      done: (file: Media<"file">) =>
        this.#complete(medium, { type: "file" as const, ...file, ...about }),
    };
  }

  /** Closes what is open. Whatever the tool adds later is ignored. */
  async end(): Promise<Streamed> {
    this.#hasEnded = true;
    const { result } = this.#options;
    this.#run(async () => {
      await this.#closeText();
      const medium = this.#medium;
      if (medium === undefined) return;
      result?.closeBlock();
      if (medium.latest !== undefined) this.#keep(medium.latest, partOf(medium.latest));
      else if (result !== undefined) this.#blocks.push(emptyMedium(medium));
    });
    while (this.#queue !== undefined) await this.#queue;
    this.stop();
    const output = { message_content: this.#parts, block_list: this.#blocks };
    return {
      output,
      written: result === undefined ? 0 : this.#blocks.length,
      ...(this.#failure === undefined ? {} : { failure: this.#failure }),
    };
  }

  /** Nothing more is written, not even what waits to be stored. */
  stop(): void {
    this.#hasEnded = true;
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  get #result(): ToolResultWriter | undefined {
    return this.#isStopped ? undefined : this.#options.result;
  }

  /** In the order of the calls; at once where nothing has to be waited for. After a failure nothing more is done. */
  #run(step: () => void | Promise<void>): void {
    const work = async (): Promise<void> => {
      if (this.#failure !== undefined) return;
      try {
        await step();
      } catch (error) {
        this.#failure = asError(error);
      }
    };
    if (this.#queue === undefined && this.#failure === undefined) {
      try {
        const rest = step();
        if (rest === undefined) return;
        this.#wait(
          rest.catch((error: unknown) => {
            this.#failure = asError(error);
          }),
        );
      } catch (error) {
        this.#failure = asError(error);
      }
    } else if (this.#queue !== undefined) this.#wait(this.#queue.then(work));
  }

  #wait(work: Promise<void>): void {
    const queue = work.finally(() => {
      if (this.#queue === queue) this.#queue = undefined;
    });
    this.#queue = queue;
  }

  #grow(delta: string, group: Grouped): void | Promise<void> {
    if (this.#text !== undefined && this.#text.group.id !== group.id) {
      const closed = this.#closeText();
      if (closed !== undefined) return closed.then(() => this.#grow(delta, group));
    }
    this.#text ??= { group, pairs: new PairJoiner(), pending: "", complete: "", shown: "" };
    this.#text.pending += this.#text.pairs.push(delta);
    if (this.#result === undefined || this.#timer !== undefined) return;
    const wait = this.#lastShown + intervalMs - performance.now();
    if (wait <= 0) this.#show();
    else
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
        this.#run(() => this.#show());
      }, wait);
  }

  /** Shows what has come of the open text, up to where a secret may have begun. */
  #show(): void {
    const text = this.#text;
    if (text === undefined) return;
    const { secretStart, redact } = this.#options;
    const end = redact === undefined ? text.pending.length : (secretStart?.(text.pending) ?? 0);
    this.#pass(text, end);
    this.#lastShown = performance.now();
  }

  #pass(text: OpenText, end: number): void {
    const { redact } = this.#options;
    const result = this.#result;
    const ready = text.pending.slice(0, end);
    if (ready === "") return;
    text.pending = text.pending.slice(end);
    const clean = redact?.(ready) ?? ready;
    text.complete += clean;
    const shown =
      clean.length <= this.#shownLeft ? clean : wholeCharacters(clean.slice(0, this.#shownLeft));
    this.#shownLeft -= clean.length <= this.#shownLeft ? clean.length : this.#shownLeft;
    if (shown === "") return;
    text.shown += shown;
    result?.textDelta(shown);
  }

  /** Undefined where nothing has to be waited for. */
  #closeText(): Promise<void> | undefined {
    const text = this.#text;
    if (text === undefined) return undefined;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    text.pending += text.pairs.end();
    this.#pass(text, text.pending.length);
    this.#text = undefined;
    if (text.complete === "") return undefined;
    const result = this.#result;
    const isCut = text.shown.length < text.complete.length;
    if (isCut) {
      const note = `${text.shown === "" ? "" : "\n"}[cut: ${text.shown.length} of ${text.complete.length} characters; the complete text follows as a file]`;
      text.shown += note;
      result?.textDelta(note);
    }
    result?.closeBlock();
    this.#blocks.push({ type: "text", text: text.shown, ...text.group });
    this.#parts.push({ type: "text", text: text.complete, ...text.group });
    return isCut ? this.#addFile(text.complete, "result.txt", "text/plain", text.group) : undefined;
  }

  #add({ block, part }: ReadBlock): void | Promise<void> {
    if (block.type === "data") {
      const json = JSON.stringify(block.data);
      if (json.length > this.#shownLeft) {
        this.#parts.push(part);
        const { id, title, url } = block;
        return this.#addFile(json, "result.json", "application/json", groupOf({ id, title, url }));
      }
      this.#shownLeft -= json.length;
    }
    this.#result?.block(bare(block));
    this.#keep(block, part);
  }

  async #addFile(text: string, filename: string, type: string, group: Grouped): Promise<void> {
    const { blobs } = this.#options;
    const hash = await blobs.put(Buffer.from(text, "utf8"), `${type}; charset=utf-8`);
    const url = blobPath + hash;
    const file: ToolBlock = {
      type: "file",
      file_url: { url },
      filename,
      media_type: type,
      ...group,
    };
    this.#result?.block(bare(file));
    this.#blocks.push(file);
  }

  #keep(block: ToolBlock, part: ToolPart): void {
    this.#blocks.push(block);
    this.#parts.push(part);
  }

  /** With its bytes stored and without secrets. */
  async #read(block: StreamedBlock): Promise<ReadBlock> {
    const { blobs, redact } = this.#options;
    const read = await readable({ block_list: [block] }, blobs);
    const { block_list, message_content } =
      redact === undefined ? read : redactedOutput(read, redact);
    const [made] = block_list;
    const [part] = message_content;
    if (made === undefined || part === undefined) throw new TypeError("the block cannot be read");
    return { block: made, part };
  }

  #open(kind: MediumKind, about: FileAbout & { transcript?: string }): OpenMedium {
    const medium: OpenMedium = { kind, about, latest: undefined };
    if (this.#hasEnded) return medium;
    this.#mustBeFree();
    this.#count({ blocks: 1 });
    this.#textGroup = undefined;
    this.#medium = medium;
    this.#run(async () => {
      await this.#closeText();
      const result = this.#result;
      const empty = bare(emptyMedium(medium));
      if (empty.type === "image") result?.openImage({});
      else if (empty.type === "audio" || empty.type === "file") result?.openMedium(empty);
    });
    return medium;
  }

  #complete(medium: OpenMedium, block: StreamedBlock & { type: MediumKind }): void {
    if (!this.#isOpen(medium)) return;
    this.#count(sizeOf(block, block.type));
    this.#medium = undefined;
    this.#run(async () => this.#add(await this.#read(block)));
  }

  #isOpen(medium: OpenMedium): boolean {
    if (this.#hasEnded) return false;
    if (this.#medium !== medium) throw new Error(`this ${medium.kind} is complete already`);
    return true;
  }

  #mustBeFree(): void {
    if (this.#medium !== undefined)
      throw new Error(
        `complete the ${this.#medium.kind} with its done() before you add another block`,
      );
  }

  #count({ characters = 0, bytes = 0, blocks = 0 }): void {
    this.#characters += characters;
    this.#bytes += bytes;
    this.#added += blocks;
    if (this.#characters > maxCharacters)
      throw new RangeError(`a tool may stream at most ${maxCharacters} characters`);
    if (this.#bytes > maxBytes)
      throw new RangeError(`a tool may stream at most ${maxBytes} bytes of media`);
    if (this.#added > maxBlocks)
      throw new RangeError(`a tool may stream at most ${maxBlocks} blocks`);
  }
}

interface ReadBlock {
  block: ToolBlock;
  part: ToolPart;
}

function sizeOf(media: object, kind: MediumKind): { bytes: number } {
  const { bytes, [`${kind}_url`]: address } = media as Record<string, unknown>;
  if (bytes instanceof Uint8Array) return { bytes: bytes.length };
  const url = (address as { url?: unknown } | undefined)?.url;
  if (typeof url !== "string")
    throw new TypeError(`this ${kind} needs bytes with a media_type, or ${kind}_url: { url }`);
  return { bytes: url.length };
}

function groupOf({
  id,
  title,
  url,
}: { [Key in keyof Grouped]: Grouped[Key] | undefined }): Grouped {
  return {
    ...(id === undefined ? {} : { id }),
    ...(title === undefined ? {} : { title }),
    ...(url === undefined ? {} : { url }),
  };
}

function emptyMedium({ kind, about }: OpenMedium): ToolBlock {
  const url = { url: "" };
  switch (kind) {
    case "image":
      return { type: "image", image_url: url };
    case "audio":
      return { type: "audio", audio_url: url };
    case "file": {
      const { filename, media_type } = about;
      return {
        type: "file",
        file_url: url,
        ...(filename === undefined ? {} : { filename }),
        ...(media_type === undefined ? {} : { media_type }),
      };
    }
    default:
      return unreachable(kind);
  }
}

/** As people see it: its number is given when the result is complete. */
function bare(block: ToolBlock): Block {
  const { id: _id, title: _title, url: _url, ...shown } = block;
  return shown;
}

/** Of an image that the tool did not complete. */
function partOf(block: ToolBlock): ToolPart {
  if (block.type === "image") return { ...block, type: "image_url" };
  return { type: "text", text: "" };
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(messageOf(error));
}
