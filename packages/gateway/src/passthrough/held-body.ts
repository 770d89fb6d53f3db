import { createReadStream } from "node:fs";
import { mkdtemp, open, rm, type FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MultipartField, type FoundField } from "./multipart-field.ts";

/** A file that comes before the model's name has to wait somewhere; beyond this, on disk. */
const mostInMemory = 1024 * 1024;

/** The beginning of a multipart body, read until the model's name is known. */
export class HeldBody {
  readonly #source: AsyncIterator<Buffer>;
  readonly #field: MultipartField;
  readonly #inMemory: Buffer[] = [];
  #size = 0;
  #folder: string | undefined;
  #file: FileHandle | undefined;

  constructor(source: AsyncIterable<Buffer>, boundary: string) {
    this.#source = source[Symbol.asyncIterator]();
    this.#field = new MultipartField(boundary, "model");
  }

  /** Reads until the field `model` has passed; undefined if the body has none. */
  async findModel(): Promise<FoundField | undefined> {
    while (this.#field.found === undefined) {
      const { value, done } = await this.#source.next();
      if (done === true) break;
      this.#field.push(value);
      await this.#keep(value);
    }
    return this.#field.found;
  }

  /** The whole body, with another model's name in the place of the one that was found. */
  async *withModel(model: string | undefined): AsyncGenerator<Buffer> {
    const { found } = this.#field;
    let offset = 0;
    for await (const piece of this.#held()) {
      if (found === undefined || model === undefined) yield piece;
      else yield* replaced(piece, offset, found, model);
      offset += piece.length;
    }
    for (;;) {
      const { value, done } = await this.#source.next();
      if (done === true) return;
      yield value;
    }
  }

  async release(): Promise<void> {
    // Not waited for: what is still to come may never come.
    this.#source.return?.().catch(() => undefined);
    await this.#file?.close();
    if (this.#folder !== undefined) await rm(this.#folder, { recursive: true, force: true });
  }

  async #keep(bytes: Buffer): Promise<void> {
    this.#size += bytes.length;
    if (this.#file === undefined && this.#size <= mostInMemory) {
      this.#inMemory.push(bytes);
      return;
    }
    this.#file ??= await this.#openFile();
    await this.#file.appendFile(bytes);
  }

  async #openFile(): Promise<FileHandle> {
    this.#folder = await mkdtemp(join(tmpdir(), "deltawire-"));
    return open(join(this.#folder, "body"), "wx", 0o600);
  }

  async *#held(): AsyncGenerator<Buffer> {
    yield* this.#inMemory;
    if (this.#folder === undefined) return;
    yield* createReadStream(join(this.#folder, "body")) as AsyncIterable<Buffer>;
  }
}

function* replaced(
  piece: Buffer,
  offset: number,
  { start, end }: FoundField,
  model: string,
): Generator<Buffer> {
  const from = Math.max(0, Math.min(piece.length, start - offset));
  const to = Math.max(0, Math.min(piece.length, end - offset));
  if (from > 0) yield piece.subarray(0, from);
  // The name goes out where the old one begins; the first byte of the value is in exactly one piece.
  if (start >= offset && start < offset + piece.length) yield Buffer.from(model);
  if (to < piece.length) yield piece.subarray(to);
}
