import {
  blobPath,
  toWellFormed,
  type AudioBlock,
  type BlobStore,
  type ImageBlock,
  type MessageWriter,
  type TaskWriter,
} from "@deltawire/tasks";
import { messageOf } from "../event-text.ts";
import { ModelError } from "../model.ts";

/** A picture or a sound that is being made: a message of its own, whose place is taken when it is first heard of. */
interface Medium {
  readonly writer: MessageWriter;
  /** The last picture of how far it has come, if there was one. */
  shown: ImageBlock | undefined;
}

/** What is to be told of a medium as soon as the store has its bytes. */
type Waiting = { id: string; medium: Medium } & (
  | { is: "partial"; base64: string; mediaType: string }
  | { is: "image"; base64: string; mediaType: string }
  | { is: "audio"; base64: string; mediaType: string; transcript: string | undefined }
  /** Nothing more comes of it. */
  | { is: "cut" }
);

/**
 * The pictures and sounds of a round. What a model says is written as it comes, but bytes are in the store before anybody
 * is told of them: so they wait here, in their order, until `tell`.
 */
export class RoundMedia {
  readonly #task: TaskWriter;
  readonly #open = new Map<string, Medium>();
  #waiting: Waiting[] = [];

  constructor(task: TaskWriter) {
    this.#task = task;
  }

  get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  partial(id: string, base64: string, mediaType: string): void {
    this.#waiting.push({ is: "partial", id, medium: this.#medium(id), base64, mediaType });
  }

  image(id: string, base64: string, mediaType: string): void {
    this.#waiting.push({ is: "image", id, medium: this.#medium(id), base64, mediaType });
  }

  audio(id: string, base64: string, mediaType: string, transcript: string | undefined): void {
    const medium = this.#medium(id);
    this.#waiting.push({ is: "audio", id, medium, base64, mediaType, transcript });
  }

  /** The model has ended with it, or with all: what has begun and is not whole stays as it is. */
  cut(id?: string): void {
    for (const [open, medium] of this.#open)
      if (id === undefined || open === id) this.#waiting.push({ is: "cut", id: open, medium });
  }

  /** Tells what waits. Once `signal` is aborted nothing more is said. */
  async tell(blobs: BlobStore, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      // A medium that is whole has been told: what else is said of it is not.
      if (this.#open.get(next.id) !== next.medium) continue;
      if (next.is === "cut") {
        this.#leave(next.id, next.medium);
        continue;
      }
      const url = await stored(next.base64, next.mediaType, blobs);
      if (signal.aborted) return;
      this.#told(next, url);
    }
  }

  /** The round has come to a sudden end: what is open stays as it is, and what waits is not told. */
  close(): void {
    this.#waiting = [];
    for (const [id, medium] of this.#open) this.#leave(id, medium);
  }

  #medium(id: string): Medium {
    const medium = this.#open.get(id) ?? { writer: this.#task.message(), shown: undefined };
    this.#open.set(id, medium);
    return medium;
  }

  #told(next: Exclude<Waiting, { is: "cut" }>, url: string): void {
    const { id, medium } = next;
    const image: ImageBlock = { type: "image", image_url: { url } };
    if (next.is === "partial") {
      medium.shown = image;
      return medium.writer.partialImage(image);
    }
    medium.writer.block(next.is === "audio" ? audioBlock(url, next.transcript) : image);
    medium.writer.done();
    this.#open.delete(id);
  }

  /** What was shown last is what there is; of one that was never seen nothing stays. */
  #leave(id: string, { writer, shown }: Medium): void {
    this.#open.delete(id);
    if (shown === undefined) return this.#task.retract(writer.itemId, "incomplete");
    writer.block(shown);
    writer.done({ status: "incomplete" });
  }
}

async function stored(base64: string, mediaType: string, blobs: BlobStore): Promise<string> {
  try {
    return blobPath + (await blobs.put(Buffer.from(base64, "base64"), mediaType));
  } catch (error) {
    const message = `what the model made could not be kept: ${messageOf(error)}`;
    throw new ModelError("media_not_kept", message, { cause: error });
  }
}

function audioBlock(url: string, transcript: string | undefined): AudioBlock {
  const said = transcript === undefined ? {} : { transcript: toWellFormed(transcript) };
  return { type: "audio", audio_url: { url }, ...said };
}
