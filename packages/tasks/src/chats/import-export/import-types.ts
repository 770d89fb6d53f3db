import type { JsonValue } from "../../json.ts";
import type { ChatVariable } from "../chat-store.ts";
import type { EditEnvironment } from "../edit.ts";
import type { Chat } from "../chat-types.ts";

/** A blob in a chat file. */
export interface FileBlob {
  readonly media_type: string;
  readonly base64: string;
}

/** Returns a blob by its hash. Undefined if it does not exist. */
export type BlobReader = (hash: string) => FileBlob | undefined;

export interface ImportEnvironment extends EditEnvironment {
  /** SHA-256 of the decoded bytes, in hex. */
  hashBlob(base64: string): string;
}

export interface ImportedChat {
  readonly chat: Chat;
  /** Items that replay its answers to a model, by version id. */
  readonly replays: Readonly<Record<string, readonly JsonValue[]>>;
  readonly variables: readonly ChatVariable[];
}

/** The content of a file, or its problems, each prefixed with its path. */
export type ImportResult =
  | {
      readonly ok: true;
      readonly chats: readonly ImportedChat[];
      /** By hash; the hashes have been verified. */
      readonly blobs: Readonly<Record<string, FileBlob>>;
    }
  | { readonly ok: false; readonly problems: readonly string[] };
