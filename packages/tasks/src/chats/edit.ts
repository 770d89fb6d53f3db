import type { Usage } from "../items.ts";
import type { NewMessage, UserEdit } from "./chat-schemas.ts";
import type {
  AnswerStatus,
  AnswerTask,
  AnswerVersion,
  Chat,
  ChatNode,
  UserVersion,
} from "./chat-types.ts";

export type { NewMessage, UserEdit } from "./chat-schemas.ts";

/*
 * All edits of a chat. Edits by a user raise its revision; edits by the server on behalf of a model do not.
 */

/** A new answer, running or already complete. */
export type NewAnswer = Omit<AnswerVersion, "version_id" | "created_at">;

/** Edits made by sending a message or requesting an answer. The added node or version becomes the chosen one. */
export type SendEdit =
  /** Adds a branch below the parent; `null`: a new root. */
  | { readonly type: "add_message"; readonly parent: string | null; readonly message: NewMessage }
  /** Adds a version to a user message. */
  | {
      readonly type: "add_message_version";
      readonly node_id: string;
      readonly message: NewMessage;
    }
  /** Adds a branch below a user message. */
  | { readonly type: "add_answer"; readonly parent: string; readonly answer: NewAnswer }
  /** Inserts an answer between a user message and the next node on the path, which must not be an answer. */
  | { readonly type: "insert_answer"; readonly after: string; readonly answer: NewAnswer }
  /** Adds a version to an answer. */
  | { readonly type: "add_answer_version"; readonly node_id: string; readonly answer: NewAnswer };

/** Edits by the server on behalf of a model. They do not raise the revision. */
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
  /** Only for a chat without a title. */
  | { readonly type: "title_by_model"; readonly title: string; readonly usage?: Usage };

/** The result of an answer. `notices` are appended to those of the running answer. */
export interface AnswerEnd
  extends
    AnswerTask,
    Pick<AnswerVersion, "error" | "time_ms">,
    Partial<Pick<AnswerVersion, "notices">> {
  readonly status: Exclude<AnswerStatus, "running">;
}

/** Undoes a deletion. */
export interface RestoreEdit {
  readonly type: "restore";
  readonly removal: Removal;
}

export type ChatEdit = UserEdit | SendEdit | ModelEdit | RestoreEdit;

/** The deleted parts of a chat, with everything that is needed to restore them. Plain JSON. */
export type Removal = RemovedNodes | RemovedVersion;

interface RemovalBase {
  readonly removal_id: string;
  readonly removed_at: string;
  /** `extra_usage` of the chat before the deletion. */
  readonly extra_usage?: Usage;
}
export interface RemovedNodes extends RemovalBase {
  readonly type: "nodes";
  /** The deleted node first, then its descendants if they were deleted too. */
  readonly nodes: readonly ChatNode[];
  readonly chosen: Readonly<Record<string, string>>;
  /** All bookmarks of the chat, to restore their order. Empty if no deleted node had a bookmark. */
  readonly bookmarks: readonly string[];
  /** Index among the children of its parent. */
  readonly index: number;
  /** Ids of its children, if they moved up to its parent. */
  readonly kept_children: readonly string[];
  /** If the node was chosen and no children moved up: the nodes that were shown below the parent afterwards. */
  readonly instead?: readonly string[];
}
export interface RemovedVersion extends RemovalBase {
  readonly type: "version";
  readonly node_id: string;
  readonly index: number;
  readonly version: UserVersion | AnswerVersion;
  /** If the version was chosen: the version that was shown afterwards. */
  readonly instead?: string;
}

export type EditResult =
  | {
      readonly ok: true;
      readonly chat: Chat;
      /** The added node and version. */
      readonly node_id?: string;
      readonly version_id?: string;
      readonly removal?: Removal;
    }
  | EditRejection;

/** Why an edit was rejected. `reason` is for display. */
export interface EditRejection {
  readonly ok: false;
  readonly code: EditRejectionCode;
  readonly reason: string;
}

export type EditRejectionCode =
  | "node_not_found"
  | "version_not_found"
  /** Not possible at this position: an answer to an answer, a version of a separator. */
  | "invalid_position"
  | "still_running"
  /** The last version of a node; delete the node instead. */
  | "only_version"
  /** Another version continues it. */
  | "version_in_use"
  /** The original position no longer exists or is occupied. */
  | "cannot_restore"
  | "invalid_value";

/** Source of ids and time. */
export interface EditEnvironment {
  newId(prefix: string): string;
  /** ISO 8601. */
  now(): string;
}
