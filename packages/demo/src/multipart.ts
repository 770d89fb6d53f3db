import { crc32 } from "node:zlib";

/** A file of an upload: how large it is, and not all that is in it. */
export interface UploadedFile {
  field: string;
  filename: string;
  size: number;
  checksum: number;
  beginning: Buffer;
}

const longestBeginning = 64 * 1024;
const longestHead = 8 * 1024;
const longestField = 1024;

type State =
  | { reading: "preamble" }
  | { reading: "head"; text: string }
  | { reading: "file"; file: UploadedFile }
  | { reading: "field"; name: string; text: string }
  | { reading: "nothing" };

/**
 * Reads `multipart/form-data` as it comes. Of a file its size and its beginning are kept, of a field its beginning, and of the bytes
 * no more than may be half a boundary.
 */
export class Multipart {
  readonly files: UploadedFile[] = [];
  readonly fields = new Map<string, string>();
  readonly #boundary: Buffer;
  #state: State = { reading: "preamble" };
  #held: Buffer = Buffer.from("\r\n");

  constructor(boundary: string) {
    this.#boundary = Buffer.from(`\r\n--${boundary}`);
  }

  push(bytes: Uint8Array): void {
    if (this.#state.reading === "nothing") return;
    let rest = Buffer.concat([this.#held, bytes]);
    for (;;) {
      if (this.#state.reading === "head") {
        const end = rest.indexOf("\r\n\r\n");
        if (end === -1 && rest.length > longestHead) return this.#stop();
        if (end === -1) break;
        this.#state = this.#part(rest.subarray(0, end).toString());
        // The blank line may be the beginning of the next boundary, if the part is empty.
        rest = rest.subarray(end + 2);
        if (!rest.subarray(0, this.#boundary.length).equals(this.#boundary))
          rest = rest.subarray(2);
        continue;
      }
      const at = rest.indexOf(this.#boundary);
      if (at === -1) {
        const sure = Math.max(0, rest.length - this.#boundary.length + 1);
        this.#take(rest.subarray(0, sure));
        rest = rest.subarray(sure);
        break;
      }
      this.#take(rest.subarray(0, at));
      rest = rest.subarray(at + this.#boundary.length);
      this.#state = { reading: "head", text: "" };
    }
    // A copy: a view would keep the whole network buffer alive.
    this.#held = Buffer.from(rest);
  }

  #part(head: string): State {
    const field = /\bname="([^"]*)"/i.exec(head)?.[1] ?? "";
    const filename = /\bfilename="([^"]*)"/i.exec(head)?.[1];
    if (filename === undefined) {
      this.fields.set(field, "");
      return { reading: "field", name: field, text: "" };
    }
    const file = { field, filename, size: 0, checksum: 0, beginning: Buffer.alloc(0) };
    this.files.push(file);
    return { reading: "file", file };
  }

  #take(bytes: Buffer): void {
    if (this.#state.reading === "file") addTo(this.#state.file, bytes);
    if (this.#state.reading !== "field" || this.#state.text.length > longestField) return;
    this.#state.text += bytes.subarray(0, longestField).toString();
    this.fields.set(this.#state.name, this.#state.text);
  }

  #stop(): void {
    this.#state = { reading: "nothing" };
    this.#held = Buffer.alloc(0);
  }
}

function addTo(file: UploadedFile, bytes: Buffer): void {
  file.size += bytes.length;
  file.checksum = crc32(bytes, file.checksum);
  const missing = longestBeginning - file.beginning.length;
  if (missing > 0) file.beginning = Buffer.concat([file.beginning, bytes.subarray(0, missing)]);
}
