import type { JsonValue } from "../../json.ts";
import type { ChatVariable } from "../chat-store.ts";
import type { EditWorld } from "../edit.ts";
import type { Chat } from "../shapes.ts";

/** A blob as it is written in a file. */
export interface FileBlob {
  readonly media_type: string;
  readonly base64: string;
}

/** By hash; undefined where there is none. */
export type BlobReader = (hash: string) => FileBlob | undefined;

export interface ImportWorld extends EditWorld {
  /** The SHA-256, in hex, of the bytes that a base64 text stands for. */
  blobHash(base64: string): string;
}

export interface ImportedChat {
  readonly chat: Chat;
  /** What a model is told of its answers, by version. */
  readonly replays: Readonly<Record<string, readonly JsonValue[]>>;
  readonly variables: readonly ChatVariable[];
}

/** All that a file holds, or what is wrong with it: each problem begins with its path. */
export type Imported =
  | {
      readonly ok: true;
      readonly chats: readonly ImportedChat[];
      /** By hash, which fits the bytes. */
      readonly blobs: Readonly<Record<string, FileBlob>>;
    }
  | { readonly ok: false; readonly problems: readonly string[] };
