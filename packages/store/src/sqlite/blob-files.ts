import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { getSystemErrorCode, createFolder, syncFolder } from "./files.ts";

/** Stores each blob in a file named by its hash. */
export class BlobFiles {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Resolves when the file is complete and synced to disk. */
  async write(hash: string, bytes: Uint8Array): Promise<void> {
    if (createFolder(this.#folder)) await syncFolder(dirname(this.#folder));
    const temporaryPath = join(this.#folder, `${hash}.${randomUUID()}`);
    try {
      const file = await open(temporaryPath, "wx", 0o600);
      try {
        await file.writeFile(bytes);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(temporaryPath, join(this.#folder, hash));
    } catch (error) {
      await rm(temporaryPath, { force: true });
      throw error;
    }
    await syncFolder(this.#folder);
  }

  async read(hash: string): Promise<Uint8Array | undefined> {
    try {
      const { buffer, byteOffset, byteLength } = await readFile(join(this.#folder, hash));
      return new Uint8Array(buffer, byteOffset, byteLength);
    } catch (error) {
      if (getSystemErrorCode(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  async has(hash: string, size: number): Promise<boolean> {
    return (await this.#stat(hash))?.size === size;
  }

  /** Synchronous, so that the blob cannot be stored again between the deletion of its row and of its file. */
  removeSync(hash: string): void {
    rmSync(join(this.#folder, hash), { force: true });
  }

  /** Removes files left behind by a crash: without a row, or not renamed yet. Returns their number. */
  async sweep(isKnown: (hash: string) => boolean, writtenBefore: number): Promise<number> {
    let removedCount = 0;
    for (const name of await this.#listNames()) {
      if (isKnown(name)) continue;
      const stats = await this.#stat(name);
      if (stats === undefined || stats.mtimeMs >= writtenBefore || isKnown(name)) continue;
      this.removeSync(name);
      removedCount += 1;
    }
    return removedCount;
  }

  async #listNames(): Promise<string[]> {
    try {
      return await readdir(this.#folder);
    } catch (error) {
      if (getSystemErrorCode(error) === "ENOENT") return [];
      throw error;
    }
  }

  async #stat(name: string): Promise<{ size: number; mtimeMs: number } | undefined> {
    try {
      return await stat(join(this.#folder, name));
    } catch (error) {
      if (getSystemErrorCode(error) === "ENOENT") return undefined;
      throw error;
    }
  }
}
