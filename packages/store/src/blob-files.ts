import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf, makeFolder, syncFolder } from "./files.ts";

/** Bytes by their hash, a file each. */
export class BlobFiles {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** When it resolves the file is whole, and lasts. */
  async write(hash: string, bytes: Uint8Array): Promise<void> {
    if (makeFolder(this.#folder)) await syncFolder(dirname(this.#folder));
    const aside = join(this.#folder, `${hash}.${randomUUID()}`);
    try {
      const file = await open(aside, "wx", 0o600);
      try {
        await file.writeFile(bytes);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(aside, join(this.#folder, hash));
    } catch (error) {
      await rm(aside, { force: true });
      throw error;
    }
    await syncFolder(this.#folder);
  }

  async read(hash: string): Promise<Uint8Array | undefined> {
    try {
      const { buffer, byteOffset, byteLength } = await readFile(join(this.#folder, hash));
      return new Uint8Array(buffer, byteOffset, byteLength);
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  async has(hash: string, size: number): Promise<boolean> {
    return (await this.#stat(hash))?.size === size;
  }

  /** At once: between the end of its row and the end of its file, nobody may put it again. */
  removeNow(hash: string): void {
    rmSync(join(this.#folder, hash), { force: true });
  }

  /** Removes files that a crash left behind: without a row, or never renamed. */
  async sweep(isKnown: (hash: string) => boolean, writtenBefore: number): Promise<number> {
    let removed = 0;
    for (const name of await this.#names()) {
      if (isKnown(name)) continue;
      const is = await this.#stat(name);
      if (is === undefined || is.mtimeMs >= writtenBefore || isKnown(name)) continue;
      this.removeNow(name);
      removed += 1;
    }
    return removed;
  }

  async #names(): Promise<string[]> {
    try {
      return await readdir(this.#folder);
    } catch (error) {
      if (codeOf(error) === "ENOENT") return [];
      throw error;
    }
  }

  async #stat(name: string): Promise<{ size: number; mtimeMs: number } | undefined> {
    try {
      return await stat(join(this.#folder, name));
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      throw error;
    }
  }
}
