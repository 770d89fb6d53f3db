import type { Usage } from "../items.ts";
import type { NewMessage, PersonEdit } from "./chat-schemas.ts";
import type {
  AnswerStatus,
  AnswerTask,
  AnswerVersion,
  Chat,
  ChatNode,
  UserVersion,
} from "./shapes.ts";

export type { NewMessage, PersonEdit } from "./chat-schemas.ts";

/*
 * Everything that can happen to a chat. A person's edits raise its revision; what the server does on behalf of a model
 * does not.
 */

/** Of an answer that begins, or of one that is there at once. */
export type NewAnswer = Omit<AnswerVersion, "version_id" | "created_at">;

/** What sending does. */
export type SendingEdit =
  /** A branch under a parent, chosen; `null`: a new root. */
  | { readonly type: "add_message"; readonly parent: string | null; readonly message: NewMessage }
  /** Of a user's node, chosen. */
  | {
      readonly type: "add_message_version";
      readonly node_id: string;
      readonly message: NewMessage;
    }
  /** A branch under a user's node, chosen. */
  | { readonly type: "add_answer"; readonly parent: string; readonly answer: NewAnswer }
  /** Between a user's node and the next one on its path, which is no answer. */
  | { readonly type: "insert_answer"; readonly after: string; readonly answer: NewAnswer }
  /** Of an answer's node, chosen. */
  | { readonly type: "add_answer_version"; readonly node_id: string; readonly answer: NewAnswer };

/** What the server notes on behalf of a model. The revision stays. */
export type ModelEdit =
  | {
      readonly type: "answer_waits";
      readonly node_id: string;
      readonly version_id: string;
      readonly value: boolean;
    }
  | {
      readonly type: "finish_answer";
      readonly node_id: string;
      readonly version_id: string;
      readonly end: AnswerEnd;
    }
  /** Only for a chat that nobody has named. */
  | { readonly type: "title_by_model"; readonly title: string; readonly usage?: Usage };

/** What an answer has come to. Its notices are added to those that it has. */
export interface AnswerEnd
  extends
    AnswerTask,
    Pick<AnswerVersion, "error" | "time_ms">,
    Partial<Pick<AnswerVersion, "notices">> {
  readonly status: Exclude<AnswerStatus, "running">;
}

/** Puts back what a delete took, where it was. */
export interface RestoreEdit {
  readonly type: "restore";
  readonly removal: Removal;
}

export type ChatEdit = PersonEdit | SendingEdit | ModelEdit | RestoreEdit;

/** What a delete took out of a chat, with all that is needed to put it back. Plain JSON. */
export type Removal = RemovedNodes | RemovedVersion;

interface OfRemoval {
  readonly removal_id: string;
  readonly removed_at: string;
  /** That of the chat, before what went was added to it. */
  readonly extra_usage?: Usage;
}
export interface RemovedNodes extends OfRemoval {
  readonly what: "nodes";
  /** The node that was deleted first; those under it follow if they went too. */
  readonly nodes: readonly ChatNode[];
  readonly chosen: Readonly<Record<string, string>>;
  /** All that the chat had, for their order; empty if none of these nodes was among them. */
  readonly bookmarks: readonly string[];
  /** Where it stood among the children of its parent. */
  readonly index: number;
  /** Its own, if they moved up to there. */
  readonly kept_children: readonly string[];
  /** If it was chosen and none moved up: what was shown in its place then, from its parent on. */
  readonly instead?: readonly string[];
}
export interface RemovedVersion extends OfRemoval {
  readonly what: "version";
  readonly node_id: string;
  readonly index: number;
  readonly version: UserVersion | AnswerVersion;
  /** If it was chosen: the version that was shown then. */
  readonly instead?: string;
}

export type Edited =
  | {
      readonly ok: true;
      readonly chat: Chat;
      /** What the edit added. */
      readonly node_id?: string;
      readonly version_id?: string;
      readonly removal?: Removal;
    }
  | Refusal;

/** Why an edit is not made, in words for the one who asked for it. */
export interface Refusal {
  readonly ok: false;
  readonly code: RefusalCode;
  readonly reason: string;
}

export type RefusalCode =
  | "unknown_node"
  | "unknown_version"
  /** Not there: an answer to an answer, a version of a separator. */
  | "illegal_place"
  | "still_running"
  /** The last version of a node: delete the node. */
  | "only_version"
  /** Another version goes on from it. */
  | "in_use"
  /** The place that a restore needs is gone, or taken. */
  | "cannot_restore"
  | "bad_value";

/** Ids and the time are handed in. */
export interface EditWorld {
  newId(prefix: string): string;
  /** ISO 8601. */
  now(): string;
}
