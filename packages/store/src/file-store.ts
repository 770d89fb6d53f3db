/** A file that a client has uploaded. Times are in milliseconds. */
export interface StoredFile {
  readonly fileId: string;
  readonly owner: string;
  readonly filename: string;
  readonly purpose: string;
  readonly mediaType: string;
  /** In bytes. */
  readonly size: number;
  readonly createdAt: number;
  readonly expiresAt?: number | undefined;
}

export interface FileFilter {
  /** Only files after this one in the order of the list. */
  readonly after?: string | undefined;
  readonly limit: number;
  readonly order: "asc" | "desc";
  readonly purpose?: string | undefined;
}

/** Stores files of clients. All methods see only the files of the given owner. */
export interface FileStore {
  /** Returns false if all files together would be larger than `maxTotalBytes`. */
  addFile(file: StoredFile, bytes: Uint8Array, maxTotalBytes: number): Promise<boolean>;
  getFile(owner: string, fileId: string): Promise<StoredFile | undefined>;
  getFileContent(owner: string, fileId: string): Promise<Uint8Array | undefined>;
  /** Returns a page of files. Undefined if `after` is not a file of the owner. */
  listFiles(owner: string, filter: FileFilter): Promise<StoredFile[] | undefined>;
  /** Returns false if there is no such file. */
  deleteFile(owner: string, fileId: string): Promise<boolean>;
  /** Deletes the files that expired before a time. Returns their number. */
  deleteExpiredFiles(now: number): Promise<number>;
}
